"""``fedbayes plan`` on the terminal."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import Any

from ..formats import counted, number, size
from ..inputs.files import print_json
from ..plans.planning import plan
from ..plans.setting import Setting
from ..running.local import Job
from . import options
from .listing import say
from .run_options import Options


def execute(chosen: Options, setting: Setting, policy: list[str] | None, as_json: bool) -> None:
    """Print what a task would ask and cost; no station is contacted.

    Raises
    ------
    PolicyError
        If a limit that was given would refuse it, after the plan is printed.
    """
    limits = {name: value for entry in options.read_policies(policy or []).values() for name, value in entry.items()}
    planned = plan(Job(chosen.algorithm, chosen.function, chosen.arguments()), replace(setting, limits=limits))
    if as_json:
        print_json(planned)
    else:
        _print(planned)
    if planned["refusals"]:
        from ...federation.errors import PolicyError

        raise PolicyError(f"a node with these limits would refuse it: {'; '.join(planned['refusals'])}")


MOST_COEFFICIENTS = 8  # on the terminal; --json has all
MEASURED = "--rows N --rehearse 3 measures it on made-up records"


def _print(planned: dict[str, Any]) -> None:
    debit = planned["debit"]
    shared = planned["shared_epsilon"]
    epsilon = f"its part by columns of epsilon {shared:g}" if shared else f"epsilon {debit['epsilon']:g}"
    more = ", or more if the task asks more as it goes" if debit["queries"] else ""
    cost = f"{epsilon}, delta {debit['delta']:g}, queries {debit['queries']}{more}"
    rows = [
        ("stations", str(planned["stations"])),
        (
            "rounds",
            f"about {planned['rounds']}, {planned['seconds']:g} s on nodes"
            if planned["rounds"]
            else "not known before",
        ),
        ("bytes", f"about {size(planned['bytes'])} in all" if planned["bytes"] else f"not known before; {MEASURED}"),
        ("columns", ", ".join(planned["columns"]) or "the stations say which"),
        ("debit at each station", cost),
        ("differentially private", number(planned["private"])),
        ("predicts single records", number(planned["single_records"])),
        *_noise_rows(planned["noise"]),
        *_expected_rows(planned["expected"]),
        *_rehearsal_rows(planned),
        *(
            (f"chosen {name}" if name != "from" else "chosen from", _text(value))
            for name, value in planned["chosen"].items()
        ),
    ]
    for name, text in rows:
        say(f"{name + ':':<26}{text}")
    for warning in planned["warnings"]:
        say(f"warning: {warning}")


def _text(value: Any) -> str:
    return ", ".join(f"{name} {one}" for name, one in value.items()) if isinstance(value, dict) else str(value)


def _noise_rows(noise: dict[str, Any] | None) -> list[tuple[str, str]]:
    if noise is None:
        return []
    rows = [
        (
            "noise in a cell",
            f"about {noise['deviation']:.3g} (standard deviation), {noise['cells']} cells in the largest table",
        )
    ]
    if noise["mean_count"] is not None:
        comparison = (
            "the noise dominates: raise epsilon, or take fewer bins or features"
            if noise["dominates"]
            else "more than the noise"
        )
        rows.append(("mean count of a cell", f"{noise['mean_count']:.3g}: {comparison}"))
    return rows


def _expected_rows(expected: dict[str, Any] | None) -> list[tuple[str, str]]:
    if expected is None:
        return []
    asked, exact = expected["asked"], expected["without_noise"]
    return [
        ("expected accuracy", f"about {asked:.2f}, {exact:.2f} without noise, on made-up records"),
        *((f"  with {words}", f"{value:.2f}") for words, value in expected["instead"].items()),
        (
            "  made up",
            f"classes alike, the log-odds of every feature of deviation {expected['signal']:g} (--signal): what the noise takes, "
            "not how well your data can be told apart",
        ),
    ]


def _rehearsal_rows(planned: dict[str, Any]) -> list[tuple[str, str]]:
    rehearsal = planned["rehearsal"]
    if rehearsal is None:
        unknown = planned["private"] and planned["function"] == "fit" and planned["noise"] is None
        return [("cost of the noise", f"not known before; {MEASURED}")] if unknown else []
    asked, instead = rehearsal["asked"], rehearsal["instead"]
    runs = counted(rehearsal["runs"], "run") + " on made-up records"
    warned = [("  warning there", text) for text in rehearsal["warnings"]]
    if rehearsal["measure"] is None:
        return [("rehearsed", runs), *warned]
    if rehearsal["measure"] == "accuracy":
        lines = [
            ("  accuracy", f"about {asked:.2f}"),
            *((f"  with {name}", f"{value:.2f}") for name, value in instead.items()),
        ]
    else:
        shown = list(asked.items())[:MOST_COEFFICIENTS]
        lines = [
            ("  standard error", ", ".join(f"{name} {error:.2g}" for name, error in shown)),
            *((f"  with {name}", f"{_ratio(value, asked):.2g} times as large") for name, value in instead.items()),
        ]
    return [("rehearsed", runs), *lines, *warned]


def _ratio(errors: dict[str, float], asked: dict[str, float]) -> float:
    """Return the median ratio of the standard errors that both have."""
    return median(errors[name] / asked[name] for name in errors.keys() & asked.keys())
