"""A file or folder a format: bytes -> Trace, with findings; Trace -> bytes. `files` picks one."""
