"""What a fit over horizontally split records asks beside a vertical one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from fedbayes.federation.arguments import check_number
from fedbayes.federation.declare import TARGET, Arguments, Kind, argument, choice, when
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.vertical.declared import DOMAIN

SPLITS = ("vertical", "horizontal")
MOST_TIMES = 1000
HOW_TO_GIVE = (
    'give {"feature": {"bounds": [low, high]} or {"categories": [...]}, ...}, from public knowledge, or a dictionary'
)


def checked_times(times: Any, least: int) -> list[float] | None:
    """Return increasing times, or None; raise `ArgumentError` otherwise."""
    if times is None:
        return None
    if not isinstance(times, list | tuple) or len(times) < least or len(times) > MOST_TIMES:
        raise ArgumentError(f"times must be a list of {least} to {MOST_TIMES} increasing times")
    found = [float(check_number(f"times[{place}]", value, low=0.0)) for place, value in enumerate(times)]
    if any(later <= earlier for earlier, later in pairwise(found)):
        raise ArgumentError("times must increase")
    return found


def times(least: int) -> Kind:
    """Return a list of so many times or more."""
    return Kind(
        "float_list", f"a list of {least} or more increasing numbers", lambda _, value: checked_times(value, least)
    )


@dataclass(frozen=True, kw_only=True)
class Split(Arguments):
    """How the records are split, and what is public where stations hold whole records."""

    split: str = argument(
        choice(SPLITS),
        "Stations hold columns of the same records, or whole records of different people.",
        "vertical",
    )
    times: list[float] | None = argument(
        times(2),
        "Public grid: a record's time is rounded up to it, and who is observed beyond its end is censored there. Neighbouring times are "
        "united until enough events lie between them. Needed with split='horizontal'.",
        None,
        used_when=when("split", "horizontal"),
        rank=TARGET,
    )
    domain: dict[str, Any] | None = argument(
        DOMAIN,
        "Public domains of the features: numbers outside the bounds are moved to the nearer one, other categories are gaps. Needed with "
        "split='horizontal', and used with it alone.",
        None,
        rank=TARGET,
    )

    @property
    def by_rows(self) -> bool:
        """Whether stations hold whole records."""
        return self.split == "horizontal"

    def check_together(self) -> None:
        """Refuse whole records without a public grid or public domains."""
        super().check_together()
        if self.by_rows and self.times is None:
            raise ArgumentError(
                "times is needed with split='horizontal': give a public grid, such as the ends of months or years, to which times are rounded up"
            )
        if self.by_rows and self.domain is None:
            raise ArgumentError(f"domain is needed with split='horizontal': {HOW_TO_GIVE}")
