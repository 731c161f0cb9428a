"""Differentially private Cox regression of whole records: noisy sums over records, from which central fits."""
