"""A fuzzer of everything that reads files: bytes in, and nothing but a Trace or a UserError out.

    pip install atheris                            (Linux, macOS; Python 3.11 to 3.13)
    python -m tests.fuzzing                        every target, a minute each
    python -m tests.fuzzing --seconds 600 json     some, for longer

`targets` says how each makes files of bytes and what it starts from, `oracle` what must hold for
every file. An input that breaks it is left in `found/`; `tests/unit/test_fuzzing.py` reads all that
lie there, so that what was found is a test at once, and stays one.
"""
