"""Trace -> tables and trees: pure functions that know no file format and print nothing."""
