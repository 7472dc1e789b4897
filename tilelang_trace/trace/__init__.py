"""The trace model and the argument contract; it knows no format and no TVM."""
