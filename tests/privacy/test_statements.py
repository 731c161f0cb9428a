"""The statement of a result and the debits in every station's ledger agree, for every combination of arguments."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import with_folders

from fedbayes.dp import promise
from fedbayes.dp.ledger import Ledger

DOMAIN = {
    "age": {"bounds": [0, 100]},
    "smoker": {"categories": ["no", "yes"]},
    "class": {"categories": ["ill", "well"]},
}
FIT = {"label": "class", "domain": DOMAIN}
PEOPLE = {"unit": "identifier", "id_column": "person", "max_rows_per_identifier": 3}
PUBLISHED = {"noise": "local", "statistics": "gaussian", "sensitivity": "published"}

DP_FIT = [
    *(
        {"epsilon": 0.5, "noise": noise, "statistics": statistics, "neighbors": neighbors, **unit, **law}
        for noise, statistics, law, neighbors, unit in product(
            ("distributed", "local"),
            ("histogram", "gaussian"),
            ({}, {"delta": 1e-6, "mechanism": "gaussian"}, {"delta": 1e-6}, {"delta": 1e-6, "mechanism": "laplace"}),
            ("add_remove", "replace_one"),
            ({}, PEOPLE),
        )
    ),
    *({"noise": "none", "statistics": statistics} for statistics in ("histogram", "gaussian")),
    {"noise": "none", "epsilon": 1.0},
    {"epsilon": 0.5, **PUBLISHED},
    *({"epsilon": 0.5, "noise": "local", "aggregation": rule} for rule in ("median", "krum", "gossip")),
    {"epsilon": 0.5, "noise": "local", "aggregation": "gossip", "delta": 1e-6, "mechanism": "gaussian", **PEOPLE},
    {"epsilon": 0.5, "outside": "refuse"},
    {"epsilon": 20.5},
    {"epsilon": 0.5, "delta": 0.01, "mechanism": "gaussian"},
]
SCORES = [
    {},
    {"noise": "none", "epsilon": 1.0},
    *(
        {"epsilon": 0.5, "noise": noise, "delta": delta, "neighbors": neighbors}
        for noise, delta, neighbors in product(("distributed", "local"), (0.0, 1e-6), ("add_remove", "replace_one"))
    ),
    {"epsilon": 0.5, **PEOPLE},
    {"epsilon": 50.0},
]
UPDATE = [
    {"noise": "none"},
    {"epsilon": 0.5},
    {"epsilon": 0.5, "noise": "local", "delta": 1e-6},
    {"epsilon": 0.5, "noise": "local", "delta": 1e-6, "mechanism": "gaussian"},
    {"epsilon": 0.5, **PEOPLE},
    {"epsilon": 0.5, "outside": "refuse"},
    {"epsilon": 50.0},
]
SMOOTH = [
    *(
        {"epsilon": 0.5, "sensitivity": sensitivity, "noise": noise, "neighbors": neighbors, **unit}
        for sensitivity, noise, neighbors, unit in product(
            ("smooth", "global", "published"), ("cauchy", "student_t"), ("add_remove", "replace_one"), ({}, PEOPLE)
        )
        if sensitivity == "smooth" or noise == "cauchy"
    ),
    {"epsilon": 30.0},
]


def cases():
    for method, function, given in (
        ("dp_naive_bayes", "fit", DP_FIT),
        ("dp_naive_bayes", "update", UPDATE),
        ("dp_naive_bayes", "evaluate", SCORES),
        ("smooth_naive_bayes", "fit", SMOOTH),
        ("smooth_naive_bayes", "evaluate", SCORES[::4]),
    ):
        for number, arguments in enumerate(given):
            marks = [] if number % 4 == 0 or number >= 64 else [pytest.mark.audit]
            name = f"{method}-{function}-" + "-".join(
                str(value) for key, value in arguments.items() if key not in PEOPLE or key == "unit"
            )
            yield pytest.param(method, function, arguments, id=name, marks=marks)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    random = np.random.default_rng(1)
    tables = {}
    for name in "abcd":
        label = random.integers(0, 2, 80)
        tables[name] = pd.DataFrame(
            {
                "person": [f"p{number}" for number in random.integers(0, 30, 80)],
                "age": np.clip(random.normal(40 + 15 * label, 8), 0, 100).round(1),
                "smoker": np.where(random.random(80) < 0.3 + 0.3 * label, "yes", "no"),
                "class": np.array(["ill", "well"])[label],
            }
        )
    parties = with_folders(tables, tmp_path_factory.mktemp("parties"), "ledger")
    policies = {"*": {"ledger": "ledger", "allow_foreign_models": True}}
    with OneProcess(parties, policies=policies) as federation:
        model = federation.run("dp_naive_bayes", "fit", {**FIT, "noise": "none"})["model"]
        yield federation, {name: party["ledger"] / "fedbayes-ledger.sqlite3" for name, party in parties.items()}, model


def debits(paths):
    return {name: [(entry.epsilon, entry.delta) for entry in Ledger(path).entries()] for name, path in paths.items()}


def spent_delta(arguments):
    """Return the delta that is spent: none on the few tables of these columns, unless Gaussian noise is asked for."""
    return arguments.get("delta", 0.0) if arguments.get("mechanism") == "gaussian" else 0.0


@pytest.mark.few(7)
@pytest.mark.parametrize(("method", "function", "arguments"), list(cases()))
def test_what_is_stated_is_what_was_debited(running, method, function, arguments):
    federation, ledgers, model = running
    before = debits(ledgers)
    given = {**FIT, **arguments} if function == "fit" else {"model": model, **arguments}
    told = federation.run(method, function, given)["privacy"]
    stated = (told["epsilon"] or 0.0, told["delta"] or 0.0)
    for name, entries in debits(ledgers).items():
        new = entries[len(before[name]) :]
        assert (sum(cost for cost, _ in new), sum(delta for _, delta in new)) == stated
    replaced = told["differentially_private"] and arguments.get("neighbors") == "replace_one"
    assert ("a replaced row is one that leaves" in f"{told['sensitivity']} {told['composition']}") == replaced
    if method == "dp_naive_bayes" and function == "fit" and told["sensitivity"]:
        assert ("of squares" in told["sensitivity"]) == (arguments.get("statistics") == "gaussian")
    noisy = "epsilon" in arguments and arguments.get("noise") != "none" and "sensitivity" not in arguments
    if told["differentially_private"]:
        assert promise.holds(*stated)
        assert stated == (arguments["epsilon"], spent_delta(arguments))
        assert told["unit"] == arguments.get("unit", "row")
        assert told["neighbors"] == arguments.get("neighbors", "add_remove")
    else:
        assert told["reason"]
        beyond = not promise.holds(*stated) or arguments.get("outside") == "refuse" or function == "update"
        assert not noisy or beyond
