"""Products of two organizations' columns: the pooled answers of lifelines and statsmodels on patsy's design, what is refused, what nobody sees."""

from typing import Any

import numpy as np
import pandas as pd
import patsy
import pytest
from lifelines import CoxPHFitter
from lifelines.datasets import load_rossi
from limits_kit import PREDICTING
from one_process import OneProcess
from party_kit import by_columns
from statsmodels.duration.hazard_regression import PHReg

from fedbayes.client.models.predictions import by_cox
from fedbayes.federation.errors import ArgumentError, DataProblem, MessageError, ThresholdError
from fedbayes.federation.rounds import Federation
from v6_verticox.messages.private import Stage
from v6_verticox.messages.setup import Plan
from v6_verticox.shares import products as shared
from v6_verticox.shares.layout import Layout

ROWS = 400
OUTCOME = {"time": "time", "event": "event", "id_column": "id"}
SPLIT = {"a": ["age", "bmi", "arm"], "b": ["treatment", "stage"], "c": ["time", "event", "site", "weight", "since"]}


@pytest.fixture(scope="module")
def patients() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(ROWS)], "age": rng.normal(60, 9, ROWS).round(2)})
    frame["stage"], frame["treatment"] = rng.choice(["I", "II", "III"], ROWS), rng.integers(0, 2, ROWS)
    frame["bmi"], frame["arm"] = rng.uniform(18, 45, ROWS).round(2), rng.choice(["drug", "placebo"], ROWS)
    frame["site"], frame["weight"] = rng.integers(0, 2, ROWS), rng.choice([0.5, 1.0, 2.0], ROWS)
    risk = 0.05 * (frame["age"] - 60) * frame["treatment"] + 0.3 * (frame["stage"] == "III") - 0.2 * frame["treatment"]
    died, censored = rng.exponential(10 * np.exp(-risk)), rng.exponential(20, ROWS)
    frame["time"], frame["event"] = np.minimum(died, censored).round(5), (died <= censored).astype(int)
    frame["since"] = np.where(rng.random(ROWS) < 0.4, -1.0, frame["time"] * rng.choice([0.2, 0.5], ROWS) - 0.001)
    return frame


def ask(
    frame: pd.DataFrame,
    function: str,
    split: dict[str, list[str]] | None = None,
    limits: dict[str, Any] | None = None,
    **task: Any,
) -> dict[str, Any]:
    parties = by_columns(frame, split or SPLIT)
    with OneProcess(parties, helpers=["h"], policies={"*": limits or {}}, aggregator="c") as running:
        return dict(running.run("verticox", function, task))


def fitted(frame: pd.DataFrame, formula: str, split: dict[str, list[str]] | None = None, **task: Any) -> dict[str, Any]:
    return ask(frame, "fit", split, **OUTCOME, formula=formula, **task)


def design(frame: pd.DataFrame, formula: str) -> pd.DataFrame:
    return patsy.dmatrix(formula, frame, return_type="dataframe").drop(columns="Intercept")


def pooled(frame: pd.DataFrame, formula: str, **roles: str) -> Any:
    table = design(frame, formula).join(frame[["time", "event", *roles.values()]])
    return CoxPHFitter(baseline_estimation_method="breslow").fit(
        table, "time", "event", fit_options={"precision": 1e-13}, **roles
    )


def check(model: dict[str, Any], expected: Any) -> None:
    """Compare coefficients, errors and likelihood; coefficients by their size, since names differ."""
    found = np.array([[row["coefficient"], row["standard_error"]] for row in model["coefficients"]])
    wanted = expected.summary[["coef", "se(coef)"]].to_numpy()
    np.testing.assert_allclose(found[np.argsort(found[:, 0])], wanted[np.argsort(wanted[:, 0])], rtol=2e-6, atol=1e-6)
    assert model["log_likelihood"] == pytest.approx(expected.log_likelihood_, abs=1e-5)


WAYS = [
    ("~ age + C(stage) + age:treatment", "age + C(stage) + age:treatment", None),
    ("~ age*stage", "age*C(stage)", None),
    ("~ arm*stage + age:treatment", "C(arm)*C(stage) + age:treatment", None),
    ("~ stage + age:stage:treatment", "C(stage) + age:C(stage):treatment", None),
    ("~ age*stage*treatment + bmi:treatment", "age*C(stage)*treatment + bmi:treatment", None),
    ("~ age*treatment + bmi", "age*treatment + bmi", {"a": ["age", "bmi"], "c": ["time", "event", "treatment"]}),
    (
        "~ stage + age:treatment",
        "C(stage) + age:treatment",
        {"b": ["stage", "treatment"], "c": ["time", "event", "age"]},
    ),
    ("~ arm:treatment", "C(arm):treatment", None),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("formula", "wanted", "split"), WAYS)
