"""Laws of noise: wide enough for the budget, as wide as they say, and nobody else asks which one it is."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fedbayes.dp import gaussian
from fedbayes.dp.laws import Change, DilutedLaplace, DiscreteGaussian, DiscreteLaplace, Law, law_of, usual_deviation
from fedbayes.dp.shares import honest_parties

ROOT = Path(__file__).resolve().parents[3]
DRAWS = 40_000
LAWS = [DiscreteLaplace(0.8), DiscreteGaussian(0.8, 1e-6), DilutedLaplace(0.8, 1e-3)]
CHANGE = Change(l1=3.0, l2=math.sqrt(3.0), cells=40)


def all_shares(law: Law, width: float, parties: int, fraction: float, count: int) -> np.ndarray:
    return np.sum([law.shares(DRAWS, width, parties, fraction) for _ in range(count)], axis=0)


def near(sample: np.ndarray, deviation: float) -> bool:
    """Whether a sample has this deviation, to 5 %: five times what chance does to the widest of these laws."""
    return bool(0.95 < np.std(sample) / deviation < 1.05)


@pytest.mark.few(3)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize(("parties", "fraction"), [(1, 1.0), (5, 0.8), (3, 1.0)])
def test_one_partys_part_has_the_stated_variance(law: Law, parties: int, fraction: float) -> None:
    width = law.width(CHANGE, 2, honest_parties(parties, fraction))
    assert near(all_shares(law, width, parties, fraction, 1), math.sqrt(law.share_variance(width, parties, fraction)))


@pytest.mark.few(1)
@pytest.mark.parametrize("law", LAWS[:2], ids=lambda law: law.name)
def test_the_honest_parts_together_have_the_stated_deviation(law: Law) -> None:
    honest = honest_parties(5, 0.8)
    width = law.width(CHANGE, 2, honest)
    found = all_shares(law, width, 5, 0.8, honest)
    assert near(found, law.deviation(width))
    assert not near(found, 1.1 * law.deviation(width))


def cost(law: Law, parts: list[float], honest: int) -> float:
    """Return the epsilon of queries that have these parts of a budget: of Laplace noise they add up, of Gaussian noise the squares of mu do."""
    widths = [law.width(CHANGE, part, honest) for part in parts]
    if law is LAWS[0]:
        return math.fsum(CHANGE.l1 / width for width in widths)
    mu = math.hypot(*(CHANGE.l2 / math.sqrt(sigma**2 - 1 / 12) for sigma in widths))
    excess = math.fsum(CHANGE.cells * gaussian.sum_excess(sigma / math.sqrt(honest), honest) for sigma in widths)
    return 2 * excess + gaussian.epsilon_of(mu, law.delta * math.exp(-excess))


@pytest.mark.parametrize("honest", [1, 4])
@pytest.mark.parametrize("parts", [[1.0], [3.0] * 3, [2.0, 4.0, 4.0], [1.25, 5.0]])
def test_queries_that_share_a_budget_cost_it(parts: list[float], honest: int) -> None:
    assert math.fsum(1.0 / part for part in parts) == pytest.approx(1.0)
    for law in LAWS[:2]:
        assert 0.998 * law.epsilon < cost(law, parts, honest) <= law.epsilon * (1 + 1e-9)
        assert cost(law, [0.99 * part for part in parts], honest) > law.epsilon


def test_the_deviation_of_the_discrete_laplace_law() -> None:
    for scale in (0.05, 0.7, 3.0, 1e6):
        assert LAWS[0].deviation(scale) == pytest.approx(stats.dlaplace.std(1.0 / scale), rel=1e-6)
    assert LAWS[0].deviation(1e17) == pytest.approx(math.sqrt(2.0) * 1e17)


def test_the_law_follows_the_budget() -> None:
    assert type(law_of(1.0)) is DiscreteLaplace
    assert type(law_of(1.0, 1e-6)) is DiscreteGaussian
    for wrong in ((0.0, 0.0), (math.inf, 0.0), (math.nan, 0.0), (1.0, 1.0), (1.0, -0.1)):
        with pytest.raises(ValueError, match=r"epsilon|delta"):
            law_of(*wrong)
    assert usual_deviation(1.0, 0.0, 50) > usual_deviation(1.0, 1e-6, 50)


def test_nobody_else_asks_which_law_it_is() -> None:
    """Outside `dp` no branch is taken on a noise's delta: a new law is one file."""
    found = []
    for path in [*(ROOT / "shared/src").rglob("*.py"), *(ROOT / "algorithms").rglob("*.py")]:
        if path.parent.name == "dp" or path.name in ("arguments.py", "declared.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            zero = any(isinstance(side, ast.Constant) and side.value == 0 for side in sides)
            delta = any(isinstance(side, ast.Attribute) and side.attr == "delta" for side in sides)
            if zero and delta and len(sides) == 2:
                found.append(f"{path.name}:{node.lineno}")
    assert found == []
