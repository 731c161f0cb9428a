"""What a researcher or a station may get wrong, seen from outside: the message names the argument or column and the remedy."""

import numpy as np
import pandas as pd
import pytest
from limits_kit import predicting
from one_process import OneProcess
from party_kit import by_rows

from fedbayes.client.models.survival import summary_frame
from fedbayes.client.plans.planning import plan
from fedbayes.client.plans.setting import Setting
from fedbayes.client.running.local import Job
from fedbayes.federation.errors import ArgumentError, ConvergenceError, DataProblem, ThresholdError
from v6_verticox.arguments import Fit
from v6_verticox.stations.columns import design
from v6_verticox.use.located import checked_model, curves_of

ROWS = 120
TASK = {"time": "time", "event": "event", "features": ["age", "dose"], "rows_aligned": True}
SECRET_TIME = 7654321.125


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"age": rng.normal(60, 9, ROWS), "dose": rng.normal(size=ROWS)})
    frame["time"] = np.ceil(10 * rng.exponential(np.exp(-0.04 * (frame["age"] - 60) - 0.5 * frame["dose"])))
    frame["event"] = (rng.uniform(size=ROWS) < 0.7).astype(int)
    return frame


@pytest.fixture(scope="module")
def federation(records):
    one = np.arange(ROWS) == 3
    age, dose, time, event = (records[name].to_numpy() for name in ("age", "dose", "time", "event"))
    first = pd.DataFrame(
        {
            "age": age,
            "twin": 2 * age + 3,
            "endless": np.where(one, np.inf, age),
            "huge": age * 1e300,
            "large": age * 1e12,
            "tiny": age * 1e-9,
            "empty": np.nan,
            "words": [f"word{i}" for i in range(ROWS)],
            "rare": np.where(one, "r", "s"),
            "same": "x",
            "spared": ((np.arange(ROWS) % 5 == 0) & (event == 0)).astype(int),
            "serial": 2.0**60 + 1024.0 * np.arange(ROWS),
            "separates": -time,
        }
    )
    second = pd.DataFrame({"dose": dose, "mixed": age - 3 * dose, "twice": time, "happened": event})
    third = pd.DataFrame(
        {
            "time": time,
            "event": event,
            "twice": time,
            "happened": event,
            "negative": np.where(one, -SECRET_TIME, time),
            "gap": np.where(one, np.nan, time),
            "forever": np.where(one, np.inf, time),
            "late": "late",
            "seen": "2020-01-31",
            "one_time": 5.0,
            "two": np.where(one, 2, event),
            "unknown": np.where(one, np.nan, event),
            "none": 0,
            "few": (np.arange(ROWS) < 3).astype(int),
            "yes": np.where(event == 1, "yes", "no"),
            "sites": [f"s{i % 40}" for i in range(ROWS)],
        }
    )
    parties = {"a": first, "b": second, "c": third}
    with OneProcess(parties=parties, helpers=["helper"], policies=predicting()) as running:
        yield running


