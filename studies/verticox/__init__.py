"""Studies of verticox: what the papers did, and many fits in one process; absent from images."""
