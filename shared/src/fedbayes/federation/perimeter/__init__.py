"""Who speaks, and how it is sealed: lasting keys, manifests, signed envelopes, the first round, the channel between stations."""
