"""A data station's own part of what is to be opened: read, encode, subtract the mask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...bayes.evaluation.coarse import seed_of
from ...bayes.values.frames import with_columns
from ...mpc import alignment, factors
from ...typing import Array, Floats, Integers
from ..errors import ArgumentError, MessageError, PolicyError, ThresholdError
from ..guards import announced
from ..guards.choosing import check_weights
from ..guards.once import asked_once
from ..questions.conditions import check_condition, check_sides, holds
from ..questions.factor_info import Condition, FactorInfo, Wanted, factor_name
from ..station import Station
from .coding import Codes, check_bins_hold, indicators, joint_codes, resolve
from .folds import MOST_FOLDS, drawn_secret, fold_of
from .identifiers import matched_texts
from .messages import Setup
from .owner import check_unhidden, note_code
from .states import ColumnStates
from .values import check_spread, counted, fixed_point, is_code, is_short, product_of
from .workspace import DTYPES, PURPOSE, Workspace, factor

MOST_OPENING_BYTES = 1_000_000_000  # of one station in one round
MOST_OPTIONAL_CELLS = 1_000_000
"""Joint states times rows of all that is optional at a station; beyond it is left out."""
SHORT = "codes"
"""Kind of the factor of numbers, in the place of `values`, where these are few different ones with few digits."""
COUNTED = "counted"
"""Kind of the factor that goes with `values`: 1 where a record counts in the product."""
FOLDS = "~folds:"
"""A column "~folds:10" exists at the first station, but of a union: the record's fold for cross-validation, 0 to 9, random for each job (`folds`)."""


def fold_domain(folds: int) -> dict[str, Any]:
    """Return the column that tells which of so many folds a record is in, with its domain; none of no folds."""
    return {f"{FOLDS}{folds}": {"categories": list(range(folds))}} if folds else {}


@dataclass(frozen=True)
class OwnPart:
    """What one station opens in one stage.

    Attributes
    ----------
    infos : list of FactorInfo
        The factors, as all parties will know them.
    values : list of ndarray (rows, width)
        Their values in the ring, in the station's order or the common one.
    described : dict
        States of the columns.
    scales : dict of str to list of int
        For `values`: the power of two by which the column was divided, its fraction bits, and 1 if products of it are counts, 2 if
        moreover no value was rounded.
    products : dict of str to ndarray (rows,)
        The numbers of these factors, in the station's order.
    """

    infos: list[FactorInfo]
    values: list[Array]
    described: dict[str, ColumnStates]
    scales: dict[str, list[int]]
    products: dict[str, Floats] = field(default_factory=dict)


