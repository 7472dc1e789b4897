"""What `check` found: `report` chooses what is told, `as_table` and `as_json` write it as text."""
