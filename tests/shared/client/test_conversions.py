"""Converted models predict what `Result.predict` says, and both what an enumeration says: odd names, labels that are numbers, gaps, dictionaries."""

import itertools

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from sklearn.base import clone

import fedbayes
from fedbayes.bayes.exchange import pgmpy as conversion
from fedbayes.bayes.exchange.bif import from_bif
from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.network.inference import query
from fedbayes.client.exits import UsageProblem
from fedbayes.client.result import ConversionError, Result

NAMES = ["a b", "%s", '"q"', "é—ü", "None", "nan", "1", "2.0", "a_b", "[5, 7)", "x=y", "{}", "//c", "\\", "variable"]
STATES = [
    "a b",
    "%s",
    '"q"',
    "é",
    "None",
    "nan",
    "1",
    "2",
    "true",
    "[5, 7)",
    "a_b",
    "//",
    "NA",
    "1.5",
    "x;y",
    "}",
    "-1",
]
NUMBERS = 12


def loaded(model, folder, **entries):
    """Return a result as `fedbayes.load` reads it from a file."""
    whole = {"model": model, "privacy": {}, "federation": {}, "warnings": [], "versions": {}, **entries}
    return fedbayes.load(Result(whole).save(folder / "r.json", force=True))


def picked(random, values, number):
    return [str(value) for value in random.choice(values, number, replace=False)]


def random_network(random):
    nodes = picked(random, NAMES, int(random.integers(2, 5)))
    states = {node: tuple(picked(random, STATES, int(random.integers(2, 4)))) for node in nodes}
    parents, tables = {}, {}
    for place, node in enumerate(nodes):
        parents[node] = tuple(random.permutation(nodes[:place])[:2].tolist())
        shape = [len(states[name]) for name in (*parents[node], node)]
        tables[node] = random.dirichlet(np.ones(shape[-1]), shape[:-1])
    return BayesianNetwork(states, parents, tables)


def test_predictions_in_python_name_arguments_and_not_options(tmp_path):
    result = loaded(random_network(np.random.default_rng(0)).to_dict(), tmp_path)
    frame = pd.DataFrame({"nothing": ["x"]})
    for asked, words in [({}, "label is needed"), ({"label": "nobody"}, "label: "), ({"times": [1]}, "times is for")]:
        with pytest.raises(UsageProblem, match=f"^{words}"):
            result.predict(frame, **asked)


def enumerated(network, record, label):
    """Return P(label | what the record holds) by adding up every completion."""
    total = dict.fromkeys(network.states[label], 0.0)
    for values in itertools.product(*network.states.values()):
        world = dict(zip(network.nodes, values, strict=True))
        if all(record[node] in (None, world[node]) for node in network.nodes if node != label):
            codes = {node: network.states[node].index(world[node]) for node in network.nodes}
            total[world[label]] += np.prod(
                [network.tables[n][tuple(codes[p] for p in (*network.parents[n], n))] for n in network.nodes]
            )
    weights = np.array(list(total.values()))
    return weights / weights.sum()


