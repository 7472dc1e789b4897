"""A running compile -> a journal on disk -> a Trace.

    hooks      what is wrapped in TVM, and when: passes, contexts and exceptions are told to
    sink       one a thread: the open contexts and passes, as packets that go to
    journal    one a process: whole packets appended to a file, which is a trace as it grows
    recorder   what is being recorded, into which file: `record(...)`, `TraceInstrument`
    finish     journals -> Trace -> the file that was asked for
    launcher   `tilelang-trace run`: starts the script as a child and outlives it
"""
