"""Research simulations: ensembles of stations that exist in one process only, for studies on public data.

Nothing here is called by a deployed function. The members, their votes and the weights are those of the deployed
partials (the same functions); what is left out is the protocol: alignment, products, masks. A test compares both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fedbayes.bayes.network.variable import Variable
from fedbayes.bayes.values.frames import with_columns
from fedbayes.federation.vertical.coding import resolve
from v6_bayesian_ensemble.ensemble import Ensemble, Member
from v6_bayesian_ensemble.local import right_and_seen
from v6_bayesian_ensemble.members import Codes, check_classes, learned_alone, member_of, oracle_of
from v6_bayesian_ensemble.model import Learning, learn_parts
from v6_bayesian_ensemble.testing import balanced
from v6_bayesian_ensemble.votes import by_score, scaled

Parts = Sequence[Sequence[str]]


def encoded(
    frame: Any, names: Sequence[str], domain: Mapping[str, Any], bins: Any
) -> tuple[dict[str, Variable], Codes]:
    """Return the columns of a data frame as variables and codes (rows,); "missing" is the last state of each."""
    variables, codes = {}, {}
    for name in names:
        states, codes[name] = resolve(name, frame[name], domain.get(name), bins, True, True)
        variables[name] = states.variable()
    return variables, codes


def vertical(
    frame: Any, label: str, parts: Parts, learning: Learning, bins: Any = "published", united: bool = False
) -> tuple[Member, ...]:
    """Return one member a part of the columns, learned from all rows; organizations are numbered from 1."""
    names = dict.fromkeys([label, *(column for part in parts for column in part)])
    variables, codes = encoded(frame, list(names), {}, bins)
    members = learn_parts(learning, label, parts, variables, oracle_of(variables, codes), united)
    return tuple(
        member_of(str(at), label, {at: tuple(part)}, learned, variables)
        for at, (part, learned) in enumerate(zip(parts, members, strict=True), start=1)
    )


def horizontal(
    frames: Sequence[Any], label: str, learning: Learning, domain: Mapping[str, Any], bins: Any = "published"
) -> tuple[Member, ...]:
    """Return one member a table, over all its columns but the label; organizations are numbered from 1."""
    members = []
    for at, frame in enumerate(frames, start=1):
        own = tuple(column for column in frame if column != label)
        variables, codes = encoded(frame, [label, *own], domain, bins)
        part = learned_alone(learning, label, own, variables, codes)
        members.append(member_of(str(at), label, {at: own}, part, variables))
    return tuple(members)


def hybrid(
    frames: Sequence[Any], label: str, learning: Learning, domain: Mapping[str, Any], bins: Any = "published"
) -> tuple[Member, ...]:
    """Return the members of ``hybrid="local"``; a table's index names its records.

    Tables with the label learn alone; the others learn from the records whose label any table has.
    """
    labels = [frame[label] for frame in frames if label in frame]
    known = labels[0] if len(labels) == 1 else _joined(labels)
    members = []
    for at, frame in enumerate(frames, start=1):
        if label in frame:
            (member,) = horizontal([frame], label, learning, domain, bins)
        else:
            whole = with_columns(frame, {label: known.reindex(frame.index)})
            (member,) = vertical(whole, label, [list(frame)], learning, bins, united=True)
        members.append(replace(member, name=str(at), stations={at: member.columns}))
    return tuple(members)


def ensemble(
    members: Sequence[Member], label: str, vote: str, weights: str, split: str, bound: float = 0.0
) -> Ensemble:
    """Return the ensemble of members, weighed as `fit` weighs them (not "score": see `tested`)."""
    classes = check_classes(members)
    plain = [float(member.rows) if weights == "rows" else 1.0 for member in members]
    return _weighed(Ensemble(label, classes, tuple(members), vote, weights, split, bound), scaled(plain))


def tested(model: Ensemble, frames: Sequence[Any]) -> Ensemble:
    """Return a horizontal ensemble weighed by what its members score on the other tables."""
    counts = sum(right_and_seen(model, at, frame) for at, frame in enumerate(frames, start=1))
    right, seen = np.asarray(counts, dtype=np.float64).swapaxes(0, 1)
    return _weighed(model, by_score(balanced(right, seen)))


def _weighed(model: Ensemble, weights: Sequence[float]) -> Ensemble:
    members = tuple(replace(member, weight=w) for member, w in zip(model.members, weights, strict=True))
    return replace(model, members=members)


def _joined(columns: Sequence[Any]) -> Any:
    import pandas

    return pandas.concat(columns)
