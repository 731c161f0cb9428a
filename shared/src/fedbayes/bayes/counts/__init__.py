"""Counts without a model: contingency tables on request, what one column holds, probabilities from counts that carry noise."""
