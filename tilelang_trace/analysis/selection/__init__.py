"""Trace -> Trace: a part of a compile, or the compile without what doesn't matter."""
