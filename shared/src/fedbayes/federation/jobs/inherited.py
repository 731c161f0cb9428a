"""What a use of a model takes from the fit that made it, unless it is given: the study's dictionary, and in vertical methods how records are matched."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..results import OMITTED

MATCHING = ("id_column", "rows_aligned")
"""How records are matched: by one of these."""


def of_fit(of_model: Mapping[str, Any], given: Collection[str], declared: Collection[str]) -> dict[str, Any]:
    """Return the arguments of a fit that hold for a use of its model too.

    Parameters
    ----------
    of_model : mapping
        The arguments of the fit, as its result's `provenance` keeps them.
    given : collection of str
        Names of the arguments that the use has of its own; these stay.
    declared : collection of str
        Names of all arguments that its function takes.

    Returns
    -------
    dict
        Name -> value; what the result keeps too briefly is not there.
    """
    names = {"dictionary"} - set(given)
    # Where records are whole, identifiers match nothing: they are the unit of a promise, which a use states for itself.
    matched = "unit" not in declared or ("rows_aligned" in declared and of_model.get("split") != "horizontal")
    if matched and not set(MATCHING) & set(given):
        names |= set(MATCHING) & set(declared)
    return {name: of_model[name] for name in sorted(names & set(of_model)) if not is_left_out(of_model[name])}


def is_left_out(value: Any) -> bool:
    """Return whether a written result keeps of an argument only that it was long."""
    return isinstance(value, Mapping) and bool(value) and set(value) <= {OMITTED, "sha256"}
