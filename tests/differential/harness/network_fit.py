"""Questions about fits of Bayesian networks, and what pooled tables and searches answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from . import networks, public_records, wild
from .cases import Case, Difference, Outcome, close, judge, same
from .em_told import check_em
from .records import check_states, expected_cuts, place_of, roles, unknown_columns
from .rows import HUGE_EPSILON, limits
from .scalar_product import _who
from .states import cut_in_study, drawn_states, few_beside, is_covered, is_private, state_refusals
from .tables import horizontal, joined, population, stacked, vertical
from .told import check_criteria, check_share

ALGORITHM = "vertibayes"
MEASURED_RECORDS = 60
MEASURED_TOLERANCE = 0.25
"""Noise of about half a record in a cell, and "missing" left out where it does not stand out of that, move a state's share by less."""

EXPECTED = 2e-3
"""Of a probability made of expected counts: either side stops where a step changes little."""
VANISHING = 1e-3
"""Expected records of a configuration that plain steps are on the way to give up: its row is what the way left, and means nothing."""


@st.composite
def search_arguments(draw: Any, names: list[str]) -> dict[str, Any]:
    """Draw structure, score, limits of parents, order, constraints."""
    arguments: dict[str, Any] = {"columns": names}
    structure = draw(st.sampled_from(["left out", "k2", "k2", "hill_climb", "naive", "edges"]))
    pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    if structure == "edges":
        chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=4))
        arguments["structure"] = [list(edge) for edge in chosen if sum(e[1] == edge[1] for e in chosen) <= 3]
    elif structure != "left out":
        arguments["structure"] = structure
    if structure == "naive" or draw(st.booleans()):
        arguments["label"] = draw(st.sampled_from(names))
    if draw(st.booleans()):
        arguments["score"] = draw(st.sampled_from(["k2", "bic", "bdeu"]))
        if arguments["score"] == "bdeu" and draw(st.booleans()):
            arguments["equivalent_sample_size"] = draw(st.sampled_from([1.0, 25.0]))
    if structure in ("left out", "k2", "hill_climb"):
        if draw(st.booleans()):
            arguments["max_parents"] = draw(st.integers(0, 3))
        if structure != "hill_climb" and draw(st.booleans()):
            arguments["order"] = draw(st.sampled_from(["columns", "information", names]))
        if draw(st.integers(0, 3)) == 3:
            arguments["forbidden_edges"] = [
                list(edge) for edge in draw(st.lists(st.sampled_from(pairs), max_size=2, unique=True))
            ]
        if draw(st.integers(0, 3)) == 3:
            edge = list(draw(st.sampled_from(pairs)))
            if edge not in arguments.get("forbidden_edges", []) and arguments.get("max_parents", 3):
                arguments["required_edges"] = [edge]
    return arguments


@st.composite
def fit_cases(draw: Any) -> Case:
    by_rows = draw(st.sampled_from([False, True, False]))
    most = draw(st.sampled_from([4, 4, 6]))  # of five and more, products are made of products
    people = draw(population(fewest=most - 2, most=most, people=(20, 150), gaps=(0.0, 0.0, 0.0, 0.2)))
    names = list(people["columns"])
    arguments = draw(search_arguments(names))
    if by_rows:
        place = draw(horizontal(people, (2, 5), {"minimum_organizations": 1, "minimum_rows": 1}))
        arguments |= {"split": "horizontal"} | draw(drawn_public_records(people))
    else:
        place = draw(vertical(people, (2, 4), {"minimum_organizations": 1}))
        arguments |= {"id_column": place["id_column"]} | draw(_who(place)) | draw(drawn_states(people, names))
    arguments["missing"] = draw(st.sampled_from(["drop", "category", "em_on_counts", "em"]))
    if draw(st.booleans()):
        arguments["pseudocount"] = draw(st.sampled_from([0.0, 1.0, 5.0]))
    if draw(st.integers(0, 3)) == 3:
        arguments["minimum_count"] = draw(st.sampled_from([2, 10]))
    if draw(st.integers(0, 3)) == 3:
        arguments["smallest_probability"] = 0.01
    if arguments["missing"] == "em":
        arguments |= {"synthetic_rows": 200, "restarts": 1}
    if arguments.get("structure") != "hill_climb" and draw(st.integers(0, 3)) == 3:
        arguments |= {"epsilon": HUGE_EPSILON, "missing": draw(st.sampled_from(["drop", "em_on_counts"]))}
        arguments |= {} if by_rows else draw(drawn_public_records(people))
        arguments |= {} if by_rows else draw(st.sampled_from([{}, {"neighbors": "zero_out"}]))
    if draw(st.integers(0, 7)) == 7:
        arguments |= draw(_measured(by_rows, people))
    if draw(st.integers(0, 3)) == 3:
        arguments |= draw(public_records.drawn(people, arguments.get("label", names[0])))
    return Case(ALGORITHM, "fit", place["organizations"], place["central"], [["fit", arguments]])


