"""One file for a bug report: the trace, redacted, with all that a maintainer asks for.

- `material`: what is bundled: one compile, or two that are compared, redacted;
- `members`: what stands in the archive, as bytes;
- `fitting`: what is left out so that it is small enough;
- `bundle`: the way from Traces to the finished, searched archive.
"""
