"""Reports on a Trace, one file an output: each has `render(report) -> str`, where a Report is what to show."""
