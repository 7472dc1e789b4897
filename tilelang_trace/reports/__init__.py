"""Reports on a Trace, one file an output: each has a `render(...) -> str`."""
