"""What a node remembers of its exact answers, so that later ones with them tell of no few organizations or rows."""
