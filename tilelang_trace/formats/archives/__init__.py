"""Archives of traces.

- `members`: what is in one that a stranger sent;
- `manifest`, `pitfalls`: what Perfetto makes of it that is not meant;
- `together`, `writing`: how ours are made.
"""
