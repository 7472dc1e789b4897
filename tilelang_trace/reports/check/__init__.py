"""What `check` found, as text: one file an output."""
