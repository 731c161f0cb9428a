"""One module a paper: `reproduce(quick)` returns its items."""
