"""A dossier of one result for a data-protection officer: generated from the result alone, as JSON and as one HTML page.

Every sentence comes from what the result holds (the method's own statement, the rounds that ran, the limits that nodes told, the debits), from the
declarations and docstrings of the installed method, or says plainly that it is not known here. No field is empty.
"""
