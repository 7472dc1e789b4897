"""Two compiles side by side: Traces -> a Comparison -> a Trace of both."""
