"""What a node's configuration means, for its administrator."""
