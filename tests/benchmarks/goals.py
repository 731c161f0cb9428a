"""The goals of cost and accuracy: what was measured (docs/benchmarks.json), and its table, docs/benchmarks.md."""

from __future__ import annotations

import json
import os
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
NUMBERS, PAGE = DOCS / "benchmarks.json", DOCS / "benchmarks.md"
FIRST, LAST = "<!-- goals: written by tests/benchmarks/goals.py -->", "<!-- end of goals -->"


@dataclass(frozen=True)
class Goal:
    """One row: what is measured, the bound, and where it comes from.

    Attributes
    ----------
    what : str
        The work.
    limit : float
        The bound: the largest value, or with `least` the smallest.
    unit : str
        Of the value; "" for ratios and shares.
    command : str
        What measures it, or the page that tells how.
    least : bool
        Whether the value has to be at least `limit`.
    """

    what: str
    limit: float
    unit: str
    command: str
    least: bool = False

    def met(self, value: float) -> bool:
        """Return whether a value keeps to the bound; what is shown is what is judged."""
        return value >= self.limit if self.least else value <= self.limit

    def told(self, value: float) -> str:
        """Return a value with its unit."""
        return f"{value:.3g}" + (f" {self.unit}" if self.unit else "")


RUN = '`make benchmark ARGS="-k {}"`'
FRONTIER = RUN.format("frontier")
NETWORKS = "[vertibayes](../algorithms/vertibayes/README.md), [status](status.md)"
GOALS = {
    "matching": Goal(
        "identifiers of 8 stations x 100,000 matched and counted, with a helper: processor time over two cores",
        15,
        "s",
        RUN.format("hundred_thousand"),
    ),
    "matching_alone": Goal("the same without a helper", 15, "s", RUN.format("hundred_thousand")),
    "product": Goal("scalar product of 100,000 rows, beside mpyc with 3 parties", 1, "x", RUN.format("mpyc")),
    "hundred": Goal(
        "private fit over 100 stations, embedded: processor time over two cores", 3, "s", RUN.format("hundred_stations")
    ),
    "parquet": Goal(
        "tables of 20 million parquet rows x 4 columns, processor time beside duckdb's group by",
        1.5,
        "x",
        RUN.format("duckdb"),
    ),
    "parquet_memory": Goal("the same, memory", 2, "GiB", RUN.format("duckdb")),
    "cox_efron": Goal("vertical Cox, Efron, 3 parties, 1,000 x 5, 50 event times", 20, "s", RUN.format("vertical_cox")),
    "cox_efron_bytes": Goal("the same, sent", 40, "MB", RUN.format("vertical_cox")),
    "cox": Goal("vertical Cox, Breslow, 3 parties, 10,000 x 6", 20, "s", RUN.format("vertical_cox")),
    "cox_bytes": Goal("the same, sent", 150, "MB", RUN.format("vertical_cox")),
    "k2": Goal("K2 on Hailfinder (56 nodes), pooled score", 60, "s", NETWORKS),
    "aim_alarm": Goal("private network of Alarm by rows, error beside AIM at one holder", 1.2, "x", NETWORKS),
    "aim_worst": Goal("the same, worst of four sets, also by columns with neighbors='zero_out'", 1.2, "x", NETWORKS),
    "aim_same": Goal("by columns with replace_one, the default, beside AIM with replace_one too", 1.2, "x", NETWORKS),
    "aim_replaced": Goal("the same beside AIM with its own, weaker promise", 1.2, "x", NETWORKS),
    **{
        f"{score} {epsilon:g} {stations}": Goal(
            f"Adult, {name} at epsilon {epsilon:g}, {stations:,} station{'s' * (stations > 1)}",
            least,
            "",
            FRONTIER,
            True,
        )
        for epsilon, bounds in {0.1: (0.833, 0.89), 0.3: (0.847, 0.905), 1.0: (0.855, 0.91)}.items()
        for score, name, least in zip(("accuracy", "auc"), ("accuracy", "area under the curve"), bounds, strict=True)
        for stations in (1, 10, 1000)
    },
}


CORES = 2


def spent() -> float:
    """Return processor seconds over two cores of this process, of the one from which containers are forked, and of containers: a busy machine counts little."""
    ticks = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            ticks += sum(int(field) for field in fields[11:15])
    return (sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) + ticks / os.sysconf("SC_CLK_TCK")) / CORES


def measured() -> dict[str, dict[str, Any]]:
    """Return what is known of each goal: its value, a date, and where it was read if no run of this program measured it."""
    found: dict[str, dict[str, Any]] = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {}
    rows = json.loads((DOCS / "frontier.json").read_text(encoding="utf-8"))["rows"]
    for row in rows:
        if row["name"] == "discriminative_naive_bayes":
            for score in ("accuracy", "auc"):
                key = f"{score} {row['epsilon']:g} {row['stations']}"
                if key in GOALS:
                    found[key] = {"value": row[score], "error": row[f"{score}_error"]}
    return found


def note(goal: str, value: float, **told: Any) -> None:
    """Write what a run measured, and the page."""
    kept = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {}
    kept[goal] = {"value": float(f"{value:.4g}"), **told}
    NUMBERS.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n", encoding="utf-8")
    write()


def table() -> str:
    """Return the table: every goal, today's value, whether it is met, and what measures it."""
    lines = ["| work | goal | measured | | how |", "|---|---|---|---|---|"]
    found = measured()
    for key, goal in GOALS.items():
        bound = f"{'at least' if goal.least else 'at most'} {goal.told(goal.limit)}"
        entry = found.get(key)
        if entry is None:
            lines.append(f"| {goal.what} | {bound} | not yet | open | {goal.command} |")
            continue
        value = f"{entry['value']:.4f}" if goal.least else goal.told(entry["value"])
        value += f" +- {entry['error']:.4f}" if "error" in entry else ""
        value += f" ({entry['note']})" if "note" in entry else ""
        lines.append(
            f"| {goal.what} | {bound} | {value} | {'met' if goal.met(entry['value']) else '**missed**'} | {goal.command} |"
        )
    return "\n".join(lines)


def write() -> None:
    """Write the page's table."""
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(FIRST)[0], page.split(LAST)[1]
    PAGE.write_text(f"{before}{FIRST}\n{table()}\n{LAST}{after}", encoding="utf-8")


if __name__ == "__main__":
    write()
