"""Studies of scalar_product: what the papers did, and many fits in one process; absent from images."""
