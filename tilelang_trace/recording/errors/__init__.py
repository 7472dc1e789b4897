"""What is kept of an exception.

- `description`: its type and text, and those of what it came from, as an `error` argument;
- `ffi_errors`: what it was before TVM's FFI translated it.
"""
