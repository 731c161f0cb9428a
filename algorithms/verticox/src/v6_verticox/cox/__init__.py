"""The Cox model in plain numpy, no federation: likelihood, survival, tails, and the published consensus on pooled columns."""
