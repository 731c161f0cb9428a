"""A result as an object: the dict it was, and what people do with it; conversions against the libraries that they are for."""

import copy
import json
import pickle
import subprocess
import sys
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import fedbayes
from fedbayes.bayes.exchange.bif import from_bif
from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.features import Gaussian
from fedbayes.bayes.schema import Schema
from fedbayes.client import view
from fedbayes.client.exits import UsageProblem
from fedbayes.client.inputs.csv_text import csv_of
from fedbayes.client.pages.report import render
from fedbayes.client.result import ConversionError, Result
from fedbayes.federation.embedded import EmbeddedFederation

PRIVACY = {"differentially_private": True, "epsilon": 1.0, "delta": 0.0, "unit": "row", "neighbors": "add_remove"}
NETWORK = {
    "nodes": {"a": {"states": ["0", "1"], "cuts": None}, "b": {"states": ["x", "y"], "cuts": None}},
    "edges": [["a", "b"]],
    "tables": {
        "a": {"parents": [], "probabilities": [0.3, 0.7]},
        "b": {"parents": ["a"], "probabilities": [[0.9, 0.1], [0.2, 0.8]]},
    },
    "label": "b",
}
COUNTS = {
    "axes": [{"column": "c", "labels": ["u", "v"]}, {"column": "d", "labels": ["1", "2"]}],
    "counts": [[5, None], [7, 9]],
}


def answer(model=None, **fields):
    """Return a result as a task returns it."""
    return Result(
        {
            "model": model,
            "privacy": PRIVACY,
            "federation": {"rounds": 2, "bytes": 9, "seconds": 1.0},
            "diagnostics": {},
            "warnings": ["mind"],
            "versions": {},
            **fields,
        }
    )


@pytest.fixture(scope="module")
def rossi():
    """Records of lifelines, its fit, and our model of the same numbers."""
    from lifelines import CoxPHFitter
    from lifelines.datasets import load_rossi

    frame = load_rossi()
    fitted = CoxPHFitter().fit(frame, "week", "arrest")
    names = list(fitted.params_.index)
    summary = fitted.summary
    entries = [
        {
            "feature": name,
            "coefficient": summary["coef"][name],
            "hazard_ratio": summary["exp(coef)"][name],
            "standard_error": summary["se(coef)"][name],
            "lower_95": summary["coef lower 95%"][name],
            "upper_95": summary["coef upper 95%"][name],
            "z": summary["z"][name],
            "p": summary["p"][name],
        }
        for name in names
    ]
    hazard = fitted.baseline_cumulative_hazard_.iloc[:, 0]
    model = {
        "kind": "cox",
        "coefficients": entries,
        "covariance": fitted.variance_matrix_.to_numpy().tolist(),
        "offset": float(fitted.params_ @ frame[names].mean()),
        "baseline": {"time": list(hazard.index), "cumulative_hazard": list(hazard)},
        "log_likelihood": fitted.log_likelihood_,
        "null_log_likelihood": fitted._ll_null_ if hasattr(fitted, "_ll_null_") else fitted._trivial_log_likelihood(),
    }
    return frame, fitted, model


def test_a_result_stays_the_dict_it_was():
    found = answer(NETWORK, count=3)
    assert isinstance(found, dict)
    assert found["count"] == 3
    assert json.loads(json.dumps(found)) == dict(found)
    assert found["privacy"]["epsilon"] == 1.0


def test_parts_are_read_by_name_and_the_promise_and_the_cost_are_sentences():
    found = answer(NETWORK, accuracy=0.5, auc=0.6)
    assert (found.privacy.epsilon, found.privacy["epsilon"], found.privacy.mechanism) == (1.0, 1.0, None)
    assert "epsilon = 1" in str(found.privacy)
    assert str(found.cost).startswith("2 rounds, ")
    assert (found.cost.rounds, found.scores.auc, found.scores.log_loss, found.kind) == (
        2,
        0.6,
        None,
        "Bayesian network",
    )
    assert found.warnings == ["mind"]
    with pytest.raises(AttributeError, match="it has: "):
        _ = found.privacy.epsilom


def test_scores_are_found_wherever_a_method_puts_them():
    """`vertibayes.evaluate` has them in its model: the attribute was empty."""
    told = {"accuracy": 0.5, "auc": 0.6, "log_loss": 0.7, "calibration": {"error": 0.1}, "n": 9}
    assert dict(answer({**told, "criteria": {"aic": 3.0}}).scores) == dict(answer(None, **told).scores) == told
    assert answer(None, concordance=0.6, metrics={"step": 0.01}).scores.metrics == {"step": 0.01}
    assert not answer(NETWORK).scores