@pytest.mark.parametrize("seed", range(15))
def test_networks_with_odd_names_are_the_same_elsewhere(seed, tmp_path):
    random = np.random.default_rng(seed)
    network = random_network(random)
    label = str(random.choice(network.nodes))
    result = loaded({**network.to_dict(), "label": label}, tmp_path)
    records = [
        {node: None if random.random() < 0.2 else str(random.choice(network.states[node])) for node in network.nodes}
        for _ in range(6)
    ]
    frame = pd.DataFrame(records, columns=list(network.nodes), index=random.permutation(6) + 3)
    expected = np.array([enumerated(network, record, label) for record in records])
    predicted = result.predict(frame)
    probabilities = predicted[[f"P({state})" for state in network.states[label]]].to_numpy()
    np.testing.assert_allclose(probabilities, expected, atol=1e-9)
    classifier = result.to_sklearn()
    np.testing.assert_array_equal(classifier.predict_proba(frame), probabilities)
    assert [str(one) for one in classifier.predict(frame).tolist()] == predicted["prediction"].tolist()
    back = from_bif(result.to_bif())
    assert (back.states, back.parents) == (network.states, network.parents)
    for node, table in network.tables.items():
        np.testing.assert_allclose(back.tables[node], table, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_pgmpy_says_the_same_of_every_state_given_another(seed, tmp_path):
    inference = pytest.importorskip("pgmpy.inference", reason="pgmpy is not installed: pip install pgmpy")
    network = random_network(np.random.default_rng(seed))
    model = loaded({**network.to_dict(), "label": None}, tmp_path).to_pgmpy()
    assert model.check_model()
    elimination = inference.VariableElimination(model)
    for node, other in itertools.permutations(network.nodes, 2):
        for state in network.states[other]:
            answer = elimination.query([node], evidence={other: state}, show_progress=False)
            given = [answer.get_value(**{node: one}) for one in network.states[node]]
            expected = query(network, {other: state}, [node])[node]
            np.testing.assert_allclose(given, [expected[one] for one in network.states[node]], atol=1e-9)


def test_members_of_an_ensemble_become_networks_of_pgmpy_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(conversion, "to_pgmpy", lambda network: network)
    networks = [random_network(np.random.default_rng(seed)) for seed in (1, 2)]
    members = [{"name": f"m{place}", "network": one.to_dict()} for place, one in enumerate(networks)]
    model = {"label": "y", "members": [*members, {"name": "secret", "network": None}], "weights": "uniform"}
    made = loaded(model, tmp_path).to_pgmpy()
    assert list(made) == ["m0", "m1"]
    for network, one in zip(networks, made.values(), strict=True):
        assert (one.states, one.parents) == (network.states, network.parents)
        for node in network.nodes:
            np.testing.assert_array_equal(one.tables[node], network.tables[node])


def random_cox(random, names):
    """Return a Cox model of numbers and one text column, records, and their linear predictors by hand."""
    records = pd.DataFrame(random.normal(size=(NUMBERS, len(names))), columns=names)
    design = records.copy()
    records["g %s"] = random.choice(["x y", "%d", "None"], NUMBERS)
    for category in ("%d", "None"):
        design[f"g %s={category}"] = (records["g %s"] == category).astype(float)
    beta, root = random.normal(size=design.shape[1]), random.normal(size=(design.shape[1],) * 2)
    errors = np.sqrt(np.diag(root @ root.T))
    offset = float(beta @ design.mean())
    fields = ("feature", "coefficient", "standard_error", "lower_95", "upper_95", "z", "p")
    rows = zip(design, beta, errors, beta - errors, beta + errors, beta / errors, np.full(len(beta), 0.5), strict=True)
    model = {
        "coefficients": [dict(zip(fields, row, strict=True)) for row in rows],
        "covariance": (root @ root.T).tolist(),
        "references": {"g %s": "x y"},
        "offset": offset,
        "baseline": {"time": np.arange(1.0, 9.0).tolist(), "cumulative_hazard": np.linspace(0.1, 1.5, 8).tolist()},
    }
    return model, records, design, design.to_numpy() @ beta - offset


@pytest.mark.parametrize(
    "names",
    [
        ["a b", "%s", "é"],
        ['"q"', "None", "1"],
        ["time", "event", "covariate"],
        ["__time__", "__event__"],
        ["C(x)", "a:b"],
    ],
)
def test_lifelines_says_the_same_of_features_with_odd_names(names, tmp_path):
    model, records, design, predictor = random_cox(np.random.default_rng(len(names)), names)
    result = loaded(model, tmp_path)
    times = [0.0, 1.0, 5.0, 8.0, 20.0]  # between event times lifelines draws straight lines
    ours = result.predict(records, times=times)
    np.testing.assert_allclose(ours["linear_predictor"], predictor)
    survival = np.exp(-np.outer(np.exp(predictor), [0.0, 0.1, 0.9, 1.5, 1.5]))
    np.testing.assert_allclose(ours.filter(regex=r"^S\("), survival)
    fitter = result.to_lifelines()
    np.testing.assert_allclose(fitter.predict_log_partial_hazard(design), predictor)
    np.testing.assert_allclose(fitter.predict_survival_function(design, times).T, survival)


def test_a_name_that_lifelines_would_drop_is_refused(tmp_path):
    model = random_cox(np.random.default_rng(0), ["Intercept", "age"])[0]
    with pytest.raises(ConversionError, match="'Intercept'"):
        loaded(model, tmp_path).to_lifelines()


@pytest.fixture(scope="module")
def people():
    random = np.random.default_rng(3)
    ill = random.integers(0, 2, 240)
    frame = pd.DataFrame(
        {"smoke": random.integers(1, 5, 240), "kg": random.normal(70 + 9 * ill, 10).round(1), "m %s": 1.7, "ill": ill}
    )
    frame["age"] = np.where(random.random(240) < 0.2, -9, random.integers(20, 90, 240))
    return frame


@pytest.mark.parametrize("method", ["dp_naive_bayes", "discriminative_naive_bayes"])
def test_a_classifier_reads_tables_by_the_dictionary_of_the_fit(people, method, tmp_path):
    columns = {
        "smoke": {"categories": ["never", "now"], "recode": {"1": "never", "2": "never", "3": "now", "4": "now"}},
        "age": {"type": "number", "bounds": [20, 90], "missing": ["-9"]},
        "bmi": {"type": "number", "bounds": [10, 60], "derive": "kg / column('m %s') ** 2"},
        "ill": {"categories": [0, 1]},
    }
    given = {"label": "ill", "features": ["smoke", "age", "bmi"], "dictionary": {"columns": columns}}
    given |= {"noise": "none"} if method == "dp_naive_bayes" else {}
    parties = {name: people.iloc[start::3] for start, name in enumerate("abc")}
    with OneProcess(parties, policies={"*": {"allow_formulas": True}}) as federation:
        result = fedbayes.load(federation.run(method, "fit", given).save(tmp_path / "r.json"))
    table = people.drop(columns="ill")
    expected = result.predict(table)[["P(0)", "P(1)"]].to_numpy()
    classifier = result.to_sklearn()
    np.testing.assert_allclose(classifier.predict_proba(table), expected)
    assert classifier.predict(table).astype(str).tolist() == result.predict(table)["prediction"].tolist()
    again = clone(classifier).fit(table, people["ill"].to_numpy())
    np.testing.assert_allclose(again.predict_proba(table), expected, atol=1e-3)


@pytest.mark.parametrize("labels", [[1, "a"], [True, "no"], [0, 1, 2], ["None", "nan"], [True, False]])
def test_a_classifier_predicts_its_own_classes(labels, tmp_path):
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"x": random.normal(size=90), "y": random.choice(np.array(labels, dtype=object), 90)})
    domain = {"x": {"bounds": [-3, 3]}, "y": {"categories": labels}}
    with OneProcess({name: frame.iloc[start::3] for start, name in enumerate("abc")}) as federation:
        fitted = federation.run("dp_naive_bayes", "fit", {"label": "y", "domain": domain, "noise": "none"})
    result = fedbayes.load(fitted.save(tmp_path / "r.json"))
    classifier = result.to_sklearn()
    assert classifier.classes_.tolist() == labels
    predicted = classifier.predict(frame)
    assert set(predicted.tolist()) <= set(labels)
    assert [str(value) for value in predicted] == result.predict(frame)["prediction"].tolist()


