"""Studies of bayesian_ensemble: what the papers did, and many fits in one process; absent from images."""