def test_save_and_load_give_the_same_and_nothing_is_overwritten(tmp_path):
    found = answer(NETWORK)
    path = found.save(tmp_path / "r.json")
    again = fedbayes.load(str(path))
    assert isinstance(again, Result)
    assert again == found
    with pytest.raises(FileExistsError, match="force"):
        found.save(path)
    assert found.save(path, force=True) == path


def test_from_python_wrong_files_and_tables_are_answered_with_the_remedy(tmp_path):
    found = answer(NETWORK)
    with pytest.raises(UsageProblem, match=r"save\(\): a result is JSON; name it r\.json"):
        found.save(tmp_path / "r.csv")
    assert found.save(tmp_path / "r").exists()
    with pytest.raises(UsageProblem, match=r"dossier\(\): the file must end in one of: \.html"):
        found.dossier(tmp_path / "r.pdf")
    classifier = found.to_sklearn(next(iter(NETWORK["nodes"])))
    with pytest.raises(UsageProblem, match="must be a pandas data frame"):
        classifier.predict([[1, 2]])


def test_an_attribute_that_a_result_has_not_is_answered_with_where_it_is(bayes_model):
    found = answer(bayes_model)
    for name, told in (
        ("model", "it is a dict: result['model']"),
        ("class_counts", "result['model']['class_counts']"),
        ("coef_", "to_frame()"),
        ("predict_proba", "to_sklearn() has predict_proba"),
        ("nothing", "it has the entries 'model', 'privacy'"),
    ):
        with pytest.raises(AttributeError) as problem:
            getattr(found, name)
        assert told in str(problem.value)
    assert copy.deepcopy(found) == pickle.loads(pickle.dumps(found)) == found


def test_gaussian_features_tell_mean_and_deviation_of_every_class():
    mean, variance = np.array([40.0, 150.0]), np.array([400.0, 1600.0])
    gaussian = Gaussian.from_parameters(np.array([700.0, 300.0]), mean, variance, (0.0, 500.0))
    schema = Schema.from_domain({"crp": {"bounds": [0, 500]}, "ill": {"categories": ["no", "yes"]}})
    model = NaiveBayes(schema, "ill", np.array([700.0, 300.0]), {"crp": gaussian}).to_dict()
    told = "gaussian, mean (deviation): no 40 (20); yes 150 (40)"
    assert told in answer(model).summary()
    assert told in render(answer(model), "A title")


def test_the_table_of_coefficients_is_exported_without_a_word_about_formulas(rossi, capsys):
    frame = rossi[1].summary
    assert "-log2(p)" in frame.columns
    csv_of(frame)
    assert capsys.readouterr().err == ""
    csv_of(frame.assign(**{"-name": 1}))
    assert "cells begin as formulas do" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "[1]", "{}", '{"a": 1}', "{"])
def test_load_says_what_holds_no_result(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match="no result"):
        fedbayes.load(tmp_path / "x.json")


def test_load_of_nothing_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        fedbayes.load(tmp_path / "none.json")


def test_summary_plot_and_notebook(bayes_model):
    found = answer(bayes_model)
    assert "Differentially private with epsilon = 1" in found.summary()
    assert found.plot().axes
    assert found.plot()._repr_png_().startswith(b"\x89PNG")
    page = found._repr_html_()
    assert page.startswith("<style>")
    assert all(
        rule.strip().startswith(".fedbayes") for rule in page[7 : page.index("</style>")].split("}") if rule.strip()
    )


def test_to_sklearn_of_naive_bayes_predicts_as_the_model(bayes_model):
    from sklearn.utils.validation import check_is_fitted

    frame = pd.DataFrame({"x": [1, 9], "c": ["red", "blue"]})
    classifier = answer(bayes_model).to_sklearn()
    check_is_fitted(classifier)
    assert list(classifier.predict(frame)) == ["a", "b"]


def test_to_sklearn_of_a_network_is_bayes_rule():
    classifier = answer(NETWORK).to_sklearn()
    assert list(classifier.classes_) == ["x", "y"]
    frame = pd.DataFrame({"a": ["0", "1", None]})
    expected = [[0.9, 0.1], [0.2, 0.8], [0.3 * 0.9 + 0.7 * 0.2, 0.3 * 0.1 + 0.7 * 0.8]]
    assert np.allclose(classifier.predict_proba(frame), expected, atol=1e-6)
    other = answer(NETWORK).to_sklearn(label="a")
    assert np.allclose(other.predict_proba(pd.DataFrame({"b": ["x"]})), [[0.27 / 0.41, 0.14 / 0.41]], atol=1e-6)
    from sklearn.base import clone

    assert list(clone(classifier).fit().predict(frame[:1])) == ["x"]


