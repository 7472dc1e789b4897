"""What things cost, held against something else that does the same: see `__main__`."""
