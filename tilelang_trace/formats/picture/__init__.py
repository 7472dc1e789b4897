"""A Trace as a picture, a flame chart: `layout` says what is where, `svg` and `png` draw it."""
