"""A compile that still runs, seen from outside through its journals.

- `view`: where its threads are; `live_journal`: one journal, read while it grows;
- `snapshot`: the trace of what it has done so far.
"""
