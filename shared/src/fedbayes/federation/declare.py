"""Arguments of a central function, each declared once.

A class of arguments is a frozen dataclass, as whatever derives from `Arguments` is; its fields are made by :func:`argument`, each of a kind of
:mod:`fedbayes.federation.kinds`::

    class Fit(Parties):
        column: str = argument(COLUMN, "A numeric column.")
        bins: int = argument(whole(1, 100), "Bins of the column.", 20)

    @central
    def fit(federation: Federation, asked: Fit) -> dict[str, Any]: ...

The researcher calls ``fit(column="age")``. `central` checks the arguments by their declarations and hands them to the function as one object.
:mod:`fedbayes.federation.signatures` makes help and a description in JSON from the same fields, `scripts/store` pages and store files. Arguments that several
functions share are in classes to inherit from; a field that is declared again replaces the inherited one.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from .errors import ArgumentError
from .kinds import Kind
from .messages.frozen import dataclass_transform
from .misnamed import meant

REQUIRED = dataclasses.MISSING
TARGET, OWN, UNIT, PARTIES = range(4)
"""Order of arguments in help and pages: what is analysed, the function's own arguments, the unit of privacy, who takes part."""


@dataclass(frozen=True, slots=True)
class When:
    """A condition on another argument, under which an argument is used.

    Attributes
    ----------
    argument : str
        The other argument.
    values : tuple
        It must have one of these values; with no values, it must be given.
    holds_if : bool
        False negates the condition: it must have none of the values, or be left out.
    """

    argument: str
    values: tuple[Any, ...] = ()
    holds_if: bool = True

    def holds(self, asked: Arguments) -> bool:
        """Return whether the condition holds for checked arguments."""
        value = getattr(asked, self.argument)
        return (value in self.values if self.values else value is not None) is self.holds_if

    def failing(self, asked: Arguments) -> str:
        """Return in words why the condition does not hold for checked arguments, such as ``without epsilon``."""
        if self.values and not self.holds_if:
            return When(self.argument, (getattr(asked, self.argument),), False).words(False)
        return self.words(False)

    def words(self, holds: bool) -> str:
        """Return the condition (`holds`) or its negation in words, such as ``with noise='local'`` or ``without epsilon``."""
        values = "=" + " or ".join(map(repr, self.values)) if self.values else ""
        return f"{'with' if self.holds_if is holds else 'without'} {self.argument}{values}"


def when(argument: str, *values: Any) -> When:
    """Return the condition that an argument is given or, with values, that it has one of them."""
    return When(argument, values)


def unless(argument: str, *values: Any) -> When:
    """Return the condition that an argument is left out or, with values, that it has none of them."""
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
        Its type.
    words : str
        Its meaning, in one or two sentences.
    default : object, optional
        An argument without a default is required. With the default None it may be left out.
    used_when : When or tuple of When
        Conditions under which it has an effect. If one fails, a caller who gives the argument is warned.
    why : str
        Reason, added to that warning.
    unit : str
        Of a number, such as ``bits``.
    formerly : tuple of str
        Earlier names, which are refused with today's.
    rank : int
        Its place among the arguments of a function: `TARGET`, `OWN`, `UNIT` or `PARTIES`.
    optional : bool
        Whether None may be given although the default is another value.
    """
    conditions = (used_when,) if isinstance(used_when, When) else used_when
    declared = Declared(kind, words, conditions, why, unit, formerly, rank, optional)
    return field(default=default, metadata={"declared": declared})


@dataclass(frozen=True, slots=True)
class Declared:
    """The declaration that :func:`argument` puts into a field: all but its name and default."""

    kind: Kind
    words: str
    used_when: tuple[When, ...]
    why: str
    unit: str
    formerly: tuple[str, ...]
    rank: int
    optional: bool

    def among(self, names: Collection[str]) -> Declared:
        """Return the declaration without conditions on arguments other than these."""
        return dataclasses.replace(self, used_when=tuple(one for one in self.used_when if one.argument in names))


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a function: its name, its default (`REQUIRED` if there is none), its annotation and its declaration."""

    name: str
    default: Any
    annotation: Any
    declared: Declared

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED

    def check(self, value: Any) -> Any:
        """Return the checked value. None passes where it is the default or `optional`: the argument was left out."""
        absent = value is None and (self.default is None or self.declared.optional)
        return None if absent else self.declared.kind.check(self.name, value)


