"""Tables of a node or of this machine: one module a kind of file, one door (`reading`)."""
