"""Studies of dp_naive_bayes: what the papers did, and many fits in one process; absent from images."""
