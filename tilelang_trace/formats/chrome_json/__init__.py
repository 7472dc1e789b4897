"""Chrome JSON traces (`.json`): `reader` and `writer`.

- `events`: those of any tool, in any order;
- `slices`, `text`: how our own are written.
"""
