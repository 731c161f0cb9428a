"""The node that a container runs on: what its administrator allows, what the platform says of a run, the folders that remember."""
