"""What a station of vertically split records refuses, whoever asks: second openings, absurd sizes, states found in data under an epsilon."""

import contextlib
import time
import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.bayes.dictionaries.entry import Cut
from fedbayes.bayes.markov.balance import balanced
from fedbayes.federation import errors
from fedbayes.federation.guards.installments import Installment
from fedbayes.federation.messages.codec import decode, encode
from fedbayes.federation.questions.asked_tables import AskedTables
from fedbayes.federation.questions.contrasts import Contrasts
from fedbayes.federation.questions.factor_info import FactorInfo, Wanted, factor_name
from fedbayes.federation.vertical import check_alignment, workspace
from fedbayes.federation.vertical.accounting import change_of
from fedbayes.federation.vertical.coding import check_bins_hold, resolve
from fedbayes.federation.vertical.identifiers import matched_texts
from fedbayes.federation.vertical.messages import (
    Delivery,
    ExtendRequest,
    MatchRequest,
    Product,
    Setup,
    SubmitRequest,
    TablesRequest,
)
from fedbayes.federation.vertical.states import public_states
from fedbayes.federation.vertical.workspace import Workspace

SETUP = Setup(3, [1, 2], "id", False, {}, "quantile", True, False, True)


def info(name="a", width=2, bits=32, **changes):
    entries = {"columns": [name], "holders": [1], "complete": True, "stage": 0, "contributors": [1], **changes}
    return FactorInfo(name=name, width=width, bits=bits, **entries)


def delivery(rows=100, infos=None, dealt=()):
    return Delivery(SETUP, rows, [info()] if infos is None else infos, [], None, [list(t) for t in dealt], [])


# -- one opening a stage ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two():
    draw, columns = np.random.default_rng(0), {"north": "a", "south": "c"}
    return {name: pd.DataFrame({"id": range(60), one: draw.integers(20, 90, 60)}) for name, one in columns.items()}


@pytest.mark.parametrize("told", ["other roles or rules", "opened in another round"])
def test_a_column_is_not_opened_again_with_other_cut_points(two, told, monkeypatch):
    """The difference of two openings under one mask is which records lie between the cut points."""
    if "rules" not in told:
        monkeypatch.setattr(workspace, "asked_once", lambda *_: None)
    with (
        OneProcess(two, helpers=["helper"]) as federation,
        pytest.raises(errors.MessageError, match=told),
    ):
        federation.run("vertical_toy", "open_twice", {"column": "a", "cuts": [[40.0], [60.0]]})


def test_other_states_have_other_masks():
    def key(setup):
        channel = SimpleNamespace(mask_key=lambda peer, purpose: f"{peer}|{purpose}".encode())
        told = {"once": lambda name, content: content}
        station = SimpleNamespace(organization=1, channel=channel, has_data=True, aggregator=2, **told)
        return Workspace(station, setup).key(3)

    changed = [{"bins": {"a": [40.0]}}, {"domain": {"a": {"bounds": [0, 1]}}}, {"missing_state": False}]
    fields = {name: getattr(SETUP, name) for name in SETUP.__dataclass_fields__}
    keys = {key(SETUP), *(key(Setup(**{**fields, **change})) for change in changed)}
    assert len(keys) == 4


# -- sizes -----------------------------------------------------------------------------------------------------------------


def test_absurd_sizes_are_refused_before_anything_is_made():
    wide = [info("a", 1 << 20), info("b", 1 << 20)]
    product = Product(info("ab", 7, columns=["a", "b"]), "a", "b")
    made = [
        lambda: info(width=1 << 40),
        lambda: info(width=-1),
        lambda: info(bits=31),
        lambda: info(holders=list(range(100_000))),
        lambda: delivery(rows=1 << 40),
        lambda: delivery(rows=-1),
        lambda: delivery(infos=[info(width=1 << 22)], rows=1_000_000),
        lambda: delivery(infos=wide, dealt=[("a", "b", "a")]),
        lambda: delivery(dealt=[("a", "x", "y")]),
        lambda: TablesRequest(delivery(infos=wide, rows=10), AskedTables.of([["a", "b"]]), 32, None, 1.0),
        lambda: TablesRequest(delivery(), AskedTables.of([["a"]]), 12, None, 1.0),
        lambda: TablesRequest(delivery(), AskedTables.of([["a"]]), 32, Installment(float("inf")), 1.0),
        lambda: TablesRequest(delivery(), AskedTables.of([["a"]]), 32, Installment(1.0), 0.0),
        lambda: TablesRequest(delivery(), AskedTables.of([]), 32, Installment(1.0), 1.0),
        lambda: TablesRequest(
            delivery(), AskedTables.of([["a"]]), 32, Installment(1.0), 1.0, None, True
        ),  # a digest beside noise
        lambda: ExtendRequest(delivery(infos=[info("a"), info("b")]), 1, 32, [product], []),
        lambda: SubmitRequest(SETUP, [], 7),
        lambda: SubmitRequest(SETUP, [Wanted("states", ["a"])] * 1_000_000, 32),
        lambda: Wanted("states", ["a"] * 20_000),
        lambda: MatchRequest(SETUP, {}, [], [["a", "b", "c"]]),
        lambda: MatchRequest(SETUP, {}, [], [], distinct=[[1]]),
        lambda: Setup(3, [1, 1], "id", False, {}, "quantile", True),
        lambda: Setup(3, [1, 2], "id", False, {}, 10**12, True),
        lambda: Setup(3, [1, 2], "id", False, {"a": {"categories": "x"}}, "quantile", True),
    ]
    tracemalloc.start()
    began = time.monotonic()
    for make in made:
        with pytest.raises((ValueError, errors.ArgumentError)):
            make()
    assert time.monotonic() - began < 20.0
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


