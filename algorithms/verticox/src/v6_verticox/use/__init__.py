"""A fitted model in use: `predict`, `evaluate` and `baseline`, judgement unseen, cross-validation."""
