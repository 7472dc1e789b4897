"""A running compile -> a journal on disk -> a Trace.

- `hooks`: what is wrapped in TVM, and when; tells passes, contexts and exceptions to
- `recorder`: one recording, with
- `sink`: one a thread, the open contexts and passes, as packets that go to
- `journal`: one a process, whole packets appended to a file, which is a trace as it grows;
- `ir_sink`, `ir_facts`: the sink where facts about the IR are asked for, and what they are;
- `crash_stack`, `signal_actions`: the Python stack of a process that dies, beside its journal;
- `settle`, `death`, `memory`: what became of what never ended, from that and from the parent;
- `finish`: journals -> Trace -> the files that were asked for (`options`).

Besides passes and contexts there are `spans`, slices on all recordings around a call: `codegen`,
`outside_tools` (nvcc, g++), and what a TileLang compile consists of (`tilelang`).

What starts all that: `record` (a `with` block), `switch` (`enable`, `disable`), `instrument` (one
PassContext), `launcher` (a script; `determinism`: the same way each time; `outcome` says what came
of it).
"""