class Encoder:
    """Turns the station's table into ring matrices, in its own row order.

    Parameters
    ----------
    station : Station
        Its table is read once.
    setup : Setup
        Identifier, domains, bins.
    wanted : sequence of Wanted
        Their columns, as far as the station has them, are read.
    """

    def __init__(self, station: Station, setup: Setup, wanted: Sequence[Wanted]) -> None:
        self.own, self.setup, self._station = station.organization, setup, station
        if not (setup.covered if wanted else setup.private):  # values may be refused
            announced.check_exact(station)
        self._minimum = 0 if setup.covered else station.policy.minimum_count
        present = set(station.columns)
        asked = dict.fromkeys(column for want in wanted for column in want.columns)
        if setup.id_column in asked:
            raise PolicyError("the identifier column may not be asked about; choose another column")
        made = [name for name in asked if name.startswith(FOLDS) and self.own == setup.stations[0] and not setup.union]
        self.columns = [column for column in asked if column in present or column in made]
        keys = (setup.id_column,) if setup.id_column else ()
        wanted_here = [*keys, *(c for c in self.columns if c not in made)]
        self._frame = station.data(columns=wanted_here, domain=setup.domain, identifiers=keys)
        for name in made:
            self._frame = with_columns(self._frame, {name: self._folds(name)})
        self._states: dict[str, tuple[ColumnStates, Codes]] = {}

    @property
    def rows(self) -> int:
        """Rows of the station's table."""
        return len(self._frame)

    def _folds(self, name: str) -> list[int]:
        """Return the fold of every record: random, of a secret that stays here; one number of folds a job.

        Who could compute a fold of an identifier, or had folds of one record each, would find a person's values in tables by fold.

        Raises
        ------
        MessageError
            If the number in the name is none, or another one than before.
        ThresholdError
            If a fold would have fewer records than the node demands.
        """
        number = name[len(FOLDS) :]
        if not (
            number.isascii()
            and number.isdecimal()
            and len(number) <= len(str(MOST_FOLDS))
            and 2 <= int(number) <= MOST_FOLDS
        ):
            raise MessageError("the number of folds in a request is malformed; the job stops")
        folds = int(number)
        asked_once(
            self._station, "number of folds", folds, "records are cut into folds once in a job; start another job"
        )
        if self.rows // folds < max(self._station.policy.minimum_rows, 2):
            raise ThresholdError("folds: a fold has fewer records than this node demands; use fewer folds")
        return [int(fold) for fold in fold_of(drawn_secret(self._station), self.rows, folds)]

    def identifiers(self) -> list[str]:
        """Return what the rows are matched by: see `identifiers`; their numbers where the files are aligned.

        Raises
        ------
        DataProblem
            When some are missing or repeated (unless answers are private); the text has numbers of rows and no identifier.
        """
        column = self.setup.id_column
        if not column:
            self._station.check_aligned()
            return [str(row) for row in range(self.rows)]
        return matched_texts(self._station.identifiers(column), column, self.setup.private)

    def seed(self) -> int:
        """Return this station's part of the seed of what is added to exact scores: a digest of its identifiers and of its rows' states."""
        codes = [self._resolved(column)[1] for column in self.columns]
        return seed_of([np.array(self.identifiers()), *codes], self._station.secret_for("exact scores"))

    def part(self, wanted: Sequence[Wanted], stage: int, bits: int) -> OwnPart:
        """Encode everything wanted that concerns this station's columns."""
        part = OwnPart([], [], {}, {})
        options = self._options_are_small(wanted)
        for want in wanted:
            own = [column for column in want.columns if column in self.columns]
            if want.optional and not (options and own == want.columns):
                continue
            if own:
                self._add(part, want, own, stage, bits)
        size = sum(values.shape[1] for values in part.values) * self.rows * (bits // 8)
        if size > MOST_OPENING_BYTES:
            raise ArgumentError("too many states to open at once; use fewer columns or coarser bins")
        return part

    def _options_are_small(self, wanted: Sequence[Wanted]) -> bool:
        groups = [want.columns for want in wanted if want.optional and set(want.columns) <= set(self.columns)]
        states = sum(math.prod(self._resolved(column)[0].cardinality for column in group) for group in groups)
        return states * self.rows <= MOST_OPTIONAL_CELLS

    def _add(self, part: OwnPart, want: Wanted, own: list[str], stage: int, bits: int) -> None:
        owner = None if want.kind == "states" else self.own
        product = self._product(own) if want.kind == "values" else np.zeros(0)
        short = want.kind == "values" and is_short(product)
        name = factor_name(SHORT if short else want.kind, own, owner, want.conditions)
        if any(info.name == name for info in part.infos):
            return
        complete = want.kind == "states"
        if want.kind == "states":
            cardinalities = self._cardinalities(own, want.full)
            values = self._indicators(own, cardinalities, bits)
            part.described.update({column: self._states[column][0] for column in own})
        elif want.kind == "values":
            values = self._values(part, name, own, product, len(want.columns) - len(own) + 1)
            part.products[name] = product
        else:
            values = self._condition(want.conditions, own, bits)
        if want.kind == "states" and math.prod(cardinalities) == 1:
            complete = False  # a constant travels as a column of ones: nothing follows from no column
        if want.kind == "values":
            guard = factor_name(COUNTED, own, owner)
            part.infos.append(FactorInfo(guard, own, [self.own], 1, False, bits, stage, [self.own]))
            part.values.append(values[:, 1:])
            values = np.ascontiguousarray(values[:, :1])
        part.infos.append(FactorInfo(name, own, [self.own], values.shape[1], complete, bits, stage, [self.own]))
        part.values.append(values)

    def _product(self, own: list[str]) -> Floats:
        """Return the product of own columns, (rows,), if it may be multiplied with others."""
        if not self.setup.covered:
            check_weights(self._station, own)
            self._station.history.entered.note_product(own, self.setup.domain)
        product = product_of([self._frame[column] for column in own], own)
        check_spread(product, self._minimum)
        return product

    def _values(self, part: OwnPart, name: str, own: list[str], product: Floats, factors: int) -> Array:
        """Return two columns: the product of own columns in fixed point, and where a record counts in it."""
        values, scale, fraction, whole = fixed_point(product, factors)
        part.scales[name] = [scale, fraction, int(is_code(product)) * (1 + int(whole))]
        if part.scales[name][-1] and not self.setup.covered:
            note_code(self._station, own, self.setup.domain)
        return np.column_stack([values, counted(product)])

    def states(self, column: str) -> ColumnStates:
        """Return the states of a column of this station."""
        return self._resolved(column)[0]

    def _resolved(self, column: str) -> tuple[ColumnStates, Codes]:
        """Return the states of a column of this station, and each row's."""
        if column not in self._states:
            setup, entry = self.setup, self.setup.domain.get(column)
            resolved = resolve(
                column, self._frame[column], entry, setup.bins, setup.missing_state, setup.union, setup.private
            )
            if not setup.covered:
                self._station.history.note_bins(column, setup.domain, resolved[0].cuts or (), resolved[0].public)
            if setup.guarded or setup.private:
                check_bins_hold(*resolved, self._minimum, self._station.cut)
            if setup.unhidden and not setup.covered:
                check_unhidden(self._station, *resolved)
            self._states[column] = resolved
        return self._states[column]

    def _cardinalities(self, own: Sequence[str], full: Sequence[str]) -> list[int]:
        """Return the states of each column that are opened: the last one, "missing", is left out where no common record is."""
        resolved = [self._resolved(column)[0] for column in own]
        return [states.cardinality - int(states.has_missing and states.name in full) for states in resolved]

    def _indicators(self, own: list[str], cardinalities: Sequence[int], bits: int) -> Array:
        states = math.prod(cardinalities)
        if states * self.rows * (bits // 8) > MOST_OPENING_BYTES:
            raise ArgumentError("too many states to open at once; use fewer columns or coarser bins")
        column_codes = [self._states[column][1] for column in own]
        codes = joint_codes(column_codes, cardinalities)
        for code, cardinality in zip(column_codes, cardinalities, strict=True):
            codes[code >= cardinality] = states
        return indicators(codes, max(states - 1, 1), DTYPES[bits])

    def _condition(self, conditions: Sequence[Condition], own: list[str], bits: int) -> Array:
        holding = np.ones(self.rows, dtype=np.bool_)
        own_tests = [(test.column, test.op, test.value) for test in conditions if test.column in own]
        if not self.setup.covered:
            self._station.history.check_remembers(own_tests)
        for position, condition in enumerate(conditions):
            if condition.column in own:
                check_condition({"column": condition.column, "op": condition.op, "value": condition.value}, position)
                values = self._frame[condition.column]
                if not self.setup.covered:
                    _refuse_identifier(condition, values)
                holding &= holds(values, condition, self.setup.private)
        check_sides(holding, self._minimum)
        if not self.setup.covered:
            self._station.history.check_conditions(own_tests, self.setup.domain)
        return holding[:, None].astype(DTYPES[bits])


def _refuse_identifier(condition: Condition, values: Any) -> None:
    """Refuse an exact match on a column that tells most rows apart."""
    if condition.op not in ("==", "!=", "in") or getattr(values.dtype, "kind", "O") == "f":
        return
    if int(values.nunique()) * 2 > len(values):
        raise PolicyError(
            f"column '{condition.column}' tells most records apart, so it may not be matched exactly; use a range or another column"
        )


def place_rows(values: Array, order: Integers, size: int | None) -> Array:
    """Return rows in order: row k is ``order[k]``, or, with the `size` of a union, row k goes to place ``order[k]``."""
    return np.take(values.T, order, axis=-1).T if size is None else alignment.scatter(values, order, size)


def open_part(workspace: Workspace, part: OwnPart, order: Integers, size: int | None) -> list[Array]:
    """Return the openings of a station's part: its rows put in order, minus the masks.

    With `size` the rows are scattered over the places `order` of a union; else row k is the station's row ``order[k]``.

    **Reveals** nothing to whoever lacks the key of this station and the helper: uniform over the ring.
    """
    key = workspace.key(workspace.setup.helper, PURPOSE)
    openings = []
    for info, values in zip(part.infos, part.values, strict=True):
        openings.append(factors.open_values(place_rows(values, order, size), key, factor(info)))
    return openings
