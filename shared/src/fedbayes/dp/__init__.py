"""Differential privacy: laws of noise, mechanisms, noise shares, the node's ledger and smooth sensitivity.

Every function says the neighbouring relation it holds for. All noise is drawn here from the integers of
`fedbayes.randomness`, exactly where the law is discrete.
"""
