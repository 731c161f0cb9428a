"""How a task reads a column, as text: stations compare the readings of several tasks by it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from ...bayes.values.encoding import canonical_text


def words_of(missing: Collection[str], listed: Collection[str], recode: Mapping[str, Any]) -> str:
    """Return a reading as text: missing values, known values (none: all are known) and recodes, in canonical texts."""
    recoded = {key: canonical_text(value) for key, value in sorted(recode.items())}
    return json.dumps([sorted(set(missing) - set(listed)), sorted(listed), recoded], separators=(",", ":"))


PLAIN = words_of((), (), {})
"""The reading by which every value is what it is."""
