"""Every table and figure of the papers beside ours: `python -m reproduce`, with scripts, studies and tests/benchmarks on the path."""