PRIVATE = Setup(3, [1, 2], "id", False, {}, {}, True, True)
PAID = Installment(1.0, 1e-6)


def states_of(columns, name=None, **changes):
    """Describe a factor of columns with two states each, under its true name or another."""
    return info(
        factor_name("states", name or columns),
        width=2 ** len(columns),
        columns=list(columns),
        complete=False,
        **changes,
    )


def noisy(infos, tables, contrasts, noise=PAID):
    asked = [[factor_name("states", columns) for columns in table] for table in tables]
    return TablesRequest(
        Delivery(PRIVATE, 100, infos, [], None, [], []), AskedTables.of(asked), 32, noise, 1.0, contrasts
    )


def test_functions_of_tables_are_asked_with_noise_of_columns_under_their_own_names():
    """What one record can change in several tables follows from which columns they are over, so names may not lie."""
    maps = Contrasts({name: balanced(2, 8) for name in "abc"}, [1])
    columns = [states_of("a"), states_of("b")]
    request = noisy(columns, [["a", "b"]], maps)
    assert request.columns == [("a", "b")]
    assert decode(TablesRequest, encode(request)).contrasts.factors == [1]
    wide = Contrasts({name: balanced(3, 8) for name in "abc"}, [1])
    for infos, contrasts, noise in [
        (columns, maps, None),
        (columns, wide, Installment(1.0)),
        (columns, Contrasts(maps.maps, [1, 1]), Installment(1.0)),
        ([states_of("a"), states_of("c", name="b")], maps, Installment(1.0)),
    ]:
        with pytest.raises(ValueError, match=r"functions|contrasts"):
            noisy(infos, [["a", "b"]], contrasts, noise)


def test_noisy_answers_are_over_no_views_nor_products_of_other_columns():
    """A view named after a column could show another one's states where the first has its first; a product is completed by what it is said to be of."""
    maps = Contrasts({name: balanced(2, 8) for name in "abc"}, [1])
    view = states_of("a", view_of=factor_name("states", "cb"))
    product = info(factor_name("states", "ab"), width=1, columns=["a", "b"])
    product = replace(product, complete=True, sides=[2, 2], made_of=[factor_name("states", name) for name in "ab"])
    noisy([states_of("a"), states_of("b"), product], [["ab"]], maps)
    others = replace(product, made_of=[factor_name("states", name) for name in "ac"])
    for infos, table in [
        ([view, states_of("b"), states_of("cb")], ["a", "b"]),
        ([states_of("a"), states_of("c"), others], ["ab"]),
    ]:
        with pytest.raises(ValueError, match=r"all states|columns of its factors"):
            noisy(infos, [table], maps)


@pytest.mark.parametrize(
    ("made", "parts"),
    [
        (states_of("ab"), [states_of("a"), states_of("c", name="b")]),
        (states_of("cb", name="ab"), [states_of("a"), states_of("b")]),
        (states_of("ac"), [states_of("a"), states_of("b")]),
        (states_of("ab"), [states_of("a"), info("b", complete=False)]),
    ],
)
@pytest.mark.parametrize("setup", [PRIVATE, SETUP])
def test_a_product_has_the_name_of_what_it_is_made_of(made, parts, setup):
    given = Delivery(setup, 100, parts, [], None, [], [])
    right = Product(states_of("ab", stage=1), *(factor_name("states", name) for name in "ab"))
    ExtendRequest(Delivery(setup, 100, [states_of("a"), states_of("b")], [], None, [], []), 1, 32, [right], [])
    with pytest.raises(ValueError, match="columns of its factors"):
        ExtendRequest(given, 1, 32, [Product(replace(made, stage=1), parts[0].name, parts[1].name)], [])


