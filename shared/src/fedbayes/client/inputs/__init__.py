"""Files of this machine, in and out: tables, data dictionaries, results."""
