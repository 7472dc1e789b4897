"""A running compile -> a journal on disk -> a Trace.

- `hooks`: what is wrapped in TVM, and when; tells passes, contexts and exceptions to
- `recorder`: one recording, with
- `sink`: one a thread, the open contexts and passes, as packets that go to
- `journal`: one a process, whole packets appended to a file, which is a trace as it grows;
- `finish`: journals -> Trace -> the files that were asked for (`options`).

What starts all that: `record` (a `with` block), `instrument` (one PassContext), `launcher` (a
script; `outcome` says what came of it).
"""