A = TypeVar("A", bound="Arguments")


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True)
class Arguments:
    """Base of every class of arguments, which makes a frozen dataclass of it.

    Attributes
    ----------
    reads_table : bool
        Whether the function reads the stations' tables.
    rounds_usually : int
        Rounds that a task usually takes, for progress and plans; 0 if this is not known.
    releases_tables : bool
        Whether a noisy table of every feature by class is released; plans then show the noise of a cell.
    """

    reads_table: ClassVar[bool] = True
    rounds_usually: ClassVar[int] = 0
    releases_tables: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=True)(cls)

    @classmethod
    def usual_rounds(cls, given: Mapping[str, Any]) -> int:
        """Return the rounds that a task with these arguments, which are not checked yet, usually takes."""
        return cls.rounds_usually

    @classmethod
    def usual_bytes(cls, given: Mapping[str, Any], stations: int, rows: int) -> int | None:
        """Return roughly the bytes of a task over this many stations with this many rows each; None if this is not known."""
        return None

    def foreseen(self) -> dict[str, Any]:
        """Return settings that the task derives from its arguments alone, with the reasons, for plans."""
        return {}

    @classmethod
    def declared(cls) -> list[Argument]:
        """Return the arguments in order, without inherited conditions on arguments that this function lacks."""
        entries = dataclasses.fields(cls)
        names = {entry.name for entry in entries}
        arguments = [
            Argument(entry.name, entry.default, entry.type, entry.metadata["declared"].among(names))
            for entry in entries
        ]
        return sorted(arguments, key=lambda one: (one.declared.rank, not one.required))

    @classmethod
    def read(cls: type[A], function: str, given: Mapping[str, Any]) -> A:
        """Return a task's arguments: the model first, then one by one, then together.

        Raises
        ------
        ArgumentError
            If an argument is unknown, missing, out of range, or contradicts another; the message names it and the remedy.
        """
        declared = cls.declared()
        if isinstance(model := given.get("model"), Mapping):
            cls.check_model(function, model)
        _check_names(cls.__module__.partition(".")[0], function, declared, given)
        asked = cls(**{one.name: one.check(given.get(one.name, one.default)) for one in declared})
        asked.check_together()
        return asked

    @classmethod
    def check_model(cls, function: str, model: Mapping[str, Any]) -> None:
        """Raise `ArgumentError` if a model is none of those that `function` takes: with another one, no other argument matters."""

    def check_together(self) -> None:
        """Raise `ArgumentError` if arguments contradict each other. An override calls the one of its base."""

    def unused(self) -> list[str]:
        """Return a warning for every argument that was given (differs from its default) but has no effect."""
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
        If there is none.
    """
    parameters = list(inspect.signature(function).parameters)
    annotated = typing.get_type_hints(function).get(parameters[-1])
    if len(parameters) != 2 or not (isinstance(annotated, type) and issubclass(annotated, Arguments)):
        raise TypeError(f"{function.__name__} must take the federation and its class of arguments, and nothing else")
    return annotated


def _check_names(package: str, function: str, declared: Sequence[Argument], given: Mapping[str, Any]) -> None:
    """Raise `ArgumentError` naming an argument that is unknown, goes by an old name, or is missing."""
    names = [one.name for one in declared]
    former = {old: one.name for one in declared for old in one.declared.formerly}
    for name in given:
        if name in former:
            raise ArgumentError(
                f"{function} has no argument '{name}': it is now called '{former[name]}'; give {former[name]}"
            )
        if name not in names:
            raise ArgumentError(
                f"{function} has no argument '{name[:60]}'{meant(name, names, package)}; it takes: {', '.join(names)}"
            )
    missing = next((one for one in declared if one.required and one.name not in given), None)
    if missing is not None:
        raise ArgumentError(f"{function} needs the argument '{missing.name}': give {missing.declared.kind.allowed}")
