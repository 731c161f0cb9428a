"""The promise: exact losses of every release for neighbours, the ledger, and a positive control that the audit can fail."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from scipy import stats

from fedbayes.bayes.schema import Schema
from fedbayes.dp.ledger import Ledger
from fedbayes.federation import errors
from fedbayes.federation.node.policy import LEDGER_FILE
from v6_smooth_naive_bayes import model, published, queries
from v6_smooth_naive_bayes.messages import Settings
from v6_smooth_naive_bayes.queries import Release

NAME = "smooth_naive_bayes"
SCHEMA = Schema.from_domain(
    {"x": {"bounds": [0, 1]}, "g": {"categories": ["a", "b"]}, "class": {"categories": ["n", "p"]}}
)


def table(rows: list[tuple[float | None, str, str]]) -> dict:
    return SCHEMA.encode(pd.DataFrame(rows, columns=["x", "g", "class"]))


def cauchy_loss(one: tuple[float, float], two: tuple[float, float]) -> float:
    """Largest log ratio of two Cauchy densities (location, scale): their distance in the hyperbolic plane."""
    gap = (one[0] - two[0]) ** 2 + (one[1] - two[1]) ** 2
    return math.acosh(1.0 + gap / (2.0 * one[1] * two[1]))


def student_loss(one: tuple[float, float], two: tuple[float, float], nu: float) -> float:
    z = np.concatenate([-np.logspace(7, -6, 4001), np.logspace(-6, 7, 4001)]) * one[1] + one[0]
    return float(np.abs(stats.t(nu, *one).logpdf(z) - stats.t(nu, *two).logpdf(z)).max())


def whole_loss(one: model.Summary, two: model.Summary, settings: Settings) -> float:
    """Sum of the largest losses of every released number."""
    share = Release(SCHEMA, "class", settings).query_epsilon
    loss = share * float(np.abs(one.counts - two.counts).sum())
    loss += queries.MISSING_QUERIES * share * float(np.abs(one.missing - two.missing).sum())
    for value, scale in (("first", "first_scale"), ("second", "second_scale")):
        cells = zip(
            getattr(one, value).ravel(), getattr(one, scale).ravel(), getattr(two, value).ravel(),
            getattr(two, scale).ravel(), strict=True,
        )  # fmt: skip
        for at, width, other, other_width in cells:
            if settings.sensitivity == "global":
                loss += abs(at - other) / width
            elif settings.noise == "cauchy":
                loss += cauchy_loss((at, width), (other, other_width))
            else:
                loss += student_loss((at, width), (other, other_width), settings.degrees_of_freedom)
    return loss


ROWS = [(x, g, c) for x in (0.0, 0.3, 1.0, None) for g in "a" for c in "np"]


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("choice", [{}, {"noise": "student_t"}, {"sensitivity": "global"}], ids=str)
def test_exact_loss_of_everything_released_for_neighbours(choice, epsilon):
    """Add/remove over all tables of up to three rows, and replacement from them, stays within epsilon."""
    for neighbors in ("add_remove", "replace_one"):
        settings = Settings(epsilon, neighbors=neighbors, **choice)
        step = 5 if choice.get("noise") else 1
        sets = [rows for n in range(3) for rows in itertools.combinations_with_replacement(ROWS, n)][::step]
        for rows in sets:
            here = model.summarise(Release(SCHEMA, "class", settings), table(list(rows)))
            for new in ROWS[::2] if choice.get("noise") else ROWS:
                more = model.summarise(Release(SCHEMA, "class", settings), table([*rows, new]))
                loss = whole_loss(here, more, settings)
                if neighbors == "add_remove":
                    assert loss <= epsilon * (1 + 1e-6)
                elif rows:
                    assert loss <= epsilon / 2 * (1 + 1e-6)
                    replaced = model.summarise(Release(SCHEMA, "class", settings), table([*rows[:-1], new]))
                    assert whole_loss(here, replaced, settings) <= epsilon * (1 + 1e-6)


def test_positive_control_the_printed_release_exceeds_its_epsilon():
    """The same exact loss, for the printed scales: one row more is told apart with far more than epsilon."""
    losses = []
    for bounds, rows, new in (((0.0, 1.0), [0.0, 0.0], 1.0), ((0.0, 0.01), [0.0] * 20, 0.01)):
        one = published.moments(np.array(rows), bounds, 1.0)
        two = published.moments(np.array([*rows, new]), bounds, 1.0)
        losses += [cauchy_loss(one[::2], two[::2]), cauchy_loss(one[1::2], two[1::2])]
    assert losses[0] > 1.3
    assert losses[3] > 5.0


def test_positive_control_by_samples():
    """20,000 draws of the printed release show at least 3 epsilon, at a confidence of 1 - 1e-9."""
    from fedbayes.dp import heavy_tails

    def draws(rows: list[float]) -> np.ndarray:
        _, deviation, _, scale = published.moments(np.array(rows), (0.0, 0.01), 1.0)
        return heavy_tails.perturb(np.full(20_000, deviation), np.full(20_000, scale), 0.01)

    cut = 0.001
    often, seldom = int((draws([0.0] * 20 + [0.01]) > cut).sum()), int((draws([0.0] * 20) > cut).sum())
    low = stats.beta.ppf(1e-9, often, 20_001 - often)
    high = stats.beta.ppf(1 - 1e-9, seldom + 1, 20_000 - seldom)
    assert math.log(low / high) > 3.0


def test_result_says_what_holds(parties, domain):
    with OneProcess(parties) as federation:
        arguments = {"label": "class", "domain": domain, "epsilon": 1.0}
        ours = federation.run(NAME, "fit", {**arguments, "neighbors": "replace_one"})["privacy"]
        printed = federation.run(NAME, "fit", {**arguments, "sensitivity": "published"})["privacy"]
    assert ours["differentially_private"] is True
    assert (ours["epsilon"], ours["delta"], ours["neighbors"], ours["unit"]) == (1.0, 0.0, "replace_one", "row")
    assert "Cauchy" in ours["mechanism"]
    assert "parallel over classes and stations" in ours["composition"]
    assert set(ours["reveals"]) == {"researcher", "central", "stations"}
    assert printed["differentially_private"] is False
    assert "smooth" in printed["reason"]


def test_one_fit_is_one_debit_and_the_budget_ends(parties, domain):
    limits = {"*": {"ledger": "ledger", "budget_epsilon": 2.5, "allow_non_private": "false"}}
    arguments = {"label": "class", "domain": domain, "epsilon": 1.0}
    with OneProcess(parties, policies=limits) as federation:
        for _ in range(2):
            federation.run(NAME, "fit", arguments)
        with pytest.raises(errors.BudgetError, match="left"):
            federation.run(NAME, "fit", arguments)
        with pytest.raises(errors.PolicyError, match="differentially private"):
            federation.run(NAME, "fit", {**arguments, "sensitivity": "published"})
    for files in parties.values():
        spent = [entry.epsilon for entry in Ledger(files["ledger"] / LEDGER_FILE).entries()]
        assert spent == [1.0, 1.0]


def test_more_epsilon_than_a_node_allows_is_refused(parties, domain):
    with OneProcess(parties, policies={"south": {"maximum_epsilon": 0.5}}) as federation:
        with pytest.raises(errors.PolicyError, match="south: epsilon"):
            federation.run(NAME, "fit", {"label": "class", "domain": domain, "epsilon": 1.0})
        result = federation.run(NAME, "fit", {"label": "class", "domain": domain, "epsilon": 0.5})
    assert result["privacy"]["epsilon"] == 0.5
