"""Networks in the formats of other programs."""
