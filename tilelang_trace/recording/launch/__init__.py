"""`tilelang-trace run`: starts a script, waits for it, finishes its trace.

- `launcher`: all of it, with `waiting` in the middle, which calls `timeout`, `progress` (drawn on a
  `status_line`) and `stuck` (a word after Ctrl-C) when it is time;
- `determinism`: runs the script so that two compiles of one thing give one IR;
- `outcome`: what is said at the end.
"""
