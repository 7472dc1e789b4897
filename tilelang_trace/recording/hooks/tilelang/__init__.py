"""What a TileLang compile has besides passes: kernels, code generation, steps, the autotuner.

- `hooks`: what is wrapped in TileLang, and when;
- `compiles`: the kernel that each thread is at, as its `compile` slice;
- `grouped_compiles`: candidates that the autotuner compiles together.
"""
