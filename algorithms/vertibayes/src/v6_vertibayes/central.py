"""What the researcher calls."""

from __future__ import annotations

from typing import Any

from fedbayes.federation import Federation, central

from . import results
from .merging import fine_rules, merged_by_class
from .model import learn
from .options import Options
from .sources import Question, open_source
from .validation import validate


@central
def fit(
    federation: Federation,
    columns: list[str],
    id_column: str | None = None,
    structure: str | list[list[str]] | None = None,
    label: str | None = None,
    score: str = "k2",
    max_parents: int = 3,
    order: str | list[str] | None = None,
    required_edges: list[list[str]] | None = None,
    forbidden_edges: list[list[str]] | None = None,
    bins: Any = "published",
    domain: dict[str, Any] | None = None,
    missing: str = "em",
    synthetic_rows: int = 10_000,
    restarts: int = 3,
    pseudocount: float = 0.5,
    minimum_count: float = 0,
    smallest_probability: float = 0.0,
    epsilon: float | None = None,
    validation: str = "none",
    folds: int = 10,
    public_records: dict[str, list[Any]] | None = None,
    equivalent_sample_size: float = 10.0,
    split: str = "vertical",
    helper: int | str | None = None,
    organizations: list[int | str] | None = None,
) -> dict[str, Any]:
    """Learn a Bayesian network from records whose columns (or rows) lie at several stations.

    The README tells what every argument means and what each role learns.
    """
    options = Options.check(locals())
    epsilon = None if epsilon is None else epsilon / options.batches
    cut = folds if validation == "svdg" else 0
    question = Question(options.columns, id_column, domain or {}, fine_rules(bins), split, epsilon, helper, cut)
    source = merged_by_class(open_source(federation, question, organizations), bins, label)
    learned = learn(options, list(source.variables.values()), source)
    scores = validate(options, learned, source.by_fold)
    return results.fitted(federation, options, learned, source, scores)