@st.composite
def _measured(draw: Any, by_rows: bool, people: dict[str, Any]) -> dict[str, Any]:
    """Draw what a network from measured margins needs; no constraint on edges goes with it."""
    arguments = {"structure": "private", "epsilon": HUGE_EPSILON, "delta": draw(st.sampled_from([1e-6, 1e-4]))}
    arguments |= {"missing": draw(st.sampled_from(["drop", "category", "em_on_counts"])), "pseudocount": 0.0}
    arguments |= {"required_edges": None, "forbidden_edges": None, "order": "columns", "smallest_probability": 0.0}
    return arguments if by_rows else arguments | draw(drawn_public_records(people))


@st.composite
def drawn_public_records(draw: Any, people: dict[str, Any]) -> dict[str, Any]:
    """Draw public states of every column: what records that are split by rows need."""
    domain: dict[str, Any] = {}
    cuts: dict[str, Any] = {}
    for name, cells in people["columns"].items():
        if people["kinds"][name] == "category":
            states = people["states"][name] or sorted({cell for cell in cells if cell})
            domain[name] = {"categories": draw(st.permutations(states))}
            continue
        values = [float(cell) for cell in cells if cell is not None] or [0.0]
        margin = max(1.0, wild.NARROWEST * max(map(abs, values)))
        domain[name] = {"bounds": [min(values) - margin, max(values) + margin]}
        cuts[name] = draw(st.sampled_from([sorted({float(np.quantile(values, part)) for part in (0.3, 0.7)}), 2, 5]))
    return {"domain": domain, **({"bins": cuts} if cuts else {})}


def check_horizontal(case: Case, outcome: Outcome) -> None:
    """Hold a network of records that are split by rows against that of all rows."""
    arguments, names = case.arguments, case.arguments["columns"]

    def compare(result: Any) -> None:
        model, domain = result["model"], arguments["domain"]
        same("nodes", sorted(model["nodes"]), sorted(names))
        for name, node in model["nodes"].items():
            labels = [state for state in node["states"] if state != "?"]
            if "categories" in domain[name]:
                same(f"states of {name!r}", labels, [str(value) for value in domain[name]["categories"]])
                continue
            bounds, rule = domain[name]["bounds"], arguments["bins"][name]
            close(f"cut points of {name!r}", list(node["cuts"]), expected_cuts(rule, [], bounds, 0), 1e-9)
        columns = stacked(case.stations(), names)
        records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        compare_network(case, arguments, result, records)

    private = is_private(case)
    few = not is_covered(case) and _cut_anywhere(case)
    unknown = [] if private else _nothing_known(case, names)
    may = [("ThresholdError", "cut points leave a few records of a station on a side")] if few else []
    cut = [("ArgumentError", "rows are not cut into folds")] * (arguments.get("validation") == "svdg")
    may += _hardly_known(case, stacked(case.stations(), names)) + _not_public(case)
    judge(case, outcome, limits(case, True) + unknown + cut, compare, may)


def _not_public(case: Case) -> list[tuple[str, str]]:
    """Return why public records may be refused: they hold a value that nobody else has any more."""
    given = case.arguments.get("public_records") or {}
    seen: dict[str, set[Any]] = {}
    for columns in case.stations().values():
        for name, cells in columns.items():
            seen.setdefault(name, set()).update(cells)
    strange = [
        name for name, cells in given.items() if {c for c in cells if isinstance(c, str)} - seen.get(name, set())
    ]
    return [("ArgumentError", f"a public value of {name!r} that no station has") for name in strange]


def _nothing_known(case: Case, names: list[str]) -> list[tuple[str, str]]:
    """Return why stations refuse: each that has rows must know a value of every column."""
    return [
        ("DataProblem", f"{name!r} has no value at {station!r}")
        for station, columns in case.stations().items()
        for name in names
        if columns[name] and all(cell is None for cell in columns[name])
    ]


