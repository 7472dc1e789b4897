"""The real Perfetto as a test oracle: its engine under Node, its UI in a headless browser."""
