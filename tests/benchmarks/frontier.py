"""The frontier on Adult: what was measured (docs/frontier.json), its table on docs/comparison.md, and its figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
NUMBERS, PAGE, FIGURE = DOCS / "frontier.json", DOCS / "comparison.md", DOCS / "pictures" / "frontier.svg"
FIRST, LAST = "<!-- frontier: written by tests/benchmarks/test_frontier.py -->", "<!-- end of frontier -->"
SCORES = ("accuracy", "auc")


def label(row: dict[str, Any]) -> str:
    """Return the name of a line: who, and over how many stations."""
    if row["stations"] is None:
        return str(row["name"])
    return f"{row['name']}, {row['stations']:,} station{'s' if row['stations'] > 1 else ''}"


def table(found: dict[str, Any]) -> str:
    """Return the page's table: mean accuracy / area under the curve by epsilon."""
    epsilons = sorted({row["epsilon"] for row in found["rows"]})
    lines = ["| epsilon | " + " | ".join(f"{epsilon:g}" for epsilon in epsilons) + " |"]
    lines.append("|---|" + "---|" * len(epsilons))
    for name in dict.fromkeys(label(row) for row in found["rows"]):
        cells = {row["epsilon"]: row for row in found["rows"] if label(row) == name}
        told = [
            " / ".join(f"{cells[epsilon][score]:.3f}"[1:] for score in SCORES) if epsilon in cells else ""
            for epsilon in epsilons
        ]
        lines.append(f"| {name} | " + " | ".join(told) + " |")
    widest = [max(row[f"{score}_error"] for row in found["rows"] if row["ours"]) for score in SCORES]
    without = "; ".join(f"{row['name']} {row['accuracy']:.3f} / {row['auc']:.3f}" for row in found["without_privacy"])
    lines.append("")
    lines.append(
        f"Accuracy / area under the curve, means of {found['seeds']} seeds; standard errors of ours at most {widest[0]:.4f} / {widest[1]:.4f}. "
        f"Without privacy: {without}."
    )
    return "\n".join(lines)


def write(found: dict[str, Any]) -> None:
    """Write the numbers, the page's table and the figure."""
    NUMBERS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(FIRST)[0], page.split(LAST)[1]
    PAGE.write_text(f"{before}{FIRST}\n{table(found)}\n{LAST}{after}", encoding="utf-8")
    draw(found, FIGURE)


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw accuracy and area under the curve against epsilon."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    style = {"svg.hashsalt": "frontier", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    shown = [row for row in found["rows"] if row["stations"] in (None, 1, 1000)]
    names = list(dict.fromkeys(label(row) for row in shown))
    colors = {name: f"C{place}" for place, name in enumerate(dict.fromkeys(row["name"] for row in shown))}
    with matplotlib.rc_context(style):
        drawn, axes = pyplot.subplots(1, 2, figsize=(9.6, 4.0), layout="constrained")
        for panel, score, lowest in zip(axes, SCORES, (0.68, 0.5), strict=True):
            for name in names:
                rows = [row for row in shown if label(row) == name]
                dashes = "--" if rows[0]["stations"] == 1000 else "-" if rows[0]["ours"] else ":"
                values = [[row[key] for row in rows] for key in ("epsilon", score)]
                panel.plot(*values, dashes, marker=".", color=colors[rows[0]["name"]], label=name)
            best = max(found["without_privacy"], key=lambda row: row[score])
            panel.axhline(best[score], color="black", linewidth=1, label=f"{best['name']}, no privacy")
            same = next(row for row in found["without_privacy"] if row["name"] == "discriminative_naive_bayes")
            panel.axhline(same[score], color="C0", linewidth=0.8, label="discriminative_naive_bayes, no privacy")
            title = "area under the curve" if score == "auc" else score
            panel.set(
                xscale="log",
                xlabel="epsilon (whole model)",
                ylabel=title,
                ylim=(lowest, 0.94 if score == "auc" else 0.885),
            )
        axes[1].legend(frameon=False, fontsize=7, loc="lower right")
        drawn.savefig(path, metadata={"Date": None})
        pyplot.close(drawn)
