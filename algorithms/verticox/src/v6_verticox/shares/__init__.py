"""The arithmetic on secret shares, the same at share holders and dealer, and what all roles agree on."""
