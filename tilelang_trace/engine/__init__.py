"""Perfetto's own engine, where there is one on this machine: what does it say of a trace?

It is asked in another process, because some broken traces crash it or put it into an endless loop.
This room knows no other: it takes files and bytes, and gives what Perfetto counts as wrong.
"""
