"""Perfetto's own engine, where there is one on this machine: what does it say of a trace?

`choice` finds one of two, which are asked in the same way: `shell`, the program trace_processor, or
`wasm`, the engine of a Perfetto UI (`web_dist`) that Node runs (`engine.js`). `problems` is what
they answer, `errors` what can go wrong. They run in another process, because some broken traces
crash them or put them into an endless loop.

This room knows no other: it takes files and bytes, and gives what Perfetto counts as wrong.
"""
