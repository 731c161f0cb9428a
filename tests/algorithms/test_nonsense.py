"""Every argument of every method refuses nonsense by its name: never a traceback of Python, never a data value."""

import importlib
import math
from functools import cache
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from mock_kit import mock_client
from vantage6.algorithm.tools.exceptions import AlgorithmError

from fedbayes.federation.errors import KINDS, ArgumentError, StationError

ROWS = 60
NONSENSE = {
    "true": True,
    "text": "nonsense",
    "long": "x" * 10_000,
    "negative": -1,
    "nan": math.nan,
    "infinite": math.inf,
    "huge": 10**30,
    "list": [],
    "nested": [[1]],
    "object": {"nonsense": 1},
    "null list": [None],
}
DOMAIN = {
    "a": {"categories": ["0", "1"]},
    "b": {"categories": ["0", "1", "2"]},
    "z": {"bounds": [0.0, 1.0]},
    "class": {"categories": ["no", "yes"]},
}
SURVIVAL = {"time": "time", "event": "event", "features": ["x", "y"], "id_column": "id"}
BASES = {
    ("dp_naive_bayes", "fit"): {"label": "class", "domain": DOMAIN, "epsilon": 1.0},
    ("smooth_naive_bayes", "fit"): {"label": "class", "domain": DOMAIN, "epsilon": 1.0},
    ("discriminative_naive_bayes", "fit"): {"label": "class", "domain": DOMAIN, "rounds": 1},
    ("secure_naive_bayes", "fit"): {"label": "class", "domain": DOMAIN, "epsilon": 1.0, "modulus_bits": 2048},
    ("scalar_product", "count"): {"conditions": [{"column": "a", "op": "==", "value": "1"}], "id_column": "id"},
    ("scalar_product", "contingency"): {"columns": ["a", "b"], "id_column": "id"},
    ("vertibayes", "fit"): {"columns": ["a", "b"], "id_column": "id", "structure": "k2", "max_parents": 1},
    ("bayesian_ensemble", "fit"): {"label": "class", "id_column": "id", "structure": "naive"},
    ("verticox", "fit"): SURVIVAL,
}


@cache
def people(seed):
    generator = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": [f"p{number:03d}" for number in range(ROWS)],
            "a": generator.integers(2, size=ROWS),
            "b": generator.integers(3, size=ROWS),
            "z": generator.random(ROWS),
            "class": np.where(generator.random(ROWS) < 0.5, "no", "yes"),
            "time": generator.exponential(size=ROWS).round(2) + 0.01,
            "event": generator.integers(2, size=ROWS),
            "x": generator.normal(size=ROWS),
            "y": generator.normal(size=ROWS),
        }
    )


def client(algorithm):
    tables = [people(seed).copy() for seed in range(3)]
    if algorithm in ("scalar_product", "vertibayes", "verticox", "bayesian_ensemble"):
        parts = (["id", "time", "event", "a"], ["id", "x", "b"], ["id", "y", "z", "class"])
        tables = [people(0)[part] for part in parts] + [pd.DataFrame()]
    return mock_client(algorithm, tables)


def refusal(algorithm, function, arguments):
    """Return the error of a call, or None if it is accepted."""
    running = client(algorithm)
    called = getattr(importlib.import_module(f"v6_{algorithm}"), function)
    try:
        called(mock_client=running, **arguments)
    except AlgorithmError as error:
        return error
    return None


def cases():
    for (algorithm, function), base in BASES.items():
        module = importlib.import_module(f"v6_{algorithm}")
        for one in getattr(module, function).fedbayes_declared.declared():
            yield pytest.param(algorithm, function, base, one.name, id=f"{algorithm}-{function}-{one.name}")


@pytest.mark.few(35)
@pytest.mark.parametrize(("algorithm", "function", "base", "argument"), list(cases()))
def test_nonsense_is_refused_by_the_name_of_its_argument(algorithm, function, base, argument):
    for value in NONSENSE.values():
        error = refusal(algorithm, function, {**base, argument: value})
        if error is None:
            continue
        assert type(error) in KINDS.values(), repr(error)
        assert type(error) is not StationError, str(error)
        assert "unexpected" not in str(error), str(error)
        assert "p0" not in str(error)
        assert len(str(error)) < 2000
        names = (argument.rstrip("s"), "nonsense", "outcome column")
        assert any(name in str(error) for name in names), f"{value!r}: {error}"


@pytest.mark.parametrize(("algorithm", "function"), BASES)
def test_the_plain_call_works(algorithm, function):
    assert refusal(algorithm, function, BASES[algorithm, function]) is None


@pytest.mark.parametrize("method", sorted({method for method, _ in BASES}))
def test_no_argument_stands_for_a_parameter_of_the_function_itself(method):
    module = importlib.import_module(f"v6_{method}")
    remote = [getattr(module, name) for name in module.__all__]
    for function in (one for one in remote if one.fedbayes_remote == "central"):
        with pytest.raises(ArgumentError, match="no argument 'federation'"):
            function.fedbayes_body(mock.Mock(dictionary=None), federation=1)