def test_to_lifelines_is_the_fit_of_lifelines(rossi):
    frame, fitted, model = rossi
    made = answer(model).to_lifelines()
    pd.testing.assert_frame_equal(made.summary, fitted.summary, check_names=False, atol=1e-9)
    rows = frame.head(7)
    assert np.allclose(made.predict_partial_hazard(rows), fitted.predict_partial_hazard(rows))
    times = [5, 20, 45]
    assert np.allclose(
        made.predict_survival_function(rows, times), fitted.predict_survival_function(rows, times), atol=1e-6
    )
    ours, theirs = made.log_likelihood_ratio_test(), fitted.log_likelihood_ratio_test()
    assert np.isclose(ours.test_statistic, theirs.test_statistic)


def test_to_lifelines_prints_and_scores_as_the_fit_of_lifelines(rossi, capsys):
    """`print_summary` is what users of lifelines type first; it names records, events and the outcome of the fit, none of its made-up ones."""
    frame, fitted, model = rossi
    told = {"time": "week", "event": "arrest", "records": len(frame), "events": int(frame["arrest"].sum())}
    made = answer({**model, **told}).to_lifelines()
    made.print_summary(style="ascii")
    printed = capsys.readouterr().out
    fitted.print_summary(style="ascii")
    theirs = capsys.readouterr().out
    for line in ("duration col", "event col", "number of observations", "number of events observed", "Partial AIC"):
        ours, expected = (next(one for one in text.splitlines() if line in one) for text in (printed, theirs))
        assert ours.split("=") == expected.split("=")
    assert "__time__" not in printed
    assert "Concordance = nan" in printed
    dated = Result({**answer(model), "provenance": {"date": "2026-11-28T17:37:24+00:00"}}).to_lifelines()
    dated.print_summary(style="ascii")
    assert "time fit was run = 2026-11-28 17:37 UTC" in capsys.readouterr().out
    for method in ("log_likelihood", "concordance_index"):
        assert made.score(frame, method) == pytest.approx(fitted.score(frame, method), rel=1e-6)
    judged = answer({**model, **told, "concordance": 0.64}).to_lifelines()
    assert judged.concordance_index_ == 0.64


def test_to_lifelines_prints_a_model_that_hides_how_many_records(rossi, capsys):
    model = {**rossi[2], "time": "week", "event": "arrest", "records": None, "events": None}
    answer(model).to_lifelines().print_summary(style="ascii")
    assert "number of observations = nan" in capsys.readouterr().out


def test_to_lifelines_refuses_strata(rossi):
    model = {**rossi[2], "baseline": {"strata": [{"stratum": "a", "time": [1.0], "cumulative_hazard": [0.1]}]}}
    with pytest.raises(ConversionError, match="without strata"):
        answer(model).to_lifelines()


def test_to_bif_reads_back(tmp_path):
    text = answer(NETWORK).to_bif(tmp_path / "n.bif")
    assert (tmp_path / "n.bif").read_text() == text
    network = from_bif(text)
    assert np.allclose(network.tables["b"], [[0.9, 0.1], [0.2, 0.8]])


@pytest.mark.parametrize("method", ["to_sklearn", "to_pgmpy", "to_bif", "to_lifelines"])
def test_a_conversion_that_a_model_lacks_says_what_it_has(method):
    with pytest.raises(
        ConversionError, match=r"this result holds: counts\. It has summary\(\), to_frame\(\), save\(\)"
    ):
        getattr(answer(COUNTS), method)()


def test_to_pgmpy_names_the_package_that_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pgmpy", None)
    with pytest.raises(ImportError, match="pip install pgmpy"):
        answer(NETWORK).to_pgmpy()


