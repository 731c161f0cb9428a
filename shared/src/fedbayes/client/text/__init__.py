"""Results in words, for the terminal and for pages."""
