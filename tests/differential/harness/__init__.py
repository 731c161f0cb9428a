"""The differential harness: random federations and questions, and pooled answers that use no code of the project."""
