"""A Trace for other people: one file for a bug report, nothing private in it, and a look at it."""
