"""What is made of a trace for other people, or for other programs to show."""
