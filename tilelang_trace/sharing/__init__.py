"""A Trace for other people: a file for a bug report, without what is private, and a look at it."""
