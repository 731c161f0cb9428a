"""Arguments of a central function, each declared once.

A class of arguments is a frozen dataclass whose fields are made by :func:`argument`::

    @dataclass(frozen=True, kw_only=True)
    class Fit(Parties):
        column: str = argument(COLUMN, "A numeric column.")
        bins: int = argument(whole(1, 100), "Bins of the column.", 20)

    @central
    def fit(federation: Federation, asked: Fit) -> dict[str, Any]: ...

The researcher calls ``fit(column="age")`` as before; `central` reads the arguments by the class, and they reach the function checked. Of the
same fields follow what :mod:`fedbayes.federation.signatures` makes: help, pages, store files, a description in JSON. Groups of arguments that several
functions share are classes to inherit from; a field that is declared again replaces the group's.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from ..bayes.encoding import nearest
from ..dp.promise import LEAST_EPSILON
from . import arguments as checks
from .errors import ArgumentError

Check = Callable[[str, Any], Any]
REQUIRED = dataclasses.MISSING
PUBLISHED = "published"
"""What an argument is that does as a paper does, in every method; its result says that it is not private, or not the recommended way."""
ONCE_PUBLISHED = {"as_published": PUBLISHED, "local_as_published": PUBLISHED}
"""How it was spelled."""
TARGET, OWN, UNIT, PARTIES = range(4)
"""Where a group's arguments stand among all: what is asked about, the function's own, whom a promise is for, who takes part."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What an argument may be.

    Attributes
    ----------
    store : str
        Its type in the algorithm store: column, float, json, ...
    allowed : str
        The same in words, for a reader.
    check : callable
        ``check(name, value)`` returns the value as the function wants it, or raises ArgumentError.
    choices : tuple of str
        All it may be, where these are few.
    limits : mapping of str to float
        ``low``, ``high`` (inclusive), ``above``, ``below`` (exclusive) of a number.
    """

    store: str
    allowed: str
    check: Check
    choices: tuple[str, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)


def number(**limits: float) -> Kind:
    """Return a finite number within limits (`low`, `high`, `above`, `below`)."""
    return _number("float", False, limits)


def whole(low: int, high: int) -> Kind:
    """Return a whole number of a range, both ends included."""
    return _number("integer", True, {"low": low, "high": high})


def _number(store: str, integer: bool, limits: dict[str, Any]) -> Kind:
    words = f"{'a whole' if integer else 'a'} number{checks.limits_text(**limits)}"
    return Kind(
        store, words, lambda name, value: checks.check_number(name, value, integer=integer, **limits), (), limits
    )


def choice(choices: Sequence[str], formerly: Mapping[str, str] | None = None) -> Kind:
    """Return one of some words; `formerly` maps spellings of old to those of today, which the refusal names."""
    old = dict(formerly or {})

    def check(name: str, value: Any) -> str:
        if isinstance(value, str) and value in old:
            raise ArgumentError(f"{name}='{value}' is now called '{old[value]}'; give {name}='{old[value]}'")
        return checks.check_choice(name, value, choices)

    return Kind("string", f"one of {', '.join(choices)}", check, tuple(choices))


def json_value(allowed: str, check: Check) -> Kind:
    """Return a value of a form of its own, checked by a function of its own."""
    return Kind("json", allowed, check)


def columns(least: int = 1) -> Kind:
    """Return a list of columns, each once."""
    return Kind(
        "column_list",
        f"a list of {least} or more columns",
        lambda name, value: checks.check_names(name, value, least=least),
    )


COLUMN = Kind("column", "a column", checks.check_name)
COLUMNS = columns()
NAME = Kind("string", "a name", checks.check_name)
EPSILON = number(low=LEAST_EPSILON)
FLAG = Kind("boolean", "true or false", checks.check_flag)
MODEL = Kind("json", "the `model` of a result", checks.check_model)
ORGANIZATION = Kind("organization", "an organization, by id or name", checks.check_organization)
ORGANIZATIONS = Kind("organization_list", "a list of organizations, by id or name", checks.check_organizations)


@dataclass(frozen=True, slots=True)
class When:
    """A condition under which an argument is used: what another one is, or is not.

    Attributes
    ----------
    argument : str
        The other one.
    values : tuple
        One of these; empty: it is given, whatever it is.
    holds_if : bool
        False turns the condition round: none of these; left out.
    """

    argument: str
    values: tuple[Any, ...] = ()
    holds_if: bool = True

    def holds(self, asked: Arguments) -> bool:
        """Return whether it holds of checked arguments."""
        value = getattr(asked, self.argument)
        return (value in self.values if self.values else value is not None) is self.holds_if

    def failing(self, asked: Arguments) -> str:
        """Return in words why it does not hold of checked arguments."""
        if self.values and not self.holds_if:
            return When(self.argument, (getattr(asked, self.argument),), False).words(False)
        return self.words(False)

    def words(self, holds: bool) -> str:
        """Return it in words, as it is where it holds or where it does not, such as ``without epsilon`` or ``with noise='local'``."""
        values = "=" + " or ".join(map(repr, self.values)) if self.values else ""
        return f"{'with' if self.holds_if is holds else 'without'} {self.argument}{values}"


def when(argument: str, *values: Any) -> When:
    """Return the condition that an argument is given or, with values, that it is one of these."""
    return When(argument, values)


def unless(argument: str, *values: Any) -> When:
    """Return the condition that an argument is left out or, with values, that it is none of these."""
    return When(argument, values, False)


def argument(
    kind: Kind,
    words: str,
    default: Any = REQUIRED,
    *,
    used_when: When | tuple[When, ...] = (),
    why: str = "",
    unit: str = "",
    formerly: tuple[str, ...] = (),
    rank: int = OWN,
    optional: bool = False,
) -> Any:
    """Return a field of a class of arguments.

    Parameters
    ----------
    kind : Kind
        What it may be.
    words : str
        What it means, in one or two sentences.
    default : object, optional
        None: it may be left out, and then is None. Without a default it must be given.
    used_when : When or tuple of When
        All must hold for it to be used; else who gives it is warned.
    why : str
        Added to that warning.
    unit : str
        Of a number, such as ``bits``.
    formerly : tuple of str
        What it was called; who uses such a name is told today's.
    rank : int
        Where it stands among all arguments of a function: `TARGET`, `OWN`, `UNIT` or `PARTIES`.
    optional : bool
        Whether None may be given though it is not the default.
    """
    conditions = (used_when,) if isinstance(used_when, When) else used_when
    declared = Declared(kind, words, conditions, why, unit, formerly, rank, optional)
    return field(default=default, metadata={"declared": declared})


@dataclass(frozen=True, slots=True)
class Declared:
    """What :func:`argument` was told, beside name and default."""

    kind: Kind
    words: str
    used_when: tuple[When, ...]
    why: str
    unit: str
    formerly: tuple[str, ...]
    rank: int
    optional: bool

    def among(self, names: Collection[str]) -> Declared:
        """Return the same with the conditions on these arguments only."""
        return dataclasses.replace(self, used_when=tuple(one for one in self.used_when if one.argument in names))


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a function: its name, its default (`REQUIRED` if there is none) and what was declared of it."""

    name: str
    default: Any
    annotation: Any
    declared: Declared

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED

    def check(self, value: Any) -> Any:
        """Return the value, checked; None stands for an argument that was left out where that is its default."""
        absent = value is None and (self.default is None or self.declared.optional)
        return None if absent else self.declared.kind.check(self.name, value)