@pytest.mark.parametrize("gap", [False, True])
def test_numbers_of_any_dtype_are_binned_alike(gap, tmp_path):
    bins = ["below 2", "[2, 5)", "5 or more"]
    network = BayesianNetwork(
        {"size": tuple(bins), "kind": ("a", "b")},
        {"size": ("kind",), "kind": ()},
        {"size": np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]), "kind": np.array([0.4, 0.6])},
    )
    model = {**network.to_dict(), "label": "kind"}
    model["nodes"]["size"]["cuts"] = [2.0, 5.0]
    result = loaded(model, tmp_path)
    plain = pd.DataFrame({"size": [-1.0, 2.0, 4.9, np.nan if gap else 5.0, 99.0]})
    meant = [bins[0], bins[1], bins[1], None if gap else bins[2], bins[2]]
    expected = [enumerated(network, {"size": state, "kind": None}, "kind") for state in meant]
    texts = plain.astype(str).astype(object).where(plain.notna(), None)
    for frame in (plain, plain.astype(object), plain.astype(object).where(plain.notna(), None), texts):
        np.testing.assert_allclose(result.predict(frame)[["P(a)", "P(b)"]], expected)
    np.testing.assert_allclose(result.predict(plain.convert_dtypes())[["P(a)", "P(b)"]], expected)
    np.testing.assert_allclose(result.to_sklearn().predict_proba(plain.astype(object)), expected)


@pytest.mark.parametrize("kind", ["float32", "Float32", "float16"])
def test_numbers_of_single_precision_are_the_decimals_that_they_are(kind, tmp_path):
    """0.7 of single precision is 0.69999998807, which is below 0.7."""
    network = BayesianNetwork(
        {"size": ("below", "above"), "kind": ("a", "b")},
        {"size": ("kind",), "kind": ()},
        {"size": np.array([[0.7, 0.3], [0.1, 0.9]]), "kind": np.array([0.4, 0.6])},
    )
    model = {**network.to_dict(), "label": "kind"}
    model["nodes"]["size"]["cuts"] = [0.7]
    frame = pd.DataFrame({"size": [0.7, 0.1, 0.9]})
    expected = [enumerated(network, {"size": state, "kind": None}, "kind") for state in ("above", "below", "above")]
    result = loaded(model, tmp_path)
    np.testing.assert_allclose(result.to_sklearn().predict_proba(frame.astype(kind)), expected)
    domain = {"size": {"bounds": [0, 1]}, "kind": {"categories": ["a", "b"]}}
    table = pd.DataFrame({"size": np.tile([0.2, 0.65, 0.7, 0.95], 30), "kind": np.tile(["a", "a", "b", "b"], 30)})
    with OneProcess({name: table.iloc[start::3] for start, name in enumerate("xyz")}) as federation:
        bayes = federation.run(
            "dp_naive_bayes", "fit", {"label": "kind", "domain": domain, "noise": "none", "bins": {"size": [0.7]}}
        )
    classifier = bayes.to_sklearn()
    single = table[["size"]].astype(kind)
    np.testing.assert_array_equal(classifier.predict_proba(single), classifier.predict_proba(table[["size"]]))
    assert classifier.fit(single, table["kind"]).predict_proba(frame[:1])[0, 1] > 0.5


