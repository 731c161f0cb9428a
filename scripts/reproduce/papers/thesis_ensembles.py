"""Chapter 5: the tables of areas under the curve of ensembles, from the committed study."""

from __future__ import annotations

from test_bayesian_ensemble_study import STUDY, Cell, Results, cells

from ..core import Item

TABLES = ("5.2", "5.3", "5.4", "5.5", "A1", "A2", "A3", "A4", "A5", "A6")
BIASED = ("A5", "A6")
RULE = "mean uniform"
LABELLED, AS_ENSEMBLES, AS_VERTIBAYES = 0, 1, 2  # ways of scoring


def table(name: str, results: Results) -> Item:
    """Return a table of the chapter or its appendix: each row's ensemble, parties, central network and VertiBayes."""
    asked = [cell for cell in cells() if cell.table == name]
    item = Item(f"table-{name}", repetitions=min(results.repetitions[cell.key] for cell in asked))
    for cell in asked:
        for model, theirs in cell.published.items():
            ours = scores(cell, model, results)
            bias = f"{cell.bias:.0%}" if cell.table in BIASED else "-"
            item.add((cell.data, bias, cell.missing, model), theirs, *ours)
    return item


def scores(cell: Cell, model: str, results: Results) -> tuple[float | None, float | None]:
    """Return ours scored as published, and by default on labelled records."""
    own, pooled = results.scores[cell.key], results.scores[f"pooled|{cell.data}|{cell.missing}"]
    if model == "ensemble":
        return own[RULE][AS_ENSEMBLES], own["default"][LABELLED]
    if model == "vertibayes":
        return pooled[model][AS_VERTIBAYES], pooled[model][LABELLED]
    accuracies = (
        pooled[model] if model == "central" else own.get(model, [None] * 3)
    )  # the study votes with two parties in A3
    return accuracies[AS_ENSEMBLES], accuracies[LABELLED]


def tables(quick: bool) -> list[Item]:
    """Return all tables of the chapter; nothing is run."""
    results = Results(STUDY)
    return [table(name, results) for name in (TABLES[:1] if quick else TABLES)]
