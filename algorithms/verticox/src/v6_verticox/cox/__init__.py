"""The Cox model in plain numpy, no federation: likelihood, survival, tails, and a step of the published consensus."""
