"""`tilelang-trace open`: hands traces to the Perfetto UI in a browser, at the place that matters.

`exhibit` makes the one file that is handed over, `link` the address of the page, `server` gives the
file to that page and to nobody else, `offline` is a Perfetto UI that needs no network.
"""