@pytest.mark.parametrize(
    ("model", "fields", "shape", "first"),
    [
        (COUNTS, {}, (4, 3), ["u", "1", 5]),
        (NETWORK, {}, (6, 4), ["a", "0", "", 0.3]),
        (
            {"predicted": ["x"], "probabilities": [[0.8, 0.2]], "states": ["x", "y"], "identifiers": ["00257"]},
            {},
            (1, 4),
            ["00257", "x", 0.8, 0.2],
        ),
        ({"records": {"a": ["1", "2"]}}, {}, (2, 1), ["1"]),
        (None, {"accuracy": 0.5, "auc": None, "n": 3}, (3, 1), [0.5]),
        (None, {"count": 7}, (1, 1), [7]),
        ({"label": "t", "information_gain": {"u": 0.25, "v": None}}, {}, (2, 1), [0.25]),
        (
            None,
            {"predictions": {"identifiers": ["a"], "linear_predictor": [0.5], "survival": [[0.9]], "times": [3]}},
            (1, 3),
            ["a", 0.5, 0.9],
        ),
    ],
)
def test_every_kind_is_a_frame(model, fields, shape, first):
    frame = answer(model, **fields).to_frame()
    assert frame.shape == shape
    assert list(frame.iloc[0]) == first


def test_naive_bayes_and_cox_are_frames(bayes_model, rossi):
    frame = answer(bayes_model).to_frame()
    assert np.allclose(frame.groupby("feature")[["P(value | a)", "P(value | b)"]].sum(), 1.0)
    assert list(answer(rossi[2]).to_frame()["coef"]) == [entry["coefficient"] for entry in rossi[2]["coefficients"]]


def test_frames_are_parties_and_the_answer_is_a_result(algorithm_folder):
    frames = {name: pd.DataFrame({"x": range(20), "id": [f"{k:05d}" for k in range(20)]}) for name in ("a", "b", "c")}
    frames["c"] = frames["c"].set_index("id")
    with EmbeddedFederation({**frames, "b": {"default": frames["b"]}}) as federation:
        found = federation.fit("client_toy", column="x")
    assert isinstance(found, Result)
    assert found["model"] == {"rows": 60, "sum": 570}
    assert found.provenance.arguments == {"column": "x"}
    assert found.provenance.parties == ["a", "b", "c"]


def test_a_frame_with_columns_without_names_is_refused():
    from fedbayes.federation.errors import ArgumentError

    with pytest.raises(ArgumentError, match="party 'a'"):
        EmbeddedFederation({"a": pd.DataFrame([[1, 2]])})


def test_the_object_imports_neither_tables_nor_figures_before_they_are_asked():
    heavy = ("matplotlib", "pandas", "rich", "typer", "sklearn", "vantage6")
    code = f"import sys, fedbayes.client.result as r; r.Result(model=None).kind; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_answers_of_every_kind_have_one_shape() -> None:
    from fedbayes.client.result import Result

    axes = [{"column": "a", "values": ["x", None]}, {"column": "b", "values": [0, 1, 2]}]
    table = Result(model={"axes": axes, "counts": [[1, 2, 3], [4, None, 6]]}).counts
    assert (table.columns, table.values_along) == (["a", "b"], [["x", "missing"], [0, 1, 2]])
    assert table.counts == [[1, 2, 3], [4, None, 6]]
    told = {"label": "y", "states": ["n", "p"], "predicted": ["p"], "probabilities": [[0.1, 0.9]], "identifiers": ["7"]}
    found = Result(model=told)
    assert dict(found.predictions) == told
    assert found.predictions.stations is None
    assert not found.survival
    assert not found.counts
    outlook = {"times": [1.0, 2.0], "survival": [[0.9, 0.8]], "partial_hazard": [1.5], "linear_predictor": [0.4]}
    assert dict(Result(predictions=outlook).survival) == outlook
    assert Result(predictions=outlook).survival.identifiers is None
    assert not Result(predictions=outlook).predictions
    assert not Result(model=None).counts
    assert not Result().survival


def test_a_column_without_a_value_keeps_its_only_line() -> None:
    from fedbayes.client.result import Result

    assert Result(model={"axes": [{"column": "a", "labels": [None]}], "counts": [0]}).to_frame().shape == (1, 2)


def test_a_wide_table_is_shown_from_its_first_column_to_its_last() -> None:
    from fedbayes.client.pages.report import render
    from fedbayes.client.result import Result

    times = [float(time) for time in range(1, 41)]
    outlook = {"times": times, "survival": [[0.5] * 40] * 9, "partial_hazard": [1.5] * 9, "linear_predictor": [0.4] * 9}
    lines = Result(predictions=outlook).summary().splitlines()
    assert all(len(line) <= 100 for line in lines)
    heading = next(line for line in lines if "S(1)" in line)
    assert all(text in heading for text in ("linear", "S(40)", "... 33 more"))
    assert "9 of 42 columns" in render(dict(Result(predictions=outlook)), "Predictions")


