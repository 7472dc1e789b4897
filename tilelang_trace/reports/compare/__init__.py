"""Reports on a Comparison, one file an output: each has a `render(...) -> str`."""