CASES = [
    ({"time": "negative"}, DataProblem, "c: time column 'negative' has negative"),
    ({"time": "gap"}, DataProblem, "c: outcome column 'gap' has missing values; drop"),
    ({"time": "forever"}, DataProblem, "c: time column 'forever' has negative or infinite times; correct"),
    ({"time": "late"}, DataProblem, "c: outcome column 'late' holds text or dates; give numbers, such as the days"),
    ({"time": "seen"}, DataProblem, "c: outcome column 'seen' holds text or dates; give numbers, such as the days"),
    (
        {"entry": "seen"},
        DataProblem,
        "c: entry column 'seen' must hold numbers, such as the days .*; it holds text or dates",
    ),
    ({"time": "one_time"}, DataProblem, "c: time column 'one_time' is the same"),
    ({"event": "two"}, DataProblem, "c: event column 'two' must hold 1"),
    ({"event": "unknown"}, DataProblem, "c: outcome column 'unknown' has missing values"),
    ({"event": "none"}, DataProblem, "c: event column 'none' has no event"),
    ({"event": "few"}, ThresholdError, "c: event column 'few' has fewer events"),
    ({"event": "yes"}, DataProblem, "c: outcome column 'yes' holds text; give 1 for"),
    ({"time": "twice", "event": "happened"}, ArgumentError, r"at two stations \(b and c\); leave one"),
    ({"time": "tiem"}, ArgumentError, r"^time: no station has the column 'tiem'; check its name$"),
    ({"event": "evnet"}, ArgumentError, "^event: no station has the column 'evnet'; check its name"),
    (
        {"time": " Time"},
        ArgumentError,
        r"^time: .* ' Time'; check its name \(one at c differs only by blanks, capitals or accents\)",
    ),
    (
        {"event": "happened"},
        ArgumentError,
        "^time and event: 'happened' is at b and c, and the outcome is whole at c alone; name columns that one station has",
    ),
    ({"features": ["age", "nowhere"]}, ArgumentError, "features: no station has the column 'nowhere'"),
    ({"features": ["Age", "dose"]}, ArgumentError, r"^features: .* 'Age'; check its name \(one at a differs only by"),
    (
        {"formula": "~ age + Dosé", "features": None},
        ArgumentError,
        r"^formula: .* 'Dosé'; check its name \(one at b differs",
    ),
    ({"features": ["age", "twice"]}, ArgumentError, "features: 'twice' is at two stations"),
    ({"features": ["endless", "dose"]}, DataProblem, "a: feature 'endless' has values that are not finite"),
    ({"features": ["huge", "dose"]}, DataProblem, "a: feature 'huge' has values of an extreme size"),
    ({"features": ["empty", "dose"]}, DataProblem, "a: feature 'empty' has missing values; fill"),
    ({"features": ["words", "dose"]}, DataProblem, "a: feature 'words' is text with too many categories"),
    ({"features": ["rare", "dose"]}, DataProblem, "a: feature 'rare' has a category with fewer records"),
    ({"features": ["same", "dose"]}, DataProblem, "a: feature 'same' is constant; leave it out"),
    ({"features": ["serial", "dose"]}, DataProblem, "a: feature 'serial' is constant, or varies too little"),
    ({"features": ["spared", "dose"]}, ConvergenceError, "coefficients of spared grow without limit"),
    ({"features": ["age", "twin", "dose"]}, ArgumentError, "features: age, twin are collinear; leave out 1"),
    ({"features": ["age", "dose", "mixed"]}, ArgumentError, "features: age, dose, mixed are collinear"),
    ({"strata": "sites"}, ThresholdError, "c: strata column 'sites' has a stratum with fewer"),
    ({"strata": "nowhere"}, ArgumentError, "strata: no station has the column 'nowhere'"),
    (
        {"strata": "age", "features": ["dose"]},
        ArgumentError,
        "^strata: 'age' is at a, and must be at c, where the outcome is$",
    ),
    (
        {"event": "dose", "features": ["age"]},
        ArgumentError,
        "^time and event: 'time' is at c, 'dose' is at b; both must be",
    ),
    ({"time_transform": "sqrt"}, ArgumentError, "time_transform must be one of"),
    ({"id_column": "nobody", "rows_aligned": False}, DataProblem, "column 'nobody' is not in this station's table"),
]


@pytest.mark.few(14)
@pytest.mark.parametrize(("change", "kind", "text"), CASES, ids=[str(list(entry[0].values())[-1]) for entry in CASES])
def test_the_message_names_what_is_wrong(federation, change, kind, text):
    with pytest.raises(kind, match=text) as refusal:
        federation.run("verticox", "fit", {**TASK, **change})
    assert str(SECRET_TIME) not in str(refusal.value)


@pytest.mark.parametrize("change", [{"penalty": 1.0}, {"strata": "sites"}, {"ties": "efron"}], ids=str)
def test_what_admm_does_not_have_is_refused_before_any_round(change):
    assert Fit.read("fit", {**TASK, "solver": "admm"}).solver == "admm"
    with pytest.raises(ArgumentError, match="solver='admm' takes neither"):
        Fit.read("fit", {**TASK, "solver": "admm", **change})