A = TypeVar("A", bound="Arguments")


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Base of every class of arguments.

    Attributes
    ----------
    reads_table : bool
        Whether the function asks for the stations' tables.
    rounds_usually : int
        Rounds that a task of the function usually takes, for progress and plans; 0 where nobody knows.
    releases_tables : bool
        Whether a noisy table of every feature by class is released: plans then tell the noise of a cell.
    """

    reads_table: ClassVar[bool] = True
    rounds_usually: ClassVar[int] = 0
    releases_tables: ClassVar[bool] = False

    @classmethod
    def usual_rounds(cls, given: Mapping[str, Any]) -> int:
        """Return the usual rounds of a task; arguments that change the number are read as far as they are well-formed."""
        return cls.rounds_usually

    @classmethod
    def usual_bytes(cls, given: Mapping[str, Any], stations: int, rows: int) -> int | None:
        """Return about the bytes of a task over so many stations of so many rows each; None where nobody knows."""
        return None

    def foreseen(self) -> dict[str, Any]:
        """Return what a task chooses of itself, from its arguments alone, and why: for plans."""
        return {}

    @classmethod
    def declared(cls) -> list[Argument]:
        """Return the arguments in their order; of a group's conditions, those on arguments that this function has."""
        entries = dataclasses.fields(cls)
        names = {entry.name for entry in entries}
        arguments = [
            Argument(entry.name, entry.default, entry.type, entry.metadata["declared"].among(names))
            for entry in entries
        ]
        return sorted(arguments, key=lambda one: (one.declared.rank, not one.required))

    @classmethod
    def read(cls: type[A], function: str, given: Mapping[str, Any]) -> A:
        """Return the arguments of a task, each checked, then all together.

        Raises
        ------
        ArgumentError
            Naming the argument and the remedy: one that is unknown, missing, out of its range, or contradicts another.
        """
        known = cls.declared()
        _check_names(function, known, given)
        asked = cls(**{one.name: one.check(given.get(one.name, one.default)) for one in known})
        asked.check_together()
        return asked

    def check_together(self) -> None:
        """Raise `ArgumentError` where arguments contradict each other; each class calls its bases'."""

    def unused(self) -> list[str]:
        """Return a warning for every argument that was given (differs from its default) and is not used."""
        warnings = []
        for one in self.declared():
            failing = [condition.failing(self) for condition in one.declared.used_when if not condition.holds(self)]
            if failing and getattr(self, one.name) != one.default:
                why = f": {one.declared.why}" if one.declared.why else ""
                warnings.append(f"{one.name} has no effect {' and '.join(failing)}{why}")
        return warnings


