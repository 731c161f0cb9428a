"""Under an epsilon a record whose identifier a station has twice counts once, in a union and among linked records, whatever is in other stations' files."""

from __future__ import annotations

from unittest import mock

import neighbours_kit as kit
import numpy as np
import pandas as pd
import pytest
from harness.cases import Case
from one_process import OneProcess

from fedbayes.federation.vertical import identifiers
from fedbayes.mpc import alignment

DOMAIN = {"x": {"categories": ["a", "b"]}, "y": {"categories": ["0", "1"]}}
LIMITS = {"minimum_rows": 1, "minimum_organizations": 1, "minimum_count": 0}


def case(repeated: int, missing: str) -> Case:
    """Return a network of united records, of whose first one a station has so many rows, and of two rows no identifier."""
    draw = np.random.default_rng(repeated)
    first = {"id": [f"p{row}" for row in range(20)] + ["p0"] * repeated + [None, None]}
    second = {"id": [f"p{row}" for row in range(10, 40)]}
    first |= {name: draw.choice(DOMAIN[name]["categories"], len(first["id"])).tolist() for name in ("x", "y")}
    second |= {"x": draw.choice(DOMAIN["x"]["categories"], len(second["id"])).tolist()}
    parties = [
        {"name": name, "columns": columns, "policy": LIMITS}
        for name, columns in (("one", first), ("two", second), ("helper", None))
    ]
    asked = {"columns": ["x", "y"], "structure": [["x", "y"]], "domain": DOMAIN, "split": "hybrid", "id_column": "id"}
    return Case("vertibayes", "fit", parties, "one", [["fit", {**asked, "missing": missing}]])


def other(asked: Case) -> Case:
    """Return the neighbour in which that record has the other values in all of its rows."""
    columns = asked.organizations[0]["columns"]
    turned = {"a": "b", "b": "a", "0": "1", "1": "0"}
    own = [text == "p0" for text in columns["id"]]
    changed = {
        name: [turned[cell] if mine else cell for mine, cell in zip(own, columns[name], strict=True)] for name in "xy"
    }
    entry = {**asked.organizations[0], "columns": {**columns, **changed}}
    return Case(asked.algorithm, asked.function, [entry, *asked.organizations[1:]], asked.central, asked.steps)


def lost(repeated: int, missing: str) -> float:
    """Return the part of the stated budget that the record loses, two rows of which are two in the statement."""
    asked = kit.made_private(case(repeated, missing), 1.0, 1e-6)
    first = kit.record(asked)
    told = first[-1].answer["privacy"]
    assert told["unit"] == "record"
    return kit.loss(first[-1], kit.record(other(asked), first)[-1]).part(told)


@pytest.mark.parametrize("missing", ["drop", "category"])
def test_a_record_of_several_rows_counts_once_under_an_epsilon(missing: str) -> None:
    assert 0.0 < lost(3, missing) <= 1.0 + kit.ROUNDING


def test_control_rows_that_match_nobody_were_records_of_their_own() -> None:
    submitted = alignment.submitted
    with mock.patch.object(alignment, "submitted", lambda texts, key, _: submitted(texts, key, False)):
        assert lost(3, "drop") > 2.0


def linked_rows(guessed: str) -> int:
    """Return how many records a private table is of, whose second station has a person twice, and whose first one a guess what the second row goes by."""
    first = pd.DataFrame({"id": [*(f"p{row}" for row in range(20)), f"{alignment.NOBODY}{guessed}|20"]})
    second = pd.DataFrame({"id": [*(f"p{row}" for row in range(20)), "p0"]})
    draw = np.random.default_rng(1)
    parties = {"one": first.assign(x=draw.choice(["a", "b"], 21)), "two": second.assign(y=draw.choice(["0", "1"], 21))}
    task = {"columns": ["x", "y"], "domain": DOMAIN, "id_column": "id", "epsilon": 1.0}
    with OneProcess(parties, helpers=["h"], policies={"*": LIMITS}) as running:
        return int(running.run("scalar_product", "contingency", task)["records"])


@pytest.mark.parametrize("guessed", ["2", "00" * 32])
def test_a_station_guesses_no_identifier_of_rows_that_match_nobody(guessed: str) -> None:
    """Else whoever has it in the own file would have a person of two rows counted twice, and know which rows of the other station these are."""
    assert linked_rows(guessed) == 20


def test_control_a_text_that_can_be_guessed_counts_a_person_twice() -> None:
    with mock.patch.object(identifiers, "secret_bytes", bytes):
        assert linked_rows("00" * 32) == 21
