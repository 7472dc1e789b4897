"""What is wrapped in TVM, TileLang and Python while something is recorded.

- `tvm`: PassContexts and passes, and when all of it is wrapped and unwrapped;
- `codegen`: TVM's code generation; `outside_tools`: nvcc, g++; `tilelang`: TileLang's compiles;
- `spans`: slices around calls, which these make (`recording.wrapping` is how they are wrapped);
- `import_watch`: waits for TVM's import.
"""
