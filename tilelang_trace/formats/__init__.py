"""Files: bytes -> Trace, with findings; Trace -> bytes. A module or folder a format.

- `files`: what is read and written: the format by the content or the name, archives looked into;
- on the way in, before the format is known: `compression`, `encoding`, `archives.members`;
- formats with a `read` and a `write`: `pftrace`, `chrome_json`, `event_log`; with a `write` only:
  `picture`;
- `envelope`, `flows`, `clocks`: what both formats have of a Trace: its rows and real ids, numbers
  of arrows, and how its times look in Perfetto;
- on the way out: `naming`, `whole_files`, `archives`.
"""
