"""A task runs: which algorithms are installed, on this machine, at a vantage6 server."""
