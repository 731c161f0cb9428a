"""Data dictionaries as files: YAML or JSON in, YAML out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...bayes.dictionaries.dictionary import Dictionary
from ...bayes.values.encoding import SchemaError, canonical_text
from ...bayes.values.frames import with_columns
from ..exits import UsageProblem
from .files import read_json, read_text
from .tables import read_table
from .yaml_nodes import root_of

SUFFIXES = (".yaml", ".yml", ".json")
# YAML 1.2's: `no` and `yes` are texts, and so are dates, 007 and 12:30; PyYAML follows YAML 1.1, where they are not.
_PLAIN = {
    "tag:yaml.org,2002:bool": re.compile(r"(true|True|TRUE|false|False|FALSE)$"),
    "tag:yaml.org,2002:int": re.compile(r"[-+]?(0|[1-9][0-9]*)$"),
    "tag:yaml.org,2002:float": re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?$"),
    "tag:yaml.org,2002:null": re.compile(r"(~|null|Null|NULL|)$"),
}


def read_dictionary(path: Path) -> dict[str, Any]:
    """Return the dictionary in a file, checked, as the argument ``dictionary`` of a task takes it.

    Raises
    ------
    UsageProblem
        If the file is missing, no YAML or JSON, or no dictionary; the message names the column.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UsageProblem(f"the dictionary {path} must end in one of: {', '.join(SUFFIXES)}")
    content = read_json(path, "the dictionary") if path.suffix.lower() == ".json" else _yaml(path)
    try:
        Dictionary.from_json(content)
    except SchemaError as problem:
        raise UsageProblem(f"{path}: {problem}") from None
    return dict(content)


def read_as_fitted(path: Path, content: Any, domain: Mapping[str, Any], identifiers: Sequence[str]) -> Any:
    """Return a table as the stations read theirs for a fit, a pandas frame: with the recodes and derived columns of its dictionary, and with all rows.

    Parameters
    ----------
    path : pathlib.Path
        The table.
    content : object
        The dictionary of the fit, as its result keeps it; anything else is none.
    domain : mapping
        Of the model.
    identifiers : sequence of str
        Columns that keep their text.

    Raises
    ------
    UsageProblem
        If the table cannot be read.
    """
    study = _study(content)
    return _applied(read_table(path, domain if study is None else study.reading(domain), identifiers), study)


def frame_as_fitted(frame: Any, content: Any, domain: Mapping[str, Any]) -> Any:
    """Return a pandas frame as `read_as_fitted` gives that of a file: codes of missing values are gaps, recodes and derived columns are there.

    Raises
    ------
    UsageProblem
        If it is no frame.
    """
    if not hasattr(frame, "columns") or not hasattr(frame, "iloc"):
        raise UsageProblem("the table must be a pandas data frame with a column for every feature of the model")
    from ...bayes.values.missing import Reading
    from ...federation.tables.files import settled

    study = _study(content)
    return _applied(settled(frame, Reading(domain if study is None else study.reading(domain))), study)


def _study(content: Any) -> Dictionary | None:
    """Return the dictionary that a result keeps; None where it keeps none."""
    try:
        return Dictionary.from_json(content)
    except SchemaError:
        return None


def _applied(frame: Any, study: Dictionary | None) -> Any:
    """Return a frame with the recodes and derived columns of a dictionary, and with all rows."""
    from ...bayes.dictionaries.recoding import applied

    if study is None:
        return frame
    there = [name for name, entry in study.columns.items() if set(entry.sources) <= set(frame.columns)]
    made, _ = applied(frame, there, Dictionary(study.columns, study.missing), len(frame))
    return with_columns(frame, made)


def dictionary_text(content: Mapping[str, Any], notes: Mapping[str, str] | None = None, head: str = "") -> str:
    """Return a dictionary as YAML, one line a column with a note behind it where there is one."""
    import yaml

    def line(value: Any, letters: bool = True) -> str:
        text = yaml.dump(
            value, Dumper=_dumper(), default_flow_style=True, sort_keys=False, allow_unicode=letters, width=10**9
        ).strip()
        # Else a name with a break of lines ends its line, and others act on the terminal that shows them.
        return line(value, False) if letters and not text.isprintable() else text

    def scalar(value: Any) -> str:
        return line([value])[1:-1]

    lines = [*(f"# {row}" for row in head.splitlines())]
    lines += [f"{key}: {scalar(value)}" for key, value in content.items() if key != "columns"]
    lines.append("columns:")
    for name, entry in content["columns"].items():
        note = (notes or {}).get(name)
        lines.append(f"  {scalar(name)}: {line(entry)}" + (f"  # {note}" if note else ""))
    return "\n".join(lines) + "\n"


def _yaml(path: Path) -> Any:
    import yaml

    text = read_text(path, "the dictionary")
    try:
        loader = _loader()(text)  # a SafeLoader
        root = root_of(loader)
        return None if root is None else loader.construct_document(root)
    except (yaml.YAMLError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f"line {mark.line + 1}" if mark is not None else "somewhere"
        fault = getattr(problem, "problem", None) or "it cannot be read"
        raise UsageProblem(f"the dictionary {path} is not valid YAML ({line}: {fault}); correct it") from None


def _loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            made: dict[str, Any] = {}
            if not isinstance(node, yaml.MappingNode):
                raise yaml.constructor.ConstructorError(None, None, "a map needs names and values", node.start_mark)
            for key, value in node.value:  # as texts: 1 and true are one key of a dict
                if not isinstance(key, yaml.ScalarNode):
                    raise yaml.constructor.ConstructorError(None, None, "a name must be a text", key.start_mark)
                read = self.construct_object(key)
                name = read if isinstance(read, str) else canonical_text(read) or ""
                if name in made:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"{name[:60]!r} is there twice", node.start_mark
                    )
                made[name] = self.construct_object(value, deep=deep)
            return made

    for tag, pattern in _PLAIN.items():
        Loader.add_implicit_resolver(tag, pattern, None)
    return Loader


def _dumper() -> Any:
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    return Dumper
