"""Central's side of a job: organizations, requests and replies, waiting, what a result keeps of the run."""