def arguments_of(function: Callable[..., Any]) -> type[Arguments]:
    """Return the class of arguments of ``function(federation, asked)``.

    Raises
    ------
    TypeError
        If there is none, or the class is no dataclass of its own, so that its fields would be those of one base only.
    """
    parameters = list(inspect.signature(function).parameters)
    annotated = typing.get_type_hints(function).get(parameters[-1])
    if len(parameters) != 2 or not (isinstance(annotated, type) and issubclass(annotated, Arguments)):
        raise TypeError(f"{function.__name__} must take the federation and its class of arguments, and nothing else")
    if "__dataclass_fields__" not in vars(annotated):
        raise TypeError(
            f"{annotated.__name__} must be a dataclass: write @dataclass(frozen=True, kw_only=True) above it"
        )
    return annotated


def _check_names(function: str, known: Sequence[Argument], given: Mapping[str, Any]) -> None:
    """Raise `ArgumentError` naming an argument that is unknown, goes by an old name, or is missing."""
    names = [one.name for one in known]
    former = {old: one.name for one in known for old in one.declared.formerly}
    for name in given:
        if name in former:
            raise ArgumentError(
                f"{function} has no argument '{name}': it is now called '{former[name]}'; give {former[name]}"
            )
        if name not in names:
            raise ArgumentError(
                f"{function} has no argument '{name[:60]}'{nearest(name, names)}; it takes: {', '.join(names)}"
            )
    missing = next((one.name for one in known if one.required and one.name not in given), None)
    if missing is not None:
        raise ArgumentError(f"{function} needs the argument '{missing}'")
