"""Archives of traces: what is in one that a stranger sent, and how ours are written."""
