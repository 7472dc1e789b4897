"""One file or folder a format: bytes -> Trace (and findings), Trace -> bytes. `files` picks the format."""