def test_a_product_is_of_the_stage_in_which_it_is_opened():
    """Its masks are those of its stage: two rounds could open two products under the masks of one."""
    parts = Delivery(PRIVATE, 100, [states_of("a"), states_of("b")], [], None, [], [])
    names = [factor_name("states", name) for name in "ab"]
    ExtendRequest(parts, 2, 32, [Product(states_of("ab", stage=2), *names)], [])
    with pytest.raises(ValueError, match="malformed"):
        ExtendRequest(parts, 2, 32, [Product(states_of("ab", stage=1), *names)], [])


def test_an_exact_product_may_be_of_the_first_states_of_columns():
    """Where no common record misses a value; its name says the columns all the same."""
    whole = states_of("a")
    view = replace(whole, name="view", width=1, view_of=whole.name)
    given = Delivery(SETUP, 100, [whole, view, states_of("b")], [], None, [], [])
    made = replace(states_of("ab", stage=1), width=2)
    product = Product(made, view.name, factor_name("states", "b"))
    assert ExtendRequest(given, 1, 32, [product], []).products == [product]
    with pytest.raises(ValueError, match="all states of their columns"):
        replace(given, setup=PRIVATE)


def test_an_absurd_message_is_an_error_of_the_project():
    request = encode(TablesRequest(delivery(), AskedTables.of([["a"]]), 32, None, 1.0))
    request["delivery"]["rows"] = 1 << 60
    with pytest.raises(errors.MessageError):
        decode(TablesRequest, request)


# -- alignment -------------------------------------------------------------------------------------------------------------


def test_files_are_not_taken_as_aligned_without_a_word():
    assert check_alignment("id") == "id"
    assert check_alignment(None, True) == ""
    for arguments in [(None,), ("",), ("id", True)]:
        with pytest.raises(errors.ArgumentError, match=r"id_column|rows_aligned"):
            check_alignment(*arguments)


def test_identifiers_match_however_a_program_wrote_them():
    here = matched_texts(["00257", "12", "-3.00", "a 1", "yes, no"], "id", False)
    assert here == matched_texts(["257.0", "012", "-3", " a 1", "yes, no"], "id", False)
    with pytest.raises(errors.DataProblem, match="repeat an identifier"):
        matched_texts(["7", "7.0"], "id", False)


def test_with_an_epsilon_no_identifier_makes_a_refusal():
    found = matched_texts(["7", "", "7", "8"], "id", True)
    assert found[0] == "7"
    assert found[3] == "8"
    assert len(set(found)) == 4
    assert set(found).isdisjoint({"", *matched_texts(["", "7", "7"], "id", True)[0:1]})


# -- states ----------------------------------------------------------------------------------------------------------------

DOMAIN = {"d": {"categories": ["flu", "cold"]}, "n": {"bounds": [0, 10]}, "c": {"bounds": [0, 10]}}
BINS = {"n": 4, "c": [2.5, 5.0], "m": [1.0]}


@pytest.mark.parametrize("name", ["d", "n", "c", "m"])
def test_with_an_epsilon_states_do_not_depend_on_data(name):
    values = [
        pd.Series(["flu", "hiv", None, "cold"], dtype=object),
        pd.Series([0.0, 1e300, np.nan, -7.0]),
        pd.Series([np.nan] * 4),
    ]
    for column in values:
        states, codes = resolve(name, column, DOMAIN.get(name), BINS, False, private=True)
        assert states == public_states(name, DOMAIN, BINS, True)
        assert ((codes >= 0) & (codes < states.cardinality)).all()
        assert codes[2] == states.cardinality - 1
    if name == "d":
        assert resolve(name, values[0], DOMAIN["d"], BINS, False, private=True)[1].tolist() == [0, 2, 2, 1]


def test_states_that_are_public_are_those_of_the_owner():
    draw = pd.Series(np.linspace(0, 10, 40))
    for name in ("n", "c", "m"):
        states, _ = resolve(name, draw, DOMAIN.get(name), BINS, True)
        assert states == public_states(name, DOMAIN, BINS, True)
    states, _ = resolve("d", pd.Series(["flu", "cold"], dtype=object), DOMAIN["d"], BINS, True)
    assert states == public_states("d", DOMAIN, BINS, True)


def test_found_states_are_in_one_order_whatever_texts_look_like_numbers():
    """`nan` is smaller and larger than nothing: as a number among others it would leave the order to chance."""
    texts = ["10", "nan", "9", "b", "NaN", "2", "1_000", "inf", "-3"]
    for turn in range(len(texts)):
        column = pd.Series([*texts[turn:], *texts[:turn]], dtype=object)
        states, codes = resolve("a", column, None, "quantile", True)
        assert states.labels == ("-3", "2", "9", "10", "1_000", "NaN", "b", "inf", "nan")
        assert [states.labels[code] for code in codes] == column.tolist()


