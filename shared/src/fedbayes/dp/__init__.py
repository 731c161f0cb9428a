"""Differential privacy: mechanisms, noise shares, accounting, the node's ledger and smooth sensitivity.

Every function says the neighbouring relation it holds for. The noise comes from OpenDP where OpenDP has the law, and from the
integer samplers of `fedbayes.randomness` where it has not.
"""
