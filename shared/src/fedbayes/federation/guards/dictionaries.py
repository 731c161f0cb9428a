"""The data dictionary of a study in a task: what it says fills a function's arguments, and what stations apply goes to them in the first round.

Every central function takes the argument ``dictionary`` beside its own, `preflight` among those that it checks; no method needs to know of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...bayes.dictionaries.dictionary import Dictionary
from ...bayes.values.encoding import SchemaError
from ...bayes.values.names import nearest
from ..errors import ArgumentError, MessageError, schema_errors
from ..perimeter.manifest import digest_of

if TYPE_CHECKING:
    from ..jobs.outset import Outset
    from ..node.memory import Memory
    from ..perimeter.manifest import Manifest

ARGUMENT = "dictionary"
SINGLE, SEVERAL = ("label", "time", "event", "strata"), ("features", "columns")
VERTICAL = "rows_aligned"
"""An argument of functions over vertically split records."""


@dataclass(frozen=True)
class Study:
    """What a task's dictionary is besides the arguments that it fills.

    Attributes
    ----------
    dictionary : Dictionary or None
    used : list of str
        Columns of which it gave the domain or the bins.
    private : bool
        Whether the task has an epsilon.
    """

    dictionary: Dictionary | None = None
    used: tuple[str, ...] = ()
    private: bool = False

    def give(self, federation: Outset) -> None:
        """Have the stations apply it, and warn where a promise does not cover how it came about."""
        if self.dictionary is None:
            return
        federation.dictionary = self.dictionary.to_json()
        seen = self.dictionary.looked_at(self.used)
        if self.private and seen:
            federation.warn(
                f"the dictionary's domain of {', '.join(seen[:10])} was drafted from data (looked_at), which epsilon does not cover: "
                "state it from public knowledge, then remove looked_at"
            )


def taken(federation: Outset, defaults: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a function's arguments with those that its dictionary fills; the stations get what they apply of it."""
    filled, study = take(defaults, arguments)
    study.give(federation)
    return filled


def take(defaults: Mapping[str, Any], arguments: dict[str, Any]) -> tuple[dict[str, Any], Study]:
    """Return a function's arguments with those that its dictionary fills, and the rest of the dictionary.

    Parameters
    ----------
    defaults : mapping
        The function's own arguments, with what each is when left out.
    arguments : dict
        As they were given.

    Raises
    ------
    ArgumentError
        If the dictionary cannot be read, or does not go with the function.
    """
    others = {name: value for name, value in arguments.items() if name != ARGUMENT}
    content = arguments.get(ARGUMENT)
    if content is None:
        return others, Study()
    dictionary = read(content)
    model = others.get("model")
    split = others.get("split") or defaults.get("split") or (model.get("split") if isinstance(model, Mapping) else None)
    if dictionary.subset is not None and VERTICAL in defaults and split != "horizontal":
        raise ArgumentError(
            "dictionary: a subset would reveal which records are left out where records are split over stations; leave it out here"
        )
    used = _columns(dictionary, others)
    # All columns where one may be misspelled: the refusal of it then tells the nearest name.
    misspelled = any(name not in dictionary.columns and nearest(name, list(dictionary.columns)) for name in used)
    domain = dictionary.domain(list(dictionary.columns) if misspelled else used)
    if "domain" in defaults and others.get("domain") is None and domain:
        others["domain"] = domain
        bins = dictionary.bins(used)
        if bins and "bins" in defaults and others.get("bins") is None:
            others["bins"] = bins
    if _is_matched(defaults, others, split) and others.get("id_column") is None:
        several = dictionary.identifiers
        if len(several) > 1:
            raise ArgumentError(
                f"id_column: the dictionary has several identifiers ({', '.join(several[:5])}); say by which one records are matched"
            )
        if several:
            others["id_column"] = several[0]
    return others, Study(dictionary, tuple(used), others.get("epsilon") is not None)


def _is_matched(defaults: Mapping[str, Any], arguments: Mapping[str, Any], split: str | None) -> bool:
    """Return whether a task needs the column of identifiers: to match records over stations, as no feature of its own, or as the unit of its promise."""
    if "id_column" not in defaults or arguments.get(VERTICAL) or arguments.get("records") is not None:
        return False
    if "unit" not in defaults or arguments.get("unit") == "identifier":
        return True
    return VERTICAL in defaults and split in (None, "vertical", "hybrid")


def read(content: Any) -> Dictionary:
    """Return the dictionary of an argument; `ArgumentError` if it is none."""
    with schema_errors(ArgumentError, "dictionary"):
        return Dictionary.from_json(content)


def _columns(dictionary: Dictionary, arguments: Mapping[str, Any]) -> list[str]:
    """Return the columns that a task names, or all of the dictionary where it leaves that open."""
    named = [arguments[name] for name in SINGLE if isinstance(arguments.get(name), str)]
    lists = [arguments[name] for name in SEVERAL if isinstance(arguments.get(name), list | tuple)]
    if not lists:
        return list(dictionary.columns)
    return list(dict.fromkeys([*named, *(str(entry) for part in lists for entry in part)]))


def keep(memory: Memory, content: dict[str, Any] | None) -> None:
    """Keep the dictionary that a job's first round brings to a station.

    Raises
    ------
    MessageError
        If it cannot be read, or the job has had another one.
    """
    if content is None:
        return
    try:
        text = _text(Dictionary.from_json(content))
    except SchemaError as problem:
        raise MessageError(f"the dictionary of the request cannot be read: {problem}") from None
    if memory.once(ARGUMENT, text) != text:
        raise MessageError("this job has had another dictionary before; start the job again")


def kept(memory: Memory) -> Dictionary | None:
    """Return the dictionary of the job, or None."""
    content = memory.read(ARGUMENT)
    return None if content is None else Dictionary.from_json(json.loads(content))


def digest(content: dict[str, Any] | None) -> str:
    """Return the digest of a dictionary, 64 hexadecimal digits, for the manifest; empty without one."""
    return "" if content is None else digest_of(_text(Dictionary.from_json(content)))


def check_agreed(memory: Memory, manifest: Manifest) -> None:
    """Raise `MessageError` if the manifest, which all stations of a job share, is of another dictionary than this station was sent."""
    study = kept(memory)
    if manifest.dictionary != digest(None if study is None else study.to_json()):
        raise MessageError("the manifest of the job is of another dictionary than this station was sent; the job stops")


def _text(dictionary: Dictionary) -> bytes:
    """Return the one text of a dictionary."""
    return json.dumps(dictionary.to_json(), sort_keys=True).encode()
