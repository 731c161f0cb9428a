"""What to pass where a limit of an embedded federation refuses: who asks is its node administrator too."""

from __future__ import annotations

import re

from vantage6.algorithm.tools.exceptions import AlgorithmError

from ..errors import PolicyError
from ..limit_kinds import FLAG
from ..policy import KINDS, Policy

NO_LEDGER = "sets a budget but no FEDBAYES_LEDGER"
OPENING = tuple(name for name, kind in KINDS.items() if kind is FLAG and not getattr(Policy(), name))
"""Limits that a node opens by a word: what they allow is refused unless somebody says so."""


def with_remedy(error: AlgorithmError) -> AlgorithmError:
    """Return a refusal that also tells how this federation's caller lifts it; any other error as it is."""
    if not isinstance(error, PolicyError):
        return error
    if NO_LEDGER in str(error):
        return PolicyError(f"{error}; embedded, that is you: --party NAME:ledger=FOLDER --policy ledger=ledger")
    named = next((name for name in OPENING if re.search(rf"\b(FEDBAYES_)?{name}\b", str(error), re.IGNORECASE)), None)
    if named is None:
        return error
    return PolicyError(
        f'{error}; embedded, that is you: --policy {named}=true, or policies={{"*": {{"{named}": True}}}}'
    )
