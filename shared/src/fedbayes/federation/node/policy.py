"""What the node's administrator allows: one environment variable a limit, parsed strictly, failing closed.

Every variable has the prefix ``FEDBAYES_``, because ``algorithm_env`` of a vantage6 node is one dictionary for all its images. vantage6's own ``get_env_var``
is not used: it decodes values twice, returns None for numbers and misreads lists. A variable with the prefix that is not known here
is refused, because a limit with a typing error would silently not hold; so is one whose prefix is written otherwise.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...bayes.values.encoding import composed, composed_all
from ...bayes.values.written import shortest
from ...dp.promise import budget_delta, excess
from ..errors import BudgetError, PolicyError
from ..tables.names import differs_unseen
from ..tables.node_databases import RECORD, folder_database
from .limit_kinds import AMOUNT, COUNT, DECIMAL, FLAG, LIST, MAPPING, NAME, SEPARATOR, Kind, limit

if TYPE_CHECKING:
    from ...dp.ledger import Ledger

LEDGER_FILE = "fedbayes-ledger.sqlite3"
PREFIX = "FEDBAYES_"
SHORTEST_DAYS = 1.0 / 24.0
"""Of a budget's period: in less, a budget limits nothing."""
NOT_LIMITS = frozenset({"FEDBAYES_DATA", "FEDBAYES_EMBEDDED", RECORD})