@pytest.mark.parametrize("cuts", [[44.5, 45.5], [0.5], [98.5]])
def test_cut_points_around_a_few_records_are_refused_at_their_owner(cuts):
    states, codes = resolve("age", pd.Series(np.arange(100.0)), None, {"age": cuts}, True)
    with pytest.raises(errors.ThresholdError, match="cut points of column 'age'"):
        check_bins_hold(states, codes, 5, {})
    for fine in ([50.0], [-3.0, 50.0, 200.0], [5.0, 95.0]):
        check_bins_hold(*resolve("age", pd.Series(np.arange(100.0)), None, {"age": fine}, True), 5, {})


def test_cuts_of_a_dictionary_are_held_to_the_same():
    """Whatever the order of the categories is, and for categories that nobody gave too."""
    groups = ("young", "middle", "old")
    for at, refused in [
        ((44.5, 45.5), True),
        ((0.5, 50.0), True),
        ((50.0, 98.5), True),
        ((5.0, 95.0), False),
        ((-3.0, 50.0), False),
    ]:
        column = pd.Series([groups[sum(age >= point for point in at)] for age in range(100)], dtype=object)
        for entry in (None, {"categories": ["old", "young", "middle"]}):
            resolved = resolve("group", column, entry, None, True)
            check_bins_hold(*resolved, 5, {})
            with (
                pytest.raises(errors.ThresholdError, match="dictionary: the cut")
                if refused
                else contextlib.nullcontext()
            ):
                check_bins_hold(*resolved, 5, {"group": Cut("age", at, groups)})


def test_another_value_of_one_record_changes_two_cells_of_every_table():
    assert change_of([[3], [3, 2]], "replace_one").l1 == 4
    assert change_of([[1, 1]], "replace_one").l1 == 1
    before, after = np.zeros((3, 2)), np.zeros((3, 2))
    before[0, 1], after[2, 0] = 1, 1
    change = change_of([[3, 2]], "replace_one")
    assert np.abs(after - before).sum() == change.l1
    assert np.linalg.norm(after - before) == pytest.approx(change.l2)
    assert change_of([[3], [3, 2]], "replace_one").l2 == pytest.approx(2.0)
    assert change_of([[3], [3, 2]], "replace_one").cells == 9


def test_a_record_without_values_is_one_cell_less_in_every_table():
    before, erased = np.zeros((3, 2)), np.zeros((3, 2))
    before[0, 1] = 1
    change = change_of([[3, 2]], "zero_out")
    assert np.abs(erased - before).sum() == change.l1
    assert np.linalg.norm(erased - before) == change.l2
    both = change_of([[3], [3, 2]], "zero_out")
    assert (both.l1, both.l2, both.cells) == (2, pytest.approx(np.sqrt(2)), 9)
    assert change_of([[1, 1]], "zero_out").l1 == 1


def test_a_setup_has_a_relation_of_matched_records():
    """And keys hang on all of a setup, so that no two stations have different ones."""
    setup = Setup(3, [1, 2], "id", False, {}, {}, True, private=True)
    assert setup.neighbors == "replace_one"
    assert replace(setup, neighbors="zero_out").neighbors == "zero_out"
    with pytest.raises(ValueError, match="relation"):
        replace(setup, neighbors="add_remove")


def test_united_records_under_an_epsilon_are_counted_once_where_two_stations_hold_the_same_column():
    """Taken from both, a record would change a table over k columns by 3^k, as two records it would cost twice, and a refusal would tell about identifiers."""
    table = pd.DataFrame({"id": range(40), "a": [0, 1] * 20, "b": [1, 1, 0, 0] * 10})
    domain = {name: {"categories": [0, 1]} for name in "ab"}
    arguments = {"columns": ["a", "b"], "batches": [[["a", "b"]]], "records": "union", "domain": domain}
    for overlap in (0, 3):
        pieces = {"north": table[: 20 + overlap], "south": table[20:]}
        pooled = pd.concat(pieces.values()).drop_duplicates("id")
        with OneProcess(pieces, helpers=["helper"], policies={"*": {"minimum_organizations": 2}}) as federation:
            found = federation.run("vertical_toy", "run_tables", {**arguments, "epsilon": 50.0})
            assert found["rows"] == len(pooled)
            counts = np.array(found["model"][0][0])
            assert np.abs(counts[:2, :2] - pd.crosstab(pooled.a, pooled.b).to_numpy()).max() <= 2
            assert np.abs(counts[2]).max() <= 2
            if overlap:
                with pytest.raises(errors.ArgumentError, match="same column of the same records"):
                    federation.run("vertical_toy", "run_tables", arguments)