@pytest.mark.parametrize("view", view.VIEWS, ids=lambda one: one.kind)
def test_every_part_of_a_view_is_there(view):
    parts = [one.name for one in fields(view) if isinstance(getattr(view, one.name), str) and one.name != "kind"]
    assert {"html", "text", "frame"} <= set(parts)
    for name in parts:
        assert not getattr(view, name) or callable(view.part(name))


def test_a_method_brings_the_view_of_its_own_kind(monkeypatch):
    brought = {
        "kind": "tree",
        "fits": lambda model: "branches" in model,
        "text": lambda model: [("branches", str(model["branches"]))],
        "predict": lambda model, frame, label, times: frame.assign(prediction="leaf"),
        "conversions": ("predict",),
    }
    point = SimpleNamespace(load=lambda: brought)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point] if group == view.GROUP else [])
    view.views.cache_clear()
    try:
        result = Result({"model": {"branches": 7}})
        assert result.kind == "tree"
        assert "Model: tree" in result.summary()
        assert "7" in result.to_frame().to_string()
        assert list(result.predict(pd.DataFrame({"a": [1]}))["prediction"]) == ["leaf"]
        with pytest.raises(ConversionError, match="holds: tree"):
            result.to_lifelines()
    finally:
        monkeypatch.undo()
        view.views.cache_clear()
    assert Result({"model": {"branches": 7}}).kind == "other"


def test_a_summary_is_a_text_in_notebooks_too(monkeypatch, bayes_model):
    import rich.console

    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    assert "naive Bayes" in Result(model=bayes_model).summary()


def test_predict_reads_a_frame_by_the_dictionary_of_the_fit(bayes_model):
    columns = {
        "c": {"type": "category", "categories": ["red", "blue"], "recode": {"R": "red", "B": "blue"}, "missing": [99]},
        "x": {"type": "number", "bounds": [0, 10], "missing": [999]},
    }
    provenance = {"arguments": {"dictionary": {"columns": columns}}}
    coded = pd.DataFrame({"x": [999, *[1, 9] * 4, 1], "c": [99, *["R", "B"] * 4, "R"]})
    plain = coded.assign(
        c=coded["c"].map({"R": "red", "B": "blue"}), x=coded["x"].astype(float).where(coded["x"] != 999)
    )
    expected = Result(model=bayes_model).predict(plain)
    studied = Result(model=bayes_model, provenance=provenance)
    pd.testing.assert_frame_equal(studied.predict(coded), expected)
    classifier = studied.to_sklearn()
    assert [str(one) for one in classifier.predict(coded)] == expected["prediction"].tolist()
    np.testing.assert_allclose(classifier.predict_proba(coded), expected.iloc[:, 1:])
    assert set(clone(classifier).fit(coded, classifier.predict(coded)).classes_) <= set(classifier.classes_)
    with pytest.raises(UsageProblem, match=r"column '.': \d+ of 10 cells are"):
        Result(model=bayes_model).predict(coded)
    with pytest.warns(UserWarning, match="column 'c': 1 of 9 cells are unknown"):
        Result(model=bayes_model).predict(plain.assign(c=[*plain["c"][:9], "green"]))
    with pytest.raises(UsageProblem, match="takes a pandas data frame"):
        Result(model=bayes_model).predict([1, 2])


def test_probabilities_of_a_network_keep_all_their_digits():
    """Rounded ones made rare classes impossible (an infinite log loss) and could pick another class than the most probable one."""
    rare, near = 2e-8, 0.5 - 1e-9
    tables = {
        "a": {"parents": [], "probabilities": [0.3, 0.7]},
        "b": {"parents": ["a"], "probabilities": [[rare, 1 - rare], [near, 1 - near]]},
    }
    result = answer({**NETWORK, "tables": tables})
    frame, wanted = pd.DataFrame({"a": ["0", "1"]}), [[rare, 1 - rare], [near, 1 - near]]
    classifier = result.to_sklearn()
    assert classifier.predict_proba(frame) == pytest.approx(np.array(wanted), rel=1e-12)
    assert classifier.predict(frame).tolist() == result.predict(frame)["prediction"].tolist() == ["y", "y"]


def test_the_package_itself_has_what_people_begin_with():
    assert fedbayes.EmbeddedFederation is EmbeddedFederation
    with pytest.raises(AttributeError, match="'EmbeddedFederatoin'"):
        fedbayes.EmbeddedFederatoin  # noqa: B018
