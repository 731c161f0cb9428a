"""What a researcher may ask for, checked in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedbayes.federation.arguments import check_choice, check_name, check_names, check_number
from fedbayes.federation.errors import ArgumentError

from .proportional import TRANSFORMS

SOLVERS = ("private_newton", "bfgs", "admm")
TIES = ("breslow", "efron")
UPDATES = ("standard", "published")
MISSING = ("refuse", "complete")
MOST_ROUNDS = {"private_newton": 80, "bfgs": 30, "admm": 2000}


@dataclass(frozen=True, slots=True)
class FitOptions:
    """Arguments of `fit`; see there."""

    time: str
    event: str
    features: list[str]
    solver: str
    ties: str
    penalty: float
    strata: str | None
    rho: float
    gamma_update: str
    tolerance: float
    max_rounds: int
    id_column: str | None
    helper: int | str | None
    time_transform: str | None
    missing: str

    @classmethod
    def checked(cls, arguments: dict[str, Any]) -> FitOptions:
        """Return the options.

        Raises
        ------
        ArgumentError
            Naming the argument and the remedy.
        """
        solver = check_choice("solver", arguments["solver"], SOLVERS)
        limit = arguments["max_rounds"]
        options = cls(
            time=check_name("time", arguments["time"]),
            event=check_name("event", arguments["event"]),
            features=check_names("features", arguments["features"]),
            solver=solver,
            ties=check_choice("ties", arguments["ties"], TIES),
            penalty=check_number("penalty", arguments["penalty"], low=0.0, high=1e9),
            strata=check_name("strata", arguments["strata"], optional=True),
            gamma_update=check_choice("gamma_update", arguments["gamma_update"], UPDATES),
            rho=check_number("rho", arguments["rho"], above=0.0, high=1e6),
            tolerance=check_number("tolerance", arguments["tolerance"], low=1e-9, high=0.1),
            max_rounds=MOST_ROUNDS[solver]
            if limit is None
            else check_number("max_rounds", limit, low=12, high=100_000, integer=True),
            id_column=check_name("id_column", arguments["id_column"], optional=True),
            helper=arguments["helper"],
            time_transform=None
            if arguments["time_transform"] is None
            else check_choice("time_transform", arguments["time_transform"], TRANSFORMS),
            missing=check_choice("missing", arguments["missing"], MISSING),
        )
        options.check_together()
        return options

    def check_together(self) -> None:
        """Raise `ArgumentError` where arguments contradict each other."""
        if self.missing == "complete" and self.solver != "private_newton":
            raise ArgumentError(
                f"missing='complete' is for solver='private_newton': with {self.solver} a station would see which records are complete; "
                "choose that solver, or fill in or leave out the records with gaps"
            )
        outcome = [self.time, self.event, *([self.strata] if self.strata else [])]
        identifier = [self.id_column] if self.id_column else []
        twice = [name for name in self.features if name in outcome or name in identifier]
        if twice:
            raise ArgumentError(f"features: '{twice[0]}' is named for another role too; take it out")
        if len(set(outcome + identifier)) != len(outcome + identifier):
            raise ArgumentError("time, event, strata and id_column must be different columns")
