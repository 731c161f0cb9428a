"""Names in questions about Cox models."""

ALGORITHM = "verticox"
TIME, EVENT, STRATA = "time of event", "event", "stratum"
WEIGHTS, ENTRY, CLUSTER = "case weight", "entered", "family"
