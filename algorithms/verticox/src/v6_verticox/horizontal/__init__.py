"""Cox regression on horizontally split records: risk-set sums over the stations at the times of a public grid."""
