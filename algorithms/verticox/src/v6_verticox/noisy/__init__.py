"""Differentially private Cox regression of columns of the same records: noisy sums over records, made and blurred on shares."""
