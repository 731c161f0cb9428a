"""A YAML file with the line of every key and value, and what is to be said of a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..exits import UsageProblem
from ..inputs.yaml_nodes import root_of

UNSAFE, IGNORED, STOPS, NOTE, LIMIT = "unsafe", "ignored", "stops", "note", "limit"
WRONG = (UNSAFE, IGNORED, STOPS)


@dataclass(frozen=True)
class Place:
    """A value and where it stands.

    Attributes
    ----------
    value : object
        A plain value; empty for a mapping or a list.
    line : int
        Of the value, from 1.
    entries : dict of str to Place
        Of a mapping.
    items : list of Place
        Of a list.
    keys : dict of str to int
        Line of every key of a mapping.
    repeated : list of (str, int)
        Keys that stand again further down, and the line where they are lost.
    """

    value: Any
    line: int
    entries: dict[str, Place] = field(default_factory=dict)
    items: list[Place] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    repeated: list[tuple[str, int]] = field(default_factory=list)

    def get(self, *names: str) -> Place:
        """Return what stands under names, one inside the other; an empty place of line 0 where nothing does."""
        entry = self
        for name in names:
            entry = entry.entries.get(name, NOWHERE)
        return entry

    def plain(self) -> Any:
        """Return the value with its mappings and lists, as YAML readers give it."""
        if self.entries:
            return {name: part.plain() for name, part in self.entries.items()}
        return [part.plain() for part in self.items] if self.items else self.value

    def items_or_one(self) -> list[Place]:
        """Return the places of a list, or the one value that stands in its place."""
        return self.items or ([] if self.empty() else [self])

    def empty(self) -> bool:
        """Return whether nothing stands here."""
        return not (self.items or self.entries) and self.value in (None, "", [], {})

    def walk(self) -> Iterator[Place]:
        """Yield this place and all inside."""
        yield self
        for part in (*self.entries.values(), *self.items):
            yield from part.walk()


NOWHERE = Place(None, 0)


@dataclass(frozen=True, order=True)
class Finding:
    """What is to be said of a line: 0 stands for what is missing in the whole file."""

    line: int
    level: str
    text: str


def read(path: Path) -> Place:
    """Return a YAML file.

    Raises
    ------
    UsageProblem
        If it cannot be read, is no YAML, or holds no mapping.
    """
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UsageProblem(f"{path} cannot be read; name the node's configuration, a YAML file") from None
    loader = yaml.SafeLoader(text)
    try:
        root = root_of(loader)
        root_entry = Place(None, 1) if root is None else _place(loader, root)
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark is not None else "somewhere"
        raise UsageProblem(f"{path} is not valid YAML ({where}); correct it") from None
    finally:
        loader.dispose()
    if not root_entry.entries:
        raise UsageProblem(f"{path} holds no configuration: a mapping of keys was expected")
    return root_entry


def _place(loader: Any, node: Any) -> Place:
    import yaml

    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        return _mapping(loader, node, line)
    if isinstance(node, yaml.SequenceNode):
        return Place([], line, items=[_place(loader, part) for part in node.value])
    return Place(loader.construct_object(node), line)


def _mapping(loader: Any, node: Any, line: int) -> Place:
    names = [str(key.value) for key, _ in node.value]
    repeated = [
        (name, key.start_mark.line + 1)
        for position, (name, (key, _)) in enumerate(zip(names, node.value, strict=True))
        if name in names[position + 1 :] and name != "<<"
    ]
    loader.flatten_mapping(node)
    entries = {str(key.value): _place(loader, value) for key, value in node.value}
    keys = {str(key.value): key.start_mark.line + 1 for key, _ in node.value}
    return Place({}, line, entries=entries, keys=keys, repeated=repeated)