def test_products_are_those_of_pooled_records(patients, formula, wanted, split):
    check(fitted(patients, formula, split)["model"], pooled(patients, wanted))


def test_products_with_ties_and_strata(patients):
    frame = patients.assign(time=np.ceil(patients["time"]))
    found = fitted(frame, "~ age*treatment + stage", ties="efron", strata="site")["model"]
    check(found, pooled(frame, "age*treatment + C(stage)", strata="site"))


def test_products_with_ties_as_breslow(patients):
    frame = patients.assign(time=np.ceil(patients["time"]))
    found = fitted(frame, "~ age*treatment + stage")["model"]["coefficients"]
    table = design(frame, "age*treatment + C(stage)")
    expected = PHReg(frame["time"], table.to_numpy(), frame["event"], ties="breslow").fit(disp=0)
    own = np.array([[row["coefficient"], row["standard_error"]] for row in found])
    wanted = np.stack([expected.params, expected.bse], axis=1)
    np.testing.assert_allclose(own[np.argsort(own[:, 0])], wanted[np.argsort(wanted[:, 0])], rtol=1e-5, atol=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize(("role", "column"), [("weights", "weight"), ("entry", "since")])
def test_products_of_weighted_and_truncated_records(patients, role, column):
    frame = patients.assign(time=patients["time"] + np.argsort(np.argsort(patients["time"], kind="stable")) * 1e-6)
    found = fitted(frame, "~ age*treatment", **{role: column})["model"]
    roles = {"weights_col": column} if role == "weights" else {"entry_col": column}
    wanted = pooled(frame, "age*treatment", **roles)
    own = np.array([row["coefficient"] for row in found["coefficients"]])
    np.testing.assert_allclose(np.sort(own), np.sort(wanted.params_.to_numpy()), atol=1e-6)


@pytest.mark.audit
def test_rossi_over_three_organizations():
    frame = load_rossi().assign(id=range(432))
    split = {"a": ["age", "fin"], "b": ["prio", "race"], "c": ["week", "arrest", "wexp"]}
    task = {"time": "week", "event": "arrest", "ties": "efron"}
    found = ask(frame, "fit", split, **{**OUTCOME, **task}, formula="~ age*wexp + fin:prio + prio + race")["model"]
    renamed = frame.rename(columns={"week": "time", "arrest": "event"})
    check(found, pooled(renamed, "age*wexp + fin:prio + prio + race"))


@pytest.mark.audit
def test_columns_are_named_and_cost_what_the_page_says(patients):
    plain = fitted(patients, "~ age + stage")
    found = fitted(patients, "~ age + stage + age:stage")
    names = [row["feature"] for row in found["model"]["coefficients"]]
    assert {"age", "stage=II", "stage=III", "age:stage=II", "age:stage=III"} == set(names)
    assert found["model"]["terms"]["age:stage"] == ["age:stage=II", "age:stage=III"]
    more = found["federation"]["rounds"] - plain["federation"]["rounds"]
    assert 2 < more < 16


@pytest.mark.usefixtures("fine_hazards")
def test_a_model_with_products_is_applied_where_columns_are_together_and_judged_blindly(patients):
    model = fitted(patients, "~ age*treatment + stage")["model"]
    expected = pooled(patients, "age*treatment + C(stage)")
    own = by_cox(model, patients, None, None)["linear_predictor"].to_numpy()
    wanted = design(patients, "age*treatment + C(stage)").to_numpy() @ expected.params_.to_numpy()
    np.testing.assert_allclose(own - own.mean(), wanted - wanted.mean(), atol=1e-4)
    curve = pd.Series(model["baseline"]["cumulative_hazard"], index=model["baseline"]["time"])
    known = expected.baseline_cumulative_hazard_.iloc[:, 0]
    ratio = curve.to_numpy() / known.reindex(curve.index, method="ffill").to_numpy()
    offset = float(wanted.mean()) - float(own.mean())  # lifelines centres its columns
    mean = float(design(patients, "age*treatment + C(stage)").to_numpy().mean(axis=0) @ expected.params_.to_numpy())
    np.testing.assert_allclose(np.log(ratio), model["offset"] - mean, atol=2e-3)
    assert np.isfinite(offset)
    judged = ask(patients, "evaluate", model=model, reveal="aggregates", id_column="id")
    assert judged["metrics"]["calibration_slope"] == pytest.approx(1.0, abs=1e-4)


@pytest.fixture(scope="module")
def product(patients):
    return fitted(patients, "~ age*treatment", max_rounds=80)["model"]


@pytest.mark.parametrize(
    ("function", "more", "match"),
    [
        ("predict", {}, "'age:treatment' is of columns at different organizations"),
        ("evaluate", {}, "reveal='aggregates'"),
        ("baseline", {}, "'age:treatment' is of columns at different organizations"),
        ("evaluate", {"folds": 2}, "folds: 'age:treatment'"),
    ],
)
def test_what_needs_a_stations_part_of_a_prediction_is_refused(patients, product, function, more, match):
    with pytest.raises(ArgumentError, match=match):
        ask(patients, function, limits={"allow_predictions": True}, model=product, id_column="id", **more)


REFUSED = [
    ("~ treatment + age:time2", {}, ArgumentError, "no station has the column"),
    ("~ age*dose", {}, ArgumentError, "'age:dose' multiplies numbers of different organizations"),
    ("~ age:treatment:site", {}, ArgumentError, "three organizations"),
    ("~ age*treatment", {"solver": "bfgs"}, ArgumentError, "solver='private_newton' with missing='refuse'"),
    ("~ age*treatment", {"missing": "complete"}, ArgumentError, "solver='private_newton' with missing='refuse'"),
    ("~ arm:stage", {}, ArgumentError, "needs the categories in it as terms"),
    ("~ bs(age, df=3, lower_bound=0, upper_bound=120):treatment", {}, DataProblem, "multiplies a spline"),
    ("~ year:treatment", {}, DataProblem, "subtract a constant"),
]


@pytest.mark.few(4)
@pytest.mark.parametrize(("formula", "more", "kind", "match"), REFUSED)
def test_what_is_not_offered_is_refused_by_name(patients, formula, more, kind, match):
    rng = np.random.default_rng(0)
    frame = patients.assign(dose=rng.exponential(size=ROWS).round(3), year=2020.0 + rng.integers(0, 4, ROWS))
    split = {**SPLIT, "a": [*SPLIT["a"], "year"], "b": [*SPLIT["b"], "dose"]}
    with pytest.raises(kind, match=match):
        ask(frame, "fit", split, PREDICTING, **OUTCOME, formula=formula, **more)


# -- few records -----------------------------------------------------------------------------------------------------------


def rare(frame: pd.DataFrame, together: int) -> pd.DataFrame:
    """Return records of which `together` have stage III and treatment 1, twelve of each having one of them alone."""
    stage = np.where(np.arange(ROWS) < 12 + together, "III", np.where(np.arange(ROWS) % 2, "I", "II"))
    treatment = np.where(np.arange(ROWS) < 12, 0, np.where(np.arange(ROWS) < 12 + together, 1, frame["treatment"]))
    return frame.assign(stage=stage, treatment=treatment)


CROSSED = {"a": ["stage", "age"], "b": ["treatment"], "c": ["time", "event"]}


@pytest.mark.parametrize("together", [1, 4])
def test_a_combination_of_few_records_ends_the_job_before_anything_is_told(patients, together, monkeypatch):
    asked, honest = [], Federation.round

    def round_(self, function, request, organizations, reply_type, **options):
        asked.append(
            [stage.kind for stage in getattr(next(iter(request.values())), "stages", [])]
            if isinstance(request, dict)
            else []
        )
        return honest(self, function, request, organizations, reply_type, **options)

    monkeypatch.setattr(Federation, "round", round_)
    with pytest.raises(ThresholdError, match=r"'stage:treatment' has a combination.*fewer records"):
        fitted(rare(patients, together), "~ stage*treatment + age", CROSSED)
    assert asked[-1] == ["last"]  # refused in place of the first gradient


def test_a_combination_of_enough_records_is_answered(patients):
    assert fitted(rare(patients, 5), "~ stage*treatment + age", CROSSED, penalty=0.1)["model"]["records"] == ROWS


def test_numbers_that_are_zero_but_for_few_of_a_category_are_refused(patients):
    used = patients["treatment"].to_numpy() == 1
    pack = np.where(used, 0.0, np.arange(ROWS) / 100.0)
    pack[np.flatnonzero(used)[:3]] = [1.0, 2.0, 3.0]
    frame = patients.assign(pack=pack)
    with pytest.raises(ThresholdError, match="'pack:treatment'"):
        fitted(frame, "~ age + pack:treatment", {**SPLIT, "a": ["age", "pack"]})


@pytest.mark.audit
def test_control_without_the_table_few_records_are_answered(patients, monkeypatch):
    monkeypatch.setattr(shared, "_table", lambda mask, places, limit: shared.Wide.zeros((mask.low.size, places)))
    assert fitted(rare(patients, 4), "~ stage*treatment + age", CROSSED, penalty=0.1)["model"]["records"] == ROWS


def test_stages_that_tell_are_not_computed_before_products_are_judged(patients, monkeypatch):
    from v6_verticox.rounds import stages as rounds

    honest = rounds.Stages.run

    async def skipping(self, stages, *others):
        return {} if stages[0].kind in ("tally", "few") else await honest(self, stages, *others)

    monkeypatch.setattr(rounds.Stages, "run", skipping)
    with pytest.raises(MessageError):
        fitted(patients, "~ age*treatment")


@pytest.mark.parametrize("judging", ["tally", "few"])
def test_nor_are_they_beside_one_that_may_be_computed_before(patients, monkeypatch, judging):
    from v6_verticox.rounds import stages as rounds

    honest, seen = rounds.Stages.run, []

    async def beside(self, stages, *others):
        if stages[0].kind != judging:
            return await honest(self, stages, *others)
        seen.append(await honest(self, [*stages, Stage("last", 0)], *others))
        return seen[-1]

    monkeypatch.setattr(rounds.Stages, "run", beside)
    with pytest.raises(MessageError):
        fitted(patients, "~ age*treatment")
    assert not seen


def tally_of_many(monkeypatch):
    """Have central add 100 records to every combination that is opened, alike for all."""
    from dataclasses import replace

    from v6_verticox.rounds import stages as rounds

    honest = rounds._added_up

    def added_up(replies):
        whole = honest(replies)
        sums = {name: total.copy() for name, total in whole.sums.items()}
        for name in sums:
            if name.kind == shared.TALLY:
                cells = sums[name].reshape(-1, sums[name].shape[-1])
                for place, cell in enumerate(cells):
                    number = (int.from_bytes(cell.tobytes(), "little") + 100) % 2 ** (8 * len(cell))
                    cells[place] = np.frombuffer(number.to_bytes(len(cell), "little"), dtype=np.uint8)
        return replace(whole, sums=sums)

    monkeypatch.setattr(rounds, "_added_up", added_up)


def test_central_adds_no_records_to_a_combination(patients, monkeypatch):
    tally_of_many(monkeypatch)
    with pytest.raises(MessageError, match="not the sum of what the stations sent"):
        fitted(rare(patients, 4), "~ stage*treatment + age", CROSSED, penalty=0.1)


@pytest.mark.audit
def test_control_unchecked_it_would_pass_few_records_off_as_many(patients, monkeypatch):
    from v6_verticox.stations import openings

    tally_of_many(monkeypatch)
    monkeypatch.setattr(openings, "is_sum", lambda *_: True)
    assert fitted(rare(patients, 4), "~ stage*treatment + age", CROSSED, penalty=0.1)["model"]["records"] == ROWS


def test_a_plan_that_guards_less_is_refused(patients, monkeypatch):
    from dataclasses import replace

    from v6_verticox.rounds import setup

    for change in ({"limit": 1}, {"supports": 2}):
        honest = setup.planned

        def lenient(*given, change=change, honest=honest):
            found = honest(*given)
            found.products[:] = [replace(one, **change) for one in found.products]
            return found

        with monkeypatch.context() as patched:
            patched.setattr(setup, "planned", lenient)
            with pytest.raises(MessageError, match="other products than the plan says"):
                fitted(patients, "~ age*treatment")


# -- arithmetic --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factors", [1, 2, 3, 4, 7, 9, 10, 28])
def test_factors_are_multiplied_three_at_a_time(factors):
    layout = Layout(Plan(list(range(factors + 1)), [1] * factors + [0], 99, 4, [4], 4, [], 0, True))
    values = {place: 1 << place for place in range(layout.multiplied)}
    made = layout.multiplied
    for chosens in layout.multiplications():
        for chosen in chosens:
            assert 2 <= len(chosen) <= 3
            values[made] = sum(values.pop(place) for place in chosen)
            made += 1
    assert list(values.values()) == [(1 << layout.multiplied) - 1]
