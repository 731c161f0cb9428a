"""Pages in HTML: reports of results and what they are made of."""