@pytest.mark.parametrize("written", [[1, 0, 1], [1.0, 0.0, None], ["1", "0", " 1 "], ["TRUE", "False", "true"]])
def test_truth_values_of_a_network_are_ones_and_zeros_too(written, tmp_path):
    network = BayesianNetwork(
        {"smoke": ("true", "false", "?"), "kind": ("a", "b")},
        {"smoke": ("kind",), "kind": ()},
        {"smoke": np.array([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4]]), "kind": np.array([0.4, 0.6])},
    )
    result = loaded({**network.to_dict(), "label": "kind"}, tmp_path)
    meant = ["true", "false", "?" if written[2] is None else "true"]
    expected = [enumerated(network, {"smoke": state, "kind": None}, "kind") for state in meant]
    np.testing.assert_allclose(result.predict(pd.DataFrame({"smoke": written}))[["P(a)", "P(b)"]], expected)


@pytest.mark.parametrize("written", [[True, False, True], [1, 0, 1], ["1", "0", "1"], ["True", "FALSE", " true"]])
@pytest.mark.parametrize(("reference", "other"), [("true", "false"), ("0", "1")])
def test_truth_values_of_a_cox_model_are_ones_and_zeros_too(written, reference, other, tmp_path):
    coefficients = [{"feature": f"smoke={other}", "coefficient": 1.0}]
    model = {"kind": "cox", "coefficients": coefficients, "references": {"smoke": reference}, "features": ["smoke"]}
    result = loaded({**model, "baseline": {"time": [1.0], "cumulative_hazard": [0.2]}, "offset": 0.0}, tmp_path)
    truths = [0.0, 1.0, 0.0] if other == "false" else [1.0, 0.0, 1.0]
    np.testing.assert_allclose(result.predict(pd.DataFrame({"smoke": written}))["linear_predictor"], truths)
    numbers = loaded({**result["model"], "coefficients": [{"feature": "smoke", "coefficient": 1.0}]}, tmp_path)
    np.testing.assert_allclose(numbers.predict(pd.DataFrame({"smoke": written}))["linear_predictor"], [1.0, 0.0, 1.0])


LABELS = {"0 and 1": [0, 1], "three": [0, 1, 2], "truths": [False, True], "texts": ["n", "y"]}


@pytest.mark.few(6)
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("method", ["discriminative_naive_bayes", "vertibayes", "bayesian_ensemble"])
def test_scikit_learn_scores_a_classifier_against_the_labels_of_a_table(method, labels):
    random = np.random.default_rng(5)
    places = random.integers(0, len(labels), 240)
    frame = pd.DataFrame({"a": random.choice(["u", "v"], 240), "c": [f"c{k}" for k in places]})
    frame["c"] = frame["c"].where(random.random(240) < 0.8, "c0")
    frame["y"] = np.array(labels, dtype=object)[places]
    frame = frame.infer_objects()
    domain = {"a": {"categories": ["u", "v"]}, "c": {"categories": sorted(frame["c"].unique())}}
    asked = {"label": "y", "domain": {**domain, "y": {"categories": labels}}}
    if method != "discriminative_naive_bayes":
        asked |= {"split": "horizontal"}
        asked |= (
            {"columns": ["a", "c", "y"], "structure": "naive"} if method == "vertibayes" else {"features": ["a", "c"]}
        )
    with OneProcess({name: frame.iloc[start::3] for start, name in enumerate("xyz")}) as federation:
        result = federation.run(method, "fit", asked)
    classifier, features = result.to_sklearn(), frame[["a", "c"]]
    assert classifier.classes_.tolist() == labels
    told = result.predict(features)["prediction"].str.lower() == [str(label).lower() for label in frame["y"]]
    assert classifier.score(features, frame["y"]) == pytest.approx(told.mean())
    assert told.mean() > 0.6
