"""Names in questions about Cox models."""

ALGORITHM = "verticox"
TIME, EVENT, STRATA = "time of event", "event", "stratum"
