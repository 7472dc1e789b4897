"""What a person can get wrong: one exception, which ends in one line on stderr and exit code 2."""

from __future__ import annotations


class UserError(Exception):
    """Bad input, a file that can't be written, an option that makes no sense.

    The text is one line of plain English: what happened, where, what to do. The command line prints
    it and exits with code 2; from Python it is an ordinary exception.
    """
