"""Chrome JSON traces (`.json`): `reader` and `writer`.

The way of a file of any tool, however broken, from its bytes to a builder:

- `document`: text -> events and what stands beside them; `scan` finds where values end, `mend`
  makes JSON of what almost is, `exact_times` keeps the digits of times, `places` knows lines and
  bytes, `escapes` tells of those that Perfetto takes wrongly;
- `events`: events -> builder, with a module for each kind: `begins_and_ends`, `async_slices`,
  `instants`, `counters`, `arrows`; `rows` has processes and threads, `times` and `ids` what they
  are written as, `checks` what Perfetto would show otherwise.

Our own files, written by `slices` and `text`, are read by a shorter way (see `reader`).
"""
