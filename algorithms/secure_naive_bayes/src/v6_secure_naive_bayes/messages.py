"""Requests and replies of every round."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any

import numpy as np

from fedbayes.dp import promise
from fedbayes.federation import Broadcast, Message, Relation
from fedbayes.federation.gate import Exact, Public, Released, Sealed, Share
from fedbayes.federation.horizontal import Columns
from fedbayes.federation.horizontal.counts import check_asked
from fedbayes.federation.messages.arrays import check_array

KINDS = ("polya", "diluted_geometric", "published", "none")
UNITS = ("record", "party", "identifier")
TABLES = ("fresh", "kept", "renewed")
OF_TABLES = Relation("add_remove", "record")
"""Whom noise in tables of vertically split records is for."""
MOST_QUERIES = 10_000  # records of one task; each takes a ciphertext a class

LAST_DAY = 2**21
"""From 1970, as `lasting` counts days: some five thousand years, which a calendar still has."""


class Noise(Message):
    """How the stations' noise shares are drawn; `model` explains the fields.

    Attributes
    ----------
    kind : str
        ``polya``, ``diluted_geometric``, ``published`` or ``none``.
    epsilon, delta : float
        Budget of the whole release (of each family of counts with ``published``).
    honest_fraction : float
        Part of the stations whose noise alone must suffice.
    unit : str
        ``record``, ``party`` or ``identifier``: what a neighbouring table has more or less.
    maximum_records : int
        Public bound of a party's records, or of those of an identifier that a station uses; 0 with ``record``.
    """

    kind: str
    epsilon: float
    delta: float
    honest_fraction: float
    unit: str
    maximum_records: int

    def relation(self, id_column: str | None) -> Relation:
        """Return whom the noise is for, as it is announced and charged."""
        unit = "row" if self.unit == "record" else self.unit
        return Relation("add_remove", unit, self.maximum_records or 1, id_column)

    @property
    def private(self) -> bool:
        """Whether the noise keeps what it claims: not as published."""
        return self.kind not in ("none", "published")

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.unit not in UNITS:
            raise ValueError("kind or unit is unknown")
        if self.kind != "none" and not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise ValueError("epsilon must be positive")
        if not 0 <= self.delta < 1 or not 0 < self.honest_fraction <= 1:
            raise ValueError("delta must be in [0, 1) and honest_fraction in (0, 1]")
        if self.maximum_records < 0 or (self.unit != "record") != (self.maximum_records > 0):
            raise ValueError("maximum_records belongs to the units party and identifier")


class Keying(Message):
    """What a station needs to derive or open its secret exponent.

    Attributes
    ----------
    modulus : str
        N, hexadecimal.
    aggregator_key : bytes
        The aggregator's public key for this computation, fresh every time.
    epoch : int
        Epoch of the membership.
    dealer : int
        The organization that dealt the exponents; 0 when they are derived without a dealer.
    sealed : Sealed or None
        The station's exponent, sealed by the dealer; None without one.
    """

    modulus: str
    aggregator_key: bytes
    epoch: int
    dealer: int = 0
    sealed: Sealed | None = None

    def __post_init__(self) -> None:
        if len(self.aggregator_key) != 32 or self.epoch < 0 or not 256 <= len(self.modulus) <= 4096:
            raise ValueError("the keying material is malformed")


class DealRequest(Message):
    """Ask a helper for a modulus whose factors it forgets, and exponents that add up to zero."""

    bits: int
    stations: tuple[int, ...]
    products: bool

    def __post_init__(self) -> None:
        if not 2048 <= self.bits <= 8192 or len(self.stations) < 2:
            raise ValueError("bits or stations are out of range")


class DealReply(Message):
    """The modulus (hexadecimal), every station's exponent sealed for it, and the aggregator's (signed, the highest byte first)."""

    modulus: Public[str]
    sealed: dict[int, Sealed]
    aggregator: Share[bytes]


class CountsRequest(Message):
    """Ask for the encrypted noisy tables of every feature by class.

    Attributes
    ----------
    columns : Columns
        Label, features and their domain.
    bins : dict
        Column -> bins of every numeric feature.
    noise : Noise
        The stations' noise.
    keying : Keying
        Of this station.
    uses : int
        u_k: the number of parties by which this station sizes its noise.
    """

    columns: Columns
    bins: dict[str, Any]
    noise: Noise
    keying: Keying
    uses: int

    def __post_init__(self) -> None:
        check_asked(self.columns, self.bins)
        if self.uses < 1:
            raise ValueError("uses must be at least 1")
        identified, unit = self.noise.unit == "identifier", self.columns.unit
        if identified != (unit.id_column is not None) or (identified and unit.rows != self.noise.maximum_records):
            raise ValueError("the noise is for another number of rows of one unit than are used")


class ConfirmRequest(Message):
    """Ask a station to derive its exponent of a new epoch and to prove it by an encrypted zero."""

    keying: Keying
    uses: int


class CipherReply(Message):
    """Ciphertexts side by side, and the public channel key that the exponent was derived with."""

    ciphertexts: Share[bytes]
    public_key: Public[bytes]

    def __post_init__(self) -> None:
        if len(self.public_key.value) != 32:
            raise ValueError("public_key must have 32 bytes")


class FeaturesRequest(Message):
    """Ask which of these columns a station holds, and with `rows` how many rows it has."""

    names: list[str]
    rows: bool = False


class FeaturesReply(Message):
    """Which of the columns asked for the station holds; its number of rows where it was asked, 0 if it holds none of them.

    `held` tells the other stations the same where no rows are asked for.
    """

    names: Public[list[str]]
    rows: Exact[int] | None = None
    held: Broadcast | None = None


class TablesRequest(Message):
    """Ask a station of vertically split records for noisy tables of its own features.

    Attributes
    ----------
    columns : Columns
        Label and this station's features.
    bins : dict
        As in `CountsRequest`.
    epsilon : float
        Budget of one table; 0 for exact tables.
    whole : float
        Budget of the whole job, over all stations.
    classes : bool
        Whether this station also releases the class counts.
    release : bool
        Whether the tables leave the station; otherwise it keeps them for later rounds of the job.
    tables : str
        ``fresh`` for this job alone, ``kept`` from an earlier job if there are any, ``renewed`` for this and later jobs.
    letters : dict of int to Broadcast
        Which columns every other station says it holds.
    """

    columns: Columns
    bins: dict[str, Any]
    epsilon: float
    classes: bool
    release: bool
    tables: str = "fresh"
    whole: float = 0.0
    letters: dict[int, Broadcast] = field(default_factory=dict)

    @property
    def promises(self) -> bool:
        """Whether the tables carry noise, of a budget that may be called private."""
        return self.epsilon > 0 and promise.holds(self.whole)

    def __post_init__(self) -> None:
        check_asked(self.columns, self.bins)
        if self.tables not in TABLES or (self.release and self.tables != "fresh"):
            raise ValueError("tables must be fresh, kept or renewed, and fresh where they are released")
        if not (math.isfinite(self.epsilon) and self.epsilon >= 0):
            raise ValueError("epsilon must be a finite number, at least 0")
        if self.epsilon == 0 and not self.release:
            raise ValueError("tables whose products are revealed need noise")
        parts = len(self.columns.features) + self.classes
        if not (math.isfinite(self.whole) and self.whole >= parts * self.epsilon * (1 - 1e-9)):
            raise ValueError("whole must be a finite number, at least what this station spends")


class TablesReply(Message):
    """Noisy class counts (classes,) and the released tables side by side, int64; None where not asked for.

    `made` is the day of the tables, counted from 1970; `reused`: they are an earlier job's, so nothing was charged now.
    """

    classes: Released[np.ndarray] | Exact[np.ndarray] | None
    tables: Released[np.ndarray] | Exact[np.ndarray] | None
    made: Public[int]
    reused: Public[bool]

    def __post_init__(self) -> None:
        for name, part in (("classes", self.classes), ("tables", self.tables)):
            if part is not None:
                check_array(name, part.value, (None,), np.int64)
        if not 0 <= self.made.value <= LAST_DAY:
            raise ValueError("the day of the tables is malformed")


class FactorsRequest(Message):
    """Ask for the encrypted count products of records that are to be classified.

    Attributes
    ----------
    keying : Keying
        Of this station.
    codes : ndarray (records, features) of int32
        The records' values of this station's features, -1 for missing.
    classes : int
        Number of classes.
    """

    keying: Keying
    codes: np.ndarray[Any, Any]
    classes: int

    def __post_init__(self) -> None:
        check_array("codes", self.codes, (None, None), np.int32)
        if not 1 <= len(self.codes) <= MOST_QUERIES or self.classes < 2:
            raise ValueError(f"there must be one to {MOST_QUERIES} records and two classes")