def _hardly_known(case: Case, columns: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return why an exact network may be refused: few records, but not none, have a value of a column."""
    least = max(case.limit("minimum_count", 5), case.arguments.get("minimum_count") or 0)
    if is_covered(case):
        return []
    known = {name: sum(cell is not None for cell in cells) for name, cells in columns.items()}
    return [("ThresholdError", f"few values of {name!r}") for name, count in known.items() if 0 < count < least]


def _cut_anywhere(case: Case) -> bool:
    """Whether public cut points part a few records from the others of one station."""
    arguments = case.arguments
    for name, rule in arguments.get("bins", {}).items():
        cuts = np.array(expected_cuts(rule, [], arguments["domain"][name]["bounds"], 0))
        for columns in case.stations().values():
            values = np.array([float(cell) for cell in columns[name] if cell is not None])
            if few_beside(np.searchsorted(cuts, values, side="right"), len(cuts), case):
                return True
    stations = case.stations().values()
    return any(cut_in_study(case, name, columns[name]) for columns in stations for name in arguments["columns"])


def check_fit(case: Case, outcome: Outcome) -> None:
    arguments = case.arguments
    if arguments.get("split") == "horizontal":
        return check_horizontal(case, outcome)
    names = arguments["columns"]
    refuse = roles(case, case.id_column) + unknown_columns(case, names)
    if not refuse and arguments.get("validation") == "svdg":
        records = len(joined(case.stations(), case.id_column))
        if records // arguments.get("folds", 10) < max(case.limit("minimum_rows", 10), 2):
            refuse.append(("ThresholdError", "a fold has fewer records than a node demands"))
    around = state_refusals(case, names)
    if not refuse or is_private(case):
        refuse += around

    def compare(result: Any) -> None:
        model = result["model"]
        same("nodes", sorted(model["nodes"]), sorted(names))
        rule = arguments.get("bins", "published")
        for name, node in model["nodes"].items():
            labels = [state for state in node["states"] if state != "?"]
            check_states(case, name, labels, node["cuts"], rule)
        records = list(joined(case.stations(), case.id_column).values())
        same("records", result["diagnostics"]["records"], len(records))
        compare_network(case, arguments, result, records)

    records = [] if refuse else list(joined(case.stations(), case.id_column).values())
    few = _hardly_known(case, {name: [record[name] for record in records] for name in names})
    judge(case, outcome, refuse, compare, [*few, *_not_public(case), *around])


def codes_of(model: dict[str, Any], records: list[dict[str, Any]], names: list[str]) -> tuple[Any, dict[str, int]]:
    """Return the codes of records (-1 missing), and numbers of states without "missing"."""
    codes, sizes = {}, {}
    for name in names:
        node = model["nodes"][name]
        labels = [state for state in node["states"] if state != "?"]
        found = [-1 if record[name] is None else place_of(record[name], labels, node["cuts"]) for record in records]
        if None in found:
            raise Difference(f"a value of {name!r} has no state")
        codes[name], sizes[name] = np.array(found), len(labels)
    return codes, sizes


def compare_network(case: Case, arguments: dict[str, Any], result: Any, records: list[dict[str, Any]]) -> None:
    """Hold structure, tables and criteria against those of the pooled records."""
    model, names = result["model"], arguments["columns"]
    public_records.compare(arguments, result, records)
    codes, sizes = codes_of(model, records, names)
    if arguments.get("structure") == "private":
        return _compare_measured(arguments, model, codes, sizes)
    missing = arguments.get("missing", "em")
    gaps = {name: bool((codes[name] < 0).any()) for name in names}
    counted = {
        name: np.where(codes[name] < 0, sizes[name], codes[name]) if gaps[name] else codes[name] for name in names
    }
    widths = {name: sizes[name] + gaps[name] for name in names}
    for name in names:
        same(
            f"a state for missing values of {name!r}",
            "?" in model["nodes"][name]["states"],
            missing == "category" and gaps[name],
        )
    parents: dict[str, list[str]] = {name: [] for name in names}
    for parent, child in model["edges"]:
        parents[child].append(parent)
    for name in names:
        same(f"parents of {name!r}", sorted(model["tables"][name]["parents"]), sorted(parents[name]))
    search = networks.Search(
        counted, widths, arguments.get("score", "k2"), arguments.get("equivalent_sample_size", 10.0)
    )
    check_structure(arguments, parents, search)
    minimum = max(arguments.get("minimum_count", 0), case.limit("minimum_count", 5))
    if minimum == 0:  # else hidden configurations count as one
        close("score of the structure", result["diagnostics"]["structure"]["score"], search.total(parents), 1e-7)
    check_em(arguments, result, codes, sizes, minimum)
    if missing == "em" and any(gaps.values()):
        return
    final = widths if missing == "category" else sizes
    for name in names:
        family = [*model["tables"][name]["parents"], name]
        whole = networks.counts(codes, sizes, family) if missing != "category" else None
        if missing == "em_on_counts" and any(gaps.values()):
            compare_expected(name, model, codes, sizes, arguments, minimum, whole)
        else:
            cells = networks.counts(codes if missing == "drop" else counted, final, family)
            compare_table(name, model, cells, arguments, minimum, 1e-9, whole)
    if minimum == 0:
        criteria(result["diagnostics"]["criteria"], model, codes if missing != "category" else counted)
    for name in names:
        share = result["diagnostics"]["missing"].get(name, 0.0)  # of what has no gap anywhere nothing is told
        check_share(f"share without {name!r}", share, int((codes[name] < 0).sum()), len(records), 1e-4)


def _compare_measured(arguments: dict[str, Any], model: Any, codes: Any, sizes: dict[str, int]) -> None:
    """Hold edges against their limits, and how often each state of a node is drawn against the records: even the widest budget leaves some noise."""
    names = arguments["columns"]
    parents = {name: model["tables"][name]["parents"] for name in names}
    if not networks.is_acyclic(parents) or max(map(len, parents.values())) > arguments.get("max_parents", 3):
        raise Difference("the network has a cycle or a node with too many parents")
    for name in names:
        if (codes[name] >= 0).sum() >= MEASURED_RECORDS and networks.is_small(model):
            found = networks.margin(model, name)[: sizes[name]]
            wanted = np.bincount(codes[name][codes[name] >= 0], minlength=sizes[name])
            apart = np.abs(found / found.sum() - wanted / wanted.sum()).sum() / 2
            if apart > MEASURED_TOLERANCE:
                raise Difference(f"states of {name!r} are {apart:.3f} from the records, in total variation")


def compare_expected(
    name: str, model: Any, codes: Any, sizes: dict[str, int], arguments: Any, minimum: float, whole: Any
) -> None:
    """Compare a node's table of expected counts with the ends of three starts; rows in which these differ are on a ridge, where every start has its own."""
    family = [*model["tables"][name]["parents"], name]
    flat = networks.em_family(codes, sizes, family)
    try:
        compare_table(name, model, flat, arguments, minimum, EXPECTED, whole)
    except Difference:
        drawn = np.random.default_rng(len(family)).dirichlet(np.ones(flat.size)).reshape(flat.shape)
        starts = (networks.complete_start(codes, sizes, family), drawn)
        ends = [networks.em_family(codes, sizes, family, start) for start in starts]
        apart = np.max([np.abs(flat - end).max(axis=-1) for end in ends], axis=0) > EXPECTED
        compare_table(name, model, flat, arguments, minimum, EXPECTED, whole, apart)


def compare_table(
    name: str,
    model: Any,
    cells: Any,
    arguments: Any,
    minimum: float,
    tolerance: float,
    whole: Any = None,
    but: Any = None,
) -> None:
    """Compare a node's table: rows of rare configurations are the margin, and others may be, so that none is given back.

    `whole`: counts of the records that have the whole family, which decide and give the margin where cells are expected counts. `but`: rows to leave out.
    """
    found = np.array(model["tables"][name]["probabilities"])
    same(f"shape of the table of {name!r}", list(found.shape), list(cells.shape))
    floor = arguments.get("smallest_probability", 0.0)
    states = cells.shape[-1]
    rows = (1 - floor * states) * networks.table(cells, arguments.get("pseudocount", 0.5)) + floor
    whole = cells if whole is None else whole
    behind = whole if whole.sum() >= max(minimum, 1) else cells
    margin = (1 - floor * states) * networks.table(behind.reshape(-1, states).sum(axis=0), 0.0) + floor
    sizes = np.minimum(cells, whole).sum(axis=-1) if minimum else cells.sum(axis=-1)
    for place in np.ndindex(*sizes.shape):
        if 0 < sizes[place] < VANISHING and not arguments.get("pseudocount", 0.5):
            close(f"a row of {name!r} that nobody is in", found[place].sum(), 1.0)
            continue
        if but is not None and but[place]:
            continue
        own = np.abs(found[place] - rows[place]).max() <= tolerance
        if sizes.ndim and sizes[place] < minimum - tolerance:  # without parents the row is the margin
            own = own and np.abs(rows[place] - margin).max() <= tolerance
        if not own and not (minimum > 0 and np.abs(found[place] - margin).max() <= max(tolerance, 1e-9)):
            raise Difference(
                f"table of {name!r}{list(place)}: {found[place]} instead of {rows[place]} or the margin {margin}"
            )


def criteria(found: Any, model: Any, codes: Any, margin: float = 0.0) -> None:
    """Hold log-likelihood, AIC and BIC against those of the published tables on the pooled records; `margin`: of the log-likelihood."""
    value, parameters = 0.0, 0
    sizes = {name: len(node["states"]) for name, node in model["nodes"].items()}
    for name in sizes:
        cells = networks.counts(codes, sizes, [*model["tables"][name]["parents"], name])
        probabilities = np.array(model["tables"][name]["probabilities"])
        with np.errstate(divide="ignore", invalid="ignore"):
            value += float(np.where(cells > 0, cells * np.log(probabilities), 0.0).sum())
        parameters += probabilities.size - probabilities.size // probabilities.shape[-1]
    if np.isfinite(value):
        tables = [np.size(table["probabilities"]) for table in model["tables"].values()]
        check_criteria(found, parameters, tables, len(next(iter(codes.values()))), value, margin)


def check_structure(arguments: dict[str, Any], parents: dict[str, list[str]], search: networks.Search) -> None:
    """Hold the edges against what the search must find."""
    names, structure = arguments["columns"], arguments.get("structure", "k2")
    required = [tuple(edge) for edge in arguments.get("required_edges") or []]
    forbidden = [tuple(edge) for edge in arguments.get("forbidden_edges") or []]
    most = arguments.get("max_parents", 3)
    edges = {(parent, child) for child, found in parents.items() for parent in found}
    if not networks.is_acyclic(parents):
        raise Difference("the network has a cycle")
    if not isinstance(structure, str):
        same("edges", edges, {tuple(edge) for edge in structure})
        return
    if structure == "naive":
        same("edges", edges, {(arguments["label"], name) for name in names if name != arguments["label"]})
        return
    if edges & set(forbidden) or set(required) - edges or max(map(len, parents.values())) > most:
        raise Difference(f"edges {sorted(edges)} break the constraints")

    def allowed(parent: str, child: str) -> bool:
        return (parent, child) not in forbidden

    if structure == "hill_climb":
        if not search.is_local_optimum(parents, most, required, allowed):
            raise Difference(f"edges {sorted(edges)}: one edge more or less scores better")
        return
    start = {name: [parent for parent, child in required if child == name] for name in names}
    order = arguments.get("order") or "columns"
    orders = (
        [names]
        if order == "columns"
        else [order]
        if isinstance(order, list)
        else information_orders(search, names, start)
    )
    if not any(search.k2_agrees(parents, entry, most, start, allowed) for entry in orders):
        wanted = search.k2(orders[0], most, start, allowed)
        raise Difference(f"parents {parents!r} instead of {wanted!r} (order {orders[0]})")


def information_orders(search: networks.Search, names: list[str], start: dict[str, list[str]]) -> list[list[str]]:
    """Return the orders by greatest mutual information: the best connected node first; several where values tie."""
    gain = {(a, b): networks.information(search.codes[a], search.codes[b]) for a in names for b in names if a != b}
    found: list[list[str]] = []

    def grow(placed: list[str]) -> None:
        if len(placed) == len(names):
            found.append(placed)
            return
        free = [name for name in names if name not in placed and set(start[name]) <= set(placed)]
        value = {
            name: max(gain[other, name] for other in placed)
            if placed
            else sum(gain[name, other] for other in names if other != name)
            for name in free
        }
        best = max(value.values())
        for name in free:
            if value[name] >= best - 1e-8 and len(found) < 24:
                grow([*placed, name])

    grow([])
    return found


# -- networks that are used ----------------------------------------------------------------------------------------------
