"""Models of results on this machine: predictions, and the classes of other libraries."""
