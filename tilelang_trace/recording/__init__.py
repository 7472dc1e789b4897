"""A running compile -> a journal on disk -> a Trace.

- `hooks`: what is wrapped in TVM, TileLang and Python; tells passes, contexts, exceptions and other
  slices to
- `recorder`: one recording, with
- `sink`: one a thread, the open contexts and passes, as packets that go to
- `journal`: one a process, whole packets appended to a file in a `folder`, which is a trace as it
  grows;
- `failed_pass`, `pass_makers`, `kept`: the module before a pass that failed, and how to make it;
- `disk_sink`: the sink that writes the module before each pass, for crashes;
- `ir_sink`, `ir_facts`: the sink where facts about the IR are asked for, and what they are;
- `errors`: what is kept of an exception;
- `death`: what a process that dies can still write down, and what is known of it;
- `settle`: what became of slices that never ended;
- `finish`: journals -> Trace -> the files that were asked for (`options`);
- `live`: the state of a compile that still runs.

What starts all that: `record` (a `with` block), `switch` (`enable`, `disable`), `instrument` (one
PassContext), `launch` (a script). `environment` and `tree` are how processes find each other.
"""
