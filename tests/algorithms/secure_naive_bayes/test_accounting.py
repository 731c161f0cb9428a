"""What the ledger is charged, what the result says, and what one neighbouring step changes agree."""

import sqlite3

import numpy as np
import pytest

from fedbayes.federation.horizontal import Columns
from v6_secure_naive_bayes import model
from v6_secure_naive_bayes.drawing import at_most
from v6_secure_naive_bayes.messages import CountsRequest, Keying, Noise
from v6_secure_naive_bayes.partial import cell_counts

from .conftest import DOMAIN

STATIONS = ["p", "q", "r", "s"]
TASK = {"label": "kind", "domain": DOMAIN, "bins": 5, "modulus_bits": 2048, "organizations": STATIONS}
COLUMNS = Columns("kind", ["color", "size", "shape"], DOMAIN)
PARTY = {"unit": "party", "maximum_records": 20}


def spent(ledger):
    path = ledger / "fedbayes-ledger.sqlite3"
    if not path.exists():
        return np.zeros(2)
    with sqlite3.connect(path) as database:
        return np.array(database.execute("SELECT TOTAL(epsilon), TOTAL(delta) FROM debits").fetchone())


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("changes", "epsilon", "delta"),
    [
        ({"epsilon": 0.7}, 0.7, 0.0),
        ({"epsilon": 0.7, "features": ["color"]}, 0.7, 0.0),
        ({"epsilon": 0.7, "delta": 1e-6, "noise": "diluted_geometric"}, 0.7, 1e-6),
        ({"epsilon": 0.7, "delta": 1e-6, "noise": "diluted_geometric", **PARTY}, 0.7, 1e-6),
        ({"epsilon": 0.7, **PARTY}, 0.7, 0.0),
        ({"epsilon": 0.7, "delta": 1e-6, "noise": "published"}, 2.8, 4e-6),
        ({"epsilon": 0.7, "delta": 1e-6, "noise": "published", **PARTY}, 2.8, 80e-6),
    ],
)
def test_what_is_charged_is_what_the_result_says(horizontal, ledger, changes, epsilon, delta):
    before = spent(ledger)
    told = horizontal.run("secure_naive_bayes", "fit", {**TASK, **changes})["privacy"]
    assert spent(ledger) - before == pytest.approx([epsilon, delta], rel=1e-6, abs=1e-12)
    assert (told["epsilon"], told["delta"]) == pytest.approx((epsilon, delta))
    assert told["unit"] == ("party" if "unit" in changes else "row")
    assert "0.8 of the stations" in told["mechanism"]


def counts_of(frame, noise):
    request = CountsRequest(COLUMNS, {"size": 5}, noise, Keying("0" * 256, bytes(32), 0), 3)
    encoded = COLUMNS.schema.encode(frame)
    if noise.unit == "party":
        encoded = at_most(encoded, noise.maximum_records)
    return cell_counts(request, encoded)


def test_one_record_more_changes_one_cell_of_each_table(table):
    noise = Noise("polya", 1.0, 0.0, 0.8, "record", 0)
    published = Noise("published", 1.0, 1e-6, 0.8, "record", 0)
    whole, theirs = counts_of(table, noise), counts_of(table, published)
    for row in (0, 1, 97):
        less = table.drop(index=row)
        assert np.abs(whole - counts_of(less, noise)).sum() == model.families(noise, 3) * model.sensitivity(noise) == 3
        assert np.abs(theirs - counts_of(less, published)).sum() == 3 + 1
    unlabelled = table.assign(kind=table["kind"].where(table.index != 5))
    assert np.abs(whole - counts_of(unlabelled, noise)).sum() == 3


def test_a_whole_party_changes_at_most_its_public_bound_in_each_table(table):
    noise = Noise("polya", 1.0, 0.0, 0.8, "party", 20)
    assert counts_of(table, noise).sum() == 3 * 20 == model.families(noise, 3) * model.sensitivity(noise)
    assert counts_of(table.iloc[:7], noise).sum() == 3 * 7
