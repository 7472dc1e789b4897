"""Chrome JSON traces (`.json`): `reader` and `writer`.

- `events`: those of any tool, in any order, with a module for each kind: `begins_and_ends`,
  `async_slices`, `instants`, `counters`, `arrows`; `rows` has processes and threads, `times` and
  `ids` what they are written as, `checks` what Perfetto would show otherwise;
- `slices`, `text`: how our own are written.
"""
