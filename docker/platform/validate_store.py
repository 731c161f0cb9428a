"""Checks algorithm_store.json files by the schema of the 4.15 store: validate_store.py FILE ...

Prints a JSON object, file -> errors; empty errors mean that the store takes it.
"""

import json
import sys

from vantage6.algorithm.store.resource.schema.input_schema import AlgorithmInputSchema


def errors(path: str) -> object:
    """Return what the store's own schema says against a file."""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    return AlgorithmInputSchema().validate(content)


json.dump({path: errors(path) for path in sys.argv[1:]}, sys.stdout)