MODEL = {
    "kind": "cox",
    "time": "t",
    "event": "e",
    "strata": None,
    "features": ["age", "group"],
    "coefficients": [{"feature": name, "coefficient": 0.5} for name in ("age", "group=y", "group=z")],
    "references": {"group": "x"},
    "offset": 0.1,
    "baseline": {"time": [1.0, 2.0], "cumulative_hazard": [0.1, 0.2]},
}
COEFFICIENTS = MODEL["coefficients"]
MODELS = [
    ({"kind": "naive_bayes"}, "not one of verticox.fit"),
    ({"time": True}, "model: time must be a name"),
    ({"event": 7}, "model: event must be a name"),
    ({"strata": 5}, "model: strata must be a name"),
    ({"features": "age"}, "model: features must be a list"),
    ({"features": ["age", "age"]}, "model: features must not name anything twice"),
    ({"features": ["age"]}, "features and coefficients do not agree, see 'group"),
    ({"features": ["age", "group", "dose"]}, "do not agree, see 'dose'"),
    ({"coefficients": []}, "features and coefficients do not agree"),
    ({"coefficients": COEFFICIENTS[1:]}, "do not agree, see 'age'"),
    ({"coefficients": [*COEFFICIENTS, COEFFICIENTS[0]]}, "a feature has two coefficients"),
    ({"strata": "e"}, "'e' is named for two of time, event, strata"),
    ({"weights": "t"}, "'t' is named for two of time, event, strata"),
    ({"event": "age"}, "'age' is named for two of time, event, strata"),
    ({"coefficients": [{"feature": "age"}]}, "model: coefficient must be a number"),
    ({"references": {}}, "no reference category of 'group'"),
    ({"references": ["x"]}, "model: references must be"),
    ({"offset": float("nan")}, "model: offset must be a number"),
    ({"baseline": None}, "model must be the `model` of a result"),
    ({"baseline": {"time": [1.0, float("nan")], "cumulative_hazard": [0.1, 0.2]}}, "needs increasing times"),
    ({"baseline": {"time": [1.0, 2.0], "cumulative_hazard": [0.2, 0.1]}}, "hazard for each, which does not fall"),
    ({"baseline": {"time": [1.0, 2.0], "cumulative_hazard": [0.2, float("inf")]}}, "needs increasing times"),
    ({"baseline": {"time": [2.0, 1.0], "cumulative_hazard": [0.1, 0.2]}}, "needs increasing times"),
    ({"baseline": {"time": [1.0]}}, "needs increasing times"),
]


@pytest.mark.parametrize(("change", "text"), MODELS, ids=[text for _, text in MODELS])
def test_a_model_that_was_changed_is_refused_before_any_round(change, text):
    with pytest.raises(ArgumentError, match=text):
        curves_of(checked_model({**MODEL, **change}))


@pytest.mark.parametrize(("function", "more"), [("evaluate", {}), ("evaluate", {"folds": 3}), ("predict", {})])
def test_times_beyond_the_baseline_are_told_before_anybody_is_asked(function, more):
    """`plan` says it, as a station refuses such times only when the query is debited."""
    told = {**MODEL, "features": ["age"], "coefficients": COEFFICIENTS[:1], "references": {}}
    arguments = {"model": told, "rows_aligned": True, "times": [1.0, 30.0, 40.0], **more}
    late = plan(Job("verticox", function, arguments), Setting(stations=3))["warnings"]
    assert [text for text in late if "times" in text] == [
        "times beyond the model's baseline, which ends at 2: 30, 40; its survival there is that at the end"
    ]
    within = Job("verticox", function, {**arguments, "times": [1.0, 2.0]})
    assert not [text for text in plan(within, Setting(stations=3))["warnings"] if "times" in text]


@pytest.mark.parametrize(("stratum", "ends"), [("x", "2: 30, 40"), ("y", "35: 40")])
def test_times_beyond_the_baseline_are_those_of_the_stratum_that_is_asked_about(stratum, ends):
    ending = [
        {"stratum": name, "time": [1.0, end], "cumulative_hazard": [0.1, 0.2]}
        for name, end in (("x", 2.0), ("y", 35.0))
    ]
    model = {**MODEL, "features": ["age"], "coefficients": COEFFICIENTS[:1], "references": {}, "strata": "site"}
    arguments = {"model": {**model, "baseline": {"strata": ending}}, "rows_aligned": True, "times": [1.0, 30.0, 40.0]}
    told = plan(Job("verticox", "predict", {**arguments, "stratum": stratum}), Setting(stations=3))["warnings"]
    assert [text for text in told if f"baseline, which ends at {ends};" in text]


def test_a_model_is_taken_as_it_was_returned():
    assert curves_of(checked_model(MODEL))[0].times == [1.0, 2.0]
    named = {
        "features": ["a=b"],
        "coefficients": [{"feature": "a=b=c", "coefficient": 1.0}],
        "references": {"a=b": "d"},
    }
    assert checked_model({**MODEL, **named})["features"] == ["a=b"]


def test_separation_is_named_after_steps_that_were_given_up(federation):
    with pytest.raises(ConvergenceError, match="separates"):
        federation.run("verticox", "fit", {**TASK, "features": ["separates", "dose"], "max_rounds": 45})


