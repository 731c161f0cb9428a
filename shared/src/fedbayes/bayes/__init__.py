"""Bayesian models without a federation: schemas, naive Bayes, metrics, networks, inference. Plain numpy and scipy."""