@dataclass(frozen=True, slots=True)
class Policy:
    """The limits of one node.

    Attributes
    ----------
    minimum_rows : int
        Fewest rows of a table that a function may use (1 or more).
    minimum_organizations : int
        Fewest organizations in one computation, and in one secure sum with this station.
    allowed_columns, denied_columns : tuple of str or None
        Columns that may be used (None: all), and that may not. A column that differs from one that may not by blanks, capitals or accents alone may not either.
    id_columns : tuple of str or None
        Columns by which records may be linked (None: any that is not in the schema file).
    maximum_epsilon, maximum_delta : float or None
        Most privacy loss of one release.
    allowed_functions : tuple of str or None
        Remote functions that may run here (None: all of the image).
    maximum_honest_fraction : float or None
        Largest part of the stations whose shares of noise may be counted on (None: all but one of several, as `dp.shares` says).
    allow_non_private : bool
        Whether answers without differential privacy may leave.
    allow_predictions : bool
        Whether single records of this station may be classified or predicted for the researcher.
    minimum_count : int
        Smallest count, of an answer and of its complement, that an exact answer may tell or single out.
    maximum_queries : int or None
        Most questions (exact answers, and tables of linked records or for networks with noise too) in one budget period; needs the ledger.
    maximum_refusals : int
        Most different exact questions about one column of this station that may be refused because of its values: then only those are answered that were
        before. A node with a ledger remembers (`answered.refusals`).
    ledger : str or None
        Label of the `folder` database that holds the node's ledger.
    budget_epsilon, budget_delta, budget_days : float or None
        Privacy budget of the ledger, and its period (None: for ever). A budget of epsilon alone implies one of delta (`dp.promise`).
    schema : str or None
        Name of a JSON file in the ledger's folder with the public domains of this station's columns.
    long_term_key : bool
        Whether a node with a ledger signs by a lasting key, kept beside it, and remembers its peers' keys.
    pinned_keys : dict of str to str or None
        Organization (name or id) -> fingerprint of the only lasting key that this station accepts from it.
    allow_foreign_models : bool
        Whether exact answers about models leave that no fit of this federation made.
    csv_separator, csv_decimal : str or None
        How the station's CSV file is written (`dialect.SEPARATORS`, `dialect.DECIMALS`); None: as its line of names shows.
    cohort : str or None
        Table or view of an SQL database, or file beside the ledger, that tasks read; see `databases`. Researchers' queries are never taken.
    allow_formulas : bool
        Whether exact answers may use columns that a task derives by a formula, a subset of the rows, or a recode of many values of few rows each: all can be
        aimed at single rows.
    allow_differences : bool
        Whether exact answers over other organizations than before may leave where the difference is about fewer than `minimum_organizations`
        of them, or other readings, borders and conditions that set fewer than `minimum_count` rows apart; a node with a ledger remembers (`answered`).
    """

    minimum_rows: int = limit(COUNT, 10)
    minimum_organizations: int = limit(COUNT, 3)
    allowed_columns: tuple[str, ...] | None = limit(LIST, None)
    denied_columns: tuple[str, ...] | None = limit(LIST, None)
    id_columns: tuple[str, ...] | None = limit(LIST, None)
    maximum_epsilon: float | None = limit(AMOUNT, None)
    maximum_delta: float | None = limit(AMOUNT, None)
    allowed_functions: tuple[str, ...] | None = limit(LIST, None)
    maximum_honest_fraction: float | None = limit(AMOUNT, None)
    allow_non_private: bool = limit(FLAG, True)
    allow_predictions: bool = limit(FLAG, False)
    minimum_count: int = limit(COUNT, 5)
    maximum_queries: int | None = limit(COUNT, None)
    maximum_refusals: int = limit(COUNT, 5)
    ledger: str | None = limit(NAME, None)
    budget_epsilon: float | None = limit(AMOUNT, None)
    budget_delta: float | None = limit(AMOUNT, None)
    budget_days: float | None = limit(AMOUNT, None)
    schema: str | None = limit(NAME, None)
    long_term_key: bool = limit(FLAG, True)
    pinned_keys: dict[str, str] | None = limit(MAPPING, None)
    allow_foreign_models: bool = limit(FLAG, False)
    allow_formulas: bool = limit(FLAG, False)
    allow_differences: bool = limit(FLAG, False)
    cohort: str | None = limit(NAME, None)
    csv_separator: str | None = limit(SEPARATOR, None)
    csv_decimal: str | None = limit(DECIMAL, None)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Policy:
        """Return the policy that the environment states.

        Raises
        ------
        PolicyError
            If a variable with the prefix is unknown or cannot be read; the message names the variable, not its value.
        """
        environment = os.environ if environment is None else environment
        names = {PREFIX + name.upper(): name for name in KINDS}
        values: dict[str, Any] = {}
        for variable in filter(is_meant, environment):
            if variable in NOT_LIMITS:
                continue
            if variable not in names:
                raise PolicyError(
                    f"the node's setting {variable[:60]} is unknown; ask the node administrator to correct it"
                )
            values[names[variable]] = _read(variable, KINDS[names[variable]], environment[variable])
        policy = cls(**values)
        policy._check()
        return replace(policy, budget_delta=budget_delta(policy.budget_epsilon, policy.budget_delta))

    def _check(self) -> None:
        if self.budget_days is not None and self.budget_days < SHORTEST_DAYS:
            raise PolicyError(
                f"{PREFIX}BUDGET_DAYS is less than an hour, which would forget every debit at once; ask the node administrator for a longer period, or none"
            )
        budgets = (self.budget_epsilon, self.budget_delta, self.maximum_queries)
        for name in ("pinned_keys", "schema"):
            if self.ledger is None and getattr(self, name) is not None:
                raise PolicyError(
                    f"{PREFIX}{name.upper()} needs {PREFIX}LEDGER; ask the node administrator to name its folder database"
                )
        if self.ledger is None and any(budget is not None for budget in budgets):
            raise PolicyError(
                f"the node sets a budget but no {PREFIX}LEDGER; ask the node administrator to name its folder database"
            )

    def allows(self, column: str) -> bool:
        """Return whether a column may be used."""
        missing = self.allowed_columns is not None and composed(column) not in map(composed, self.allowed_columns)
        return not (missing or self.denies(column))

    def denies(self, column: str) -> bool:
        """Return whether a column may not be used by its name, or by one that people take for the same."""
        return differs_unseen(column, self.denied_columns or ())

    def check_columns(self, columns: list[str]) -> None:
        """Raise `PolicyError` naming a column that may not be used."""
        for column in columns:
            if not self.allows(column):
                limit = "denied_columns" if self.denies(column) else "allowed_columns"
                raise PolicyError(
                    f"column '{column}' may not be used at this node ({limit}); leave it out or ask the node administrator"
                )

    def check_identifier(self, column: str) -> None:
        """Raise `PolicyError` if records may not be linked by a column: who holds all values that it may have would see which ones occur here."""
        if self.id_columns is None:
            schema = (self.schema_content() or {}).items()
            described = [
                name for name, entry in schema if isinstance(entry, dict) and {"bounds", "categories"} & set(entry)
            ]
            refused = differs_unseen(column, described)
        else:
            refused = composed(column) not in map(composed, self.id_columns)
        if refused:
            raise PolicyError(
                f"records may not be linked by column '{column}' at this node (id_columns, or its schema file, which has that column's values); "
                "name the column of identifiers, or ask the node administrator"
            )

    def check_function(self, name: str) -> None:
        """Raise `PolicyError` if the node forbids the function."""
        if self.allowed_functions is not None and name not in (
            *self.allowed_functions,
            "disclosure_settings",
            "partial_close",  # it wipes what a job has left, and tells nothing
        ):
            raise PolicyError(
                f"function '{name}' is not allowed at this node (allowed_functions); ask the node administrator"
            )

    def check_release(self, epsilon: float, delta: float) -> None:
        """Raise `PolicyError` if one release may not cost that much at this node, or so much that it counts as one without noise."""
        beyond = excess(epsilon, delta)
        if beyond is not None and not self.allow_non_private:
            raise PolicyError(f"this node releases differentially private answers only: {beyond}")
        for name, cost, most in (
            ("epsilon", epsilon, self.maximum_epsilon),
            ("delta", delta, self.maximum_delta),
        ):
            if most is not None and cost > most:
                raise PolicyError(
                    f"{name} is above what this node allows for one release (maximum_{name}); ask for at most {shortest(most)}"
                )

    def check_honest_fraction(self, honest_fraction: float) -> None:
        """Raise `PolicyError` if a larger part of the stations is counted on than this node allows."""
        if self.maximum_honest_fraction is not None and honest_fraction > self.maximum_honest_fraction:
            raise PolicyError(
                "honest_fraction is above what this node allows (maximum_honest_fraction); give a smaller one, or noise of every station's own"
            )

    def folder(self) -> Path | None:
        """Return the folder database beside which the node keeps its ledger, keys and peers; None if it names none."""
        return None if self.ledger is None else folder_database(self.ledger)

    def schema_content(self) -> dict[str, Any] | None:
        """Return what the administrator's schema file holds, or None without one.

        Raises
        ------
        PolicyError
            If it cannot be read.
        """
        folder = self.folder()
        if self.schema is None or folder is None:
            return None
        try:
            content = json.loads((folder / Path(self.schema).name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise PolicyError("the node's schema file cannot be read; ask the node administrator") from None
        if not isinstance(content, dict):
            raise PolicyError("the node's schema file is not an object of columns; ask the node administrator")
        return dict(composed_all(content))

    def open_ledger(self) -> Ledger | None:
        """Return the node's ledger with its budgets, or None."""
        folder = self.folder()
        if folder is None:
            return None
        from ...dp.ledger import Ledger

        return Ledger(
            folder / LEDGER_FILE,
            epsilon=self.budget_epsilon,
            delta=self.budget_delta,
            days=self.budget_days,
            queries=self.maximum_queries,
        )

    def check_budget(self, epsilon: float, delta: float, queries: int) -> None:
        """Raise `BudgetError` if the ledger has less than this left; nothing is debited."""
        ledger = self.open_ledger()
        if ledger is None:
            return
        from ...dp.ledger import LedgerExhausted

        try:
            refusal = ledger.affords(epsilon, delta, queries)
        except LedgerExhausted as error:
            refusal = str(error)
        if refusal is not None:
            raise BudgetError(refusal)

    def to_dict(self) -> dict[str, Any]:
        """Return every limit as JSON; fingerprints and column names are limits too, so they are listed."""
        return {
            field.name: list(value) if isinstance(value := getattr(self, field.name), tuple) else value
            for field in fields(self)
        }


def is_meant(variable: str) -> bool:
    """Return whether a variable says that it is a limit: it has the prefix, in capitals or not, with its underscore or without."""
    return variable[:1] in "Ff_" and variable.upper().replace("_", "").startswith(PREFIX.rstrip("_"))


def _read(variable: str, kind: Kind, text: str) -> Any:
    try:
        return kind.read(text.strip())
    except (ValueError, SyntaxError, TypeError):
        raise PolicyError(
            f"the node's setting {variable} cannot be read; ask the node administrator to correct it"
        ) from None


KINDS: dict[str, Kind] = {entry.name: entry.metadata["kind"] for entry in fields(Policy)}
"""Limit -> its kind."""