@pytest.mark.audit
def test_tiny_units_leave_the_hazard_ratio_out_and_say_so(federation, recwarn):
    """exp(coefficient) is no number then; everything else is that of the same column in other units."""
    plain, tiny = (federation.run("verticox", "fit", {**TASK, "features": [name, "dose"]}) for name in ("age", "tiny"))
    one, other = (next(row for row in r["model"]["coefficients"] if row["feature"] != "dose") for r in (plain, tiny))
    assert other["coefficient"] == pytest.approx(1e9 * one["coefficient"], rel=1e-5)
    assert other["standard_error"] == pytest.approx(1e9 * one["standard_error"], rel=1e-5)
    assert other["hazard_ratio"] is None
    assert one["hazard_ratio"] == pytest.approx(np.exp(one["coefficient"]))
    assert any("hazard ratio of one unit of tiny" in text for text in tiny["warnings"])
    assert plain["warnings"] == []
    frame = summary_frame(tiny)
    assert frame.loc["tiny", "exp(coef)"] in (0.0, np.inf)
    assert "tiny" in report_of(tiny)
    assert not [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]


def report_of(result):
    from fedbayes.client.views.cox import pieces

    return " ".join(str(piece) for piece in pieces(result["model"]))


def test_large_units_are_no_problem(records):
    names = ["age", "dose"]
    plain, large = (design(records[names] * unit, names, 5) for unit in (1.0, 1e12))
    ratio = large.values / plain.values
    np.testing.assert_allclose(ratio, np.ones_like(ratio) * ratio[0], rtol=1e-9)
    assert 0.4 < ratio[0, 0] < 2.1


def test_the_stages_of_seer_are_named(paper_data, rehearse):
    """`6th Stage` is a function of `T Stage` and `N Stage`, whatever party has them."""
    from v6_verticox.rounds.lockstep import alone
    from v6_verticox.solvers.newton import solve

    frame = pd.get_dummies(paper_data("seer_breast"), drop_first=True, dtype=float)
    features = [name for name in frame if name.startswith(("T Stage", "N Stage", "6th", "Age"))]
    surface, _ = rehearse(frame.head(1500), features, 3)
    surface.names = features
    with pytest.raises(ArgumentError, match="collinear") as refusal:
        alone(solve(surface, np.zeros(len(features)), 1e-7, 30))
    assert all(part in str(refusal.value) for part in ("6th Stage", "N Stage"))
    assert "Age" not in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"time": "nowhere"}, "^model: no station has the column 'nowhere'"),
        ({"event": "Event"}, r"^model: no station has the column 'Event'; check its name \(one at c differs only by"),
        ({"event": "dose"}, "^model: time and event: 'time' is at c, 'dose' is at b; both must be"),
        (
            {"event": "happened"},
            "^model: time and event: 'happened' is at b and c, and the outcome is whole at c alone",
        ),
        ({"strata": "dose"}, "^model: strata: 'dose' is at b, and must be at c"),
        ({"time": "twice", "event": "happened"}, r"^model: time and event: the outcome is at two stations \(b and c\)"),
    ],
    ids=str,
)
@pytest.mark.parametrize("function", ["evaluate", "baseline"])
def test_where_a_models_outcome_is_not_is_told_before_anything_is_debited(federation, function, change, text):
    lone = {"features": ["age"], "coefficients": [{"feature": "age", "coefficient": 0.01}], "references": {}}
    model = {**MODEL, **lone, "time": "time", "event": "event", **change}
    with pytest.raises(ArgumentError, match=text) as refusal:
        federation.run("verticox", function, {"model": model, "rows_aligned": True, "helper": "helper"})
    assert "debited" not in str(refusal.value)


@pytest.mark.parametrize("helpers", [[], ["helper"]])
@pytest.mark.parametrize("by", [{"id_column": "id"}, {"rows_aligned": True}], ids=str)
def test_whole_records_without_a_split_are_told_of_it(records, helpers, by):
    table = records.assign(id=range(len(records)))
    with (
        OneProcess(by_rows(table, "abc"), helpers) as running,
        pytest.raises(
            ArgumentError, match=r"^split: every organization has all columns; .* fit with split='horizontal'$"
        ),
    ):
        running.run("verticox", "fit", {"features": ["age", "dose"], "time": "time", "event": "event", **by})


def test_a_dictionarys_column_is_guessed_for_one_that_no_station_has(federation):
    listed = {"columns": {"time": {"type": "number"}, "event": {"type": "integer"}}}
    with pytest.raises(
        ArgumentError, match=r"^time: no station has the column 'tme'; check its name \(did you mean 'time'\?\)$"
    ):
        federation.run("verticox", "fit", {**TASK, "time": "tme", "dictionary": listed})
