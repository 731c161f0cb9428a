"""`fedbayes plan`: what a task would ask and cost is what it then does; nobody is asked, and limits refuse as nodes do."""

import json

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.client.exits import UsageProblem
from fedbayes.client.plans.planning import plan
from fedbayes.client.plans.setting import Setting
from fedbayes.client.running.catalogue import declared_of, installed, rounds_of
from fedbayes.client.running.local import Job
from fedbayes.federation import Federation
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.jobs.outset import Foreseen, Outlook, Outset
from fedbayes.federation.node.policy import Policy
from fedbayes.federation.perimeter.opening import Preflight
from v6_verticox.rounds.surface import FederatedSurface

DOMAIN = {"y": {"categories": ["p", "q"]}, "x": {"bounds": [0, 1]}, "z": {"bounds": [0, 1]}}
FIT = Job("dp_naive_bayes", "fit", {"label": "y", "epsilon": 0.5, "domain": DOMAIN})


@pytest.mark.parametrize("algorithm", ["dp_naive_bayes", "secure_naive_bayes", "discriminative_naive_bayes"])
def test_a_column_of_identifiers_is_no_feature_of_the_plan(algorithm):
    tables = {"tables": "dp"} if algorithm.startswith("discriminative") else {}
    unit = {"unit": "identifier", "id_column": "id", "max_rows_per_identifier": 2}
    asked = {**FIT.arguments, **tables, **unit}
    planned = plan(Job(algorithm, "fit", asked), Setting(rows=180))
    listed = plan(Job(algorithm, "fit", {**asked, "domain": {**DOMAIN, "id": {"bounds": [0, 99]}}}), Setting(rows=180))
    assert listed == planned


def test_the_plan_of_a_fit_is_what_it_then_costs():
    rng = np.random.default_rng(1)
    frames = {
        name: pd.DataFrame({"y": rng.choice(["p", "q"], 60), "x": rng.random(60), "z": rng.random(60)})
        for name in "abc"
    }
    with EmbeddedFederation(frames) as federation:
        result = federation.run(FIT.algorithm, FIT.function, FIT.arguments)
    told = plan(FIT, Setting(rows=180))
    assert told["rounds"] == result.cost.rounds
    assert told["private"] == result.privacy.differentially_private
    assert all(debit["epsilon"] == pytest.approx(told["debit"]["epsilon"]) for debit in result.cost.debits.values())
    noise = result["model"]["features"]["x"]["noise"]
    assert told["noise"]["deviation"] == pytest.approx(noise)
    assert told["noise"]["cells"] == 40
    assert told["noise"]["dominates"] == (told["noise"]["deviation"] > 180 / 40)
    assert set(told["columns"]) == set(DOMAIN)


@pytest.mark.parametrize(
    ("algorithm", "asked"),
    [
        ("dp_naive_bayes", {"neighbors": "replace_one"}),
        ("dp_naive_bayes", {"noise": "local", "delta": 1e-6, "mechanism": "gaussian"}),
        (
            "dp_naive_bayes",
            {"honest_fraction": 0.3, "delta": 1e-6, "mechanism": "gaussian", "neighbors": "replace_one"},
        ),
        ("dp_naive_bayes", {"unit": "identifier", "id_column": "id", "max_rows_per_identifier": 3}),
        ("secure_naive_bayes", {"modulus_bits": 2048}),
        ("secure_naive_bayes", {"modulus_bits": 2048, "honest_fraction": 0.3}),
    ],
)
def test_planned_noise_is_that_of_the_fit_whatever_relation_unit_and_placement(algorithm, asked):
    table = pd.DataFrame(
        {"id": range(30), "y": ["p", "q"] * 15, "x": np.linspace(0, 1, 30), "z": np.linspace(1, 0, 30)}
    )
    job = Job(algorithm, "fit", {"label": "y", "epsilon": 0.7, "domain": DOMAIN, "bins": 5, **asked})
    with OneProcess({name: table for name in "abcd"}) as federation:
        result = federation.run(job.algorithm, job.function, job.arguments)
    planned = plan(job, Setting(stations=4))["noise"]["deviation"]
    assert planned == pytest.approx(result["model"]["features"]["x"]["noise"], rel=1e-6)


def test_a_column_that_is_written_nearly_as_one_of_the_dictionary_is_pointed_out():
    study = {"columns": {"id": {"type": "identifier"}, "sex": {"type": "category", "categories": ["f", "m"]}}}
    asked = {"columns": ["sx", "elsewhere"], "dictionary": study, "id_column": "id"}
    told = plan(Job("scalar_product", "contingency", asked), Setting())
    assert told["warnings"] == ["column 'sx' is not in the dictionary (did you mean 'sex'?)"]
    assert (
        plan(Job("scalar_product", "contingency", {**asked, "columns": ["sex", "else"]}), Setting())["warnings"] == []
    )


def test_without_noise_none_is_planned():
    exact = Job("dp_naive_bayes", "fit", {**FIT.arguments, "noise": "none"})
    assert plan(exact, Setting())["noise"] is None


@pytest.mark.parametrize(("stations", "features", "bins"), [(3, 1, 5), (5, 12, 16)])
@pytest.mark.parametrize("algorithm", ["dp_naive_bayes", "secure_naive_bayes"])
def test_planned_bytes_are_about_those_of_the_fit(algorithm, stations, features, bins):
    names = [f"x{k}" for k in range(features)]
    domain = {"y": DOMAIN["y"], **dict.fromkeys(names, DOMAIN["x"])}
    table = pd.DataFrame({"y": ["p", "q"] * 15, **{name: np.linspace(0, 1, 30) for name in names}})
    modulus = {"modulus_bits": 2048} if algorithm == "secure_naive_bayes" and features > 1 else {}  # many ciphers
    job = Job(algorithm, "fit", {"label": "y", "epsilon": 1, "domain": domain, "bins": bins, **modulus})
    with OneProcess({f"s{k}": table for k in range(stations)}) as federation:
        result = federation.run(job.algorithm, job.function, job.arguments)
    assert plan(job, Setting(stations=stations))["bytes"] == pytest.approx(result.cost.bytes, rel=0.35)


def test_bytes_that_depend_on_more_than_the_question_are_not_told():
    assert (
        plan(Job("dp_naive_bayes", "fit", {**FIT.arguments, "aggregation": "gossip", "noise": "local"}), Setting())[
            "bytes"
        ]
        is None
    )
    count = {"conditions": [{"column": "a", "op": "==", "value": 1}], "id_column": "id"}
    assert plan(Job("scalar_product", "count", count), Setting())["bytes"] is None


def split_by_columns(stations, rows, states):
    """Return parties with two columns each, every one after the first like one before in half of the records, and their domain."""
    rng = np.random.default_rng(4)
    values = rng.integers(0, states, (rows, 2 * stations))
    for place in range(1, 2 * stations):
        like = rng.random(rows) < 0.5
        values[like, place] = values[like, rng.integers(0, place)]
    identifier = [f"{record:06d}" for record in range(rows)]
    names = [f"x{place}" for place in range(2 * stations)]
    parties = {
        f"s{station}": pd.DataFrame(
            {"id": identifier, **{name: values[:, int(name[1:])].astype(str) for name in names[station::stations]}}
        )
        for station in range(stations)
    }
    return parties, {name: {"categories": [str(state) for state in range(states)]} for name in names}


def condition(column):
    return {"column": column, "op": "==", "value": "1"}


@pytest.mark.few(6)
@pytest.mark.parametrize(("stations", "rows", "states"), [(3, 1500, 3), (4, 600, 2)])
@pytest.mark.parametrize(
    ("algorithm", "function", "asked"),
    [
        ("scalar_product", "contingency", {"columns": ["x0", "x1"]}),
        ("scalar_product", "contingency", {"columns": ["x0", "x1", "x2"]}),
        ("scalar_product", "information_gain", {"columns": ["x1", "x2", "x3"], "label": "x0"}),
        ("scalar_product", "count", {"conditions": [condition("x0"), condition("x1")]}),
        ("vertibayes", "fit", {"columns": [f"x{place}" for place in range(6)]}),
        ("vertibayes", "fit", {"columns": [f"x{place}" for place in range(6)], "structure": "naive", "label": "x0"}),
    ],
)
def test_planned_bytes_of_linked_records_are_about_those_sent(algorithm, function, asked, stations, rows, states):
    parties, domain = split_by_columns(stations, rows, states)
    arguments = {"id_column": "id", **asked, **({} if function == "count" else {"domain": domain})}
    with OneProcess(parties, helpers=["z"]) as federation:
        result = federation.run(algorithm, function, arguments)
    planned = plan(Job(algorithm, function, arguments), Setting(stations=stations, rows=rows))["bytes"]
    assert planned == pytest.approx(result.cost.bytes, rel=0.25)


@pytest.mark.few(1)
@pytest.mark.parametrize(("stations", "rows", "features"), [(3, 500, 4), (4, 300, 8)])
@pytest.mark.parametrize("more", [{}, {"robust": True}, {"cluster": "family"}], ids=["plain", "robust", "cluster"])
def test_planned_rounds_and_bytes_of_a_cox_model_are_about_those_sent(monkeypatch, stations, rows, features, more):
    counted, squares = [], FederatedSurface.squares

    async def watched(surface):
        counted.append(surface.federation.rounds)
        found = await squares(surface)
        counted.append(surface.federation.rounds)
        return found

    monkeypatch.setattr(FederatedSurface, "squares", watched)
    rng = np.random.default_rng(4)
    values = rng.normal(size=(rows, features))
    death, censored = rng.exponential(np.exp(-0.4 * values[:, 0])), rng.exponential(2.0, rows)
    outcome = {"t": np.minimum(death, censored), "e": (death <= censored).astype(int)}
    names = [f"x{place}" for place in range(features)]
    parties = {
        f"s{station}": pd.DataFrame(
            {
                **({} if station else outcome),
                **({"family": np.arange(rows) // 3} if station == 1 else {}),
                **{name: values[:, int(name[1:])] for name in names[station::stations]},
            }
        )
        for station in range(stations)
    }
    asked = {"time": "t", "event": "e", "features": names, "rows_aligned": True}
    job, plain = Job("verticox", "fit", {**asked, **more}), Job("verticox", "fit", asked)
    with OneProcess(parties, helpers=["z"]) as federation:
        result = federation.run(job.algorithm, job.function, job.arguments)
    planned, before = (plan(one, Setting(stations=stations, rows=rows)) for one in (job, plain))
    assert planned["bytes"] == pytest.approx(result.cost.bytes, rel=0.25)
    assert planned["rounds"] == pytest.approx(result.cost.rounds, rel=0.4)  # a fit takes as many as its steps need
    assert len(counted) == 2 * bool(more)
    own = result["federation"]["per_round"][slice(*counted)] if more else []
    assert abs(planned["rounds"] - before["rounds"] - len(own)) <= 1
    assert planned["bytes"] - before["bytes"] == pytest.approx(sum(one["bytes"] for one in own), rel=0.4)


@pytest.mark.parametrize(
    ("algorithm", "function", "asked"),
    [
        ("scalar_product", "contingency", {"columns": ["x", "unknown"], "domain": DOMAIN}),
        ("scalar_product", "contingency", {"columns": ["x", "y"], "domain": DOMAIN, "helper": "none"}),
        ("scalar_product", "count", {"conditions": [condition("x")], "protocol": "thesis"}),
        ("vertibayes", "fit", {"columns": ["x", "y"], "domain": DOMAIN, "split": "horizontal"}),
        ("verticox", "fit", {"time": "t", "event": "e", "formula": "~ x"}),
        ("verticox", "fit", {"time": "t", "event": "e", "features": ["x"], "solver": "admm"}),
    ],
)
def test_bytes_of_linked_records_that_nobody_knows_before_are_not_told(algorithm, function, asked):
    assert plan(Job(algorithm, function, {"id_column": "id", **asked}), Setting(rows=500))["bytes"] is None


@pytest.mark.parametrize(
    ("limits", "stations", "part"),
    [
        ({"maximum_epsilon": 0.1}, 3, "above what this node allows for one release (maximum_epsilon)"),
        ({"denied_columns": ["x"]}, 3, "column 'x' may not be used at this node (denied_columns)"),
        ({"allowed_functions": ["fit"]}, 3, "is not allowed at this node (allowed_functions)"),
        ({"minimum_organizations": 5}, 3, "minimum_organizations=5"),
        ({"budget_epsilon": 0.4}, 3, "budget_epsilon=0.4: one task costs 0.5"),
    ],
)
def test_limits_that_would_refuse_are_told(limits, stations, part):
    (told,) = plan(FIT, Setting(stations=stations, limits=limits))["refusals"]
    assert part in told


def test_a_dictionary_tells_the_plan_what_a_domain_would():
    columns = {
        "y": {"type": "category", "categories": ["p", "q"]},
        "x": {"type": "number", "bounds": [0, 1], "bins": [0.2, 0.5]},
        "z": {"type": "number", "bounds": [0, 1000], "bins": {"log": 7}},
        "w": {"type": "number", "bounds": [0, 1], "bins": 6},
    }
    asked = {"label": "y", "epsilon": 0.5, "dictionary": {"columns": columns}}
    told = plan(Job("dp_naive_bayes", "fit", asked), Setting(rows=180))
    assert told["noise"]["cells"] == 2 * 7
    fewer = plan(Job("dp_naive_bayes", "fit", {**asked, "features": ["x"]}), Setting(rows=180))
    assert fewer["noise"]["cells"] == 2 * 3
    assert fewer["noise"]["deviation"] < told["noise"]["deviation"]


def test_a_function_that_asks_nobody_says_so():
    model = {
        "nodes": {"x": {"states": ["a", "b"]}},
        "edges": [],
        "tables": {"x": {"parents": [], "probabilities": [0.5, 0.5]}},
    }
    with pytest.raises(UsageProblem, match="sample asks no station"):
        plan(Job("vertibayes", "sample", {"model": model}), Setting())


def test_answers_without_noise_and_single_records_are_refused_where_nodes_do():
    job = Job(
        "scalar_product",
        "count",
        {
            "conditions": [{"column": "a", "op": "==", "value": 1}, {"column": "b", "op": "==", "value": 1}],
            "id_column": "id",
        },
    )
    told = plan(job, Setting(limits={"allow_non_private": "false"}))
    assert told["debit"]["queries"] >= 1
    assert any("allow_non_private=false" in text for text in told["refusals"])
    assert plan(job, Setting())["refusals"] == []


def test_the_command_prints_it_and_exits_as_check_does(command):
    words = ["plan", "dp_naive_bayes", "fit", "--arg", "label=y", "--arg", "epsilon=1"]
    code, out, err = command(*words)
    assert (code, err) == (0, "")
    assert "debit at each station:    epsilon 1" in out
    assert json.loads(command(*words, "--json")[1])["debit"] == {"epsilon": 1.0, "delta": 0.0, "queries": 0}
    code, out, err = command(*words, "--policy", "maximum_epsilon=0.5")
    assert code == 3
    assert "debit" in out
    assert "would refuse" in err


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["plan"], "`fedbayes algorithms` lists them"),
        (["plan", "nothing", "fit"], "installed are"),
        (["plan", "dp_naive_bayes", "fot"], "it has: "),
        (["plan", "dp_naive_bayes", "fit", "--arg", "label=y", "--arg", "epsilon=-1"], "epsilon must be"),
        (["plan", "dp_naive_bayes", "disclosure_settings"], "nothing that can be planned"),
        (
            ["plan", "dp_naive_bayes", "fit", "--arg", "label=y", "--arg", "epsilon=1", "--policy", "minimum_rows=few"],
            "the value of 'minimum_rows' cannot be read",
        ),
        (["plan", "dp_naive_bayes", "fit", "--arg", "label=y", "--arg", "epsilon=1", "--stations", "0"], "--stations"),
    ],
)
def test_wrong_plans_are_answered_in_one_line(command, words, part):
    code, _, err = command(*words)
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert part in err


@pytest.mark.parametrize(("features", "spent"), [(2, 0.0), (20, 1e-6)])
def test_the_delta_that_is_told_is_the_one_that_is_spent(features, spent):
    """`mechanism="auto"` leaves the delta where few tables are better off with discrete Laplace noise."""
    names = [f"x{place}" for place in range(features)]
    domain = {"y": {"categories": ["p", "q"]}, **{name: {"categories": ["u", "v"]} for name in names}}
    arguments = {"label": "y", "epsilon": 0.5, "delta": 1e-6, "domain": domain}
    rng = np.random.default_rng(1)
    frames = {
        party: pd.DataFrame({"y": rng.choice(["p", "q"], 60), **{name: rng.choice(["u", "v"], 60) for name in names}})
        for party in "abc"
    }
    told = plan(Job("dp_naive_bayes", "fit", arguments), Setting(limits={"budget_delta": 1e-7}))
    with OneProcess(frames) as federation:
        result = federation.run("dp_naive_bayes", "fit", arguments)
    assert told["debit"]["delta"] == spent == result.privacy.delta
    assert {debit["delta"] for debit in result.cost.debits.values()} == {spent}
    assert bool(told["refusals"]) == (spent > 0)


def test_every_function_that_reads_tables_tells_its_rounds():
    functions = [(algorithm.name, entry.name) for algorithm in installed() for entry in algorithm.functions]
    silent = [
        (name, function)
        for name, function in functions
        if (declared := declared_of(Job(name, function))).reads_table and declared.declared()
        if not rounds_of(Job(name, function))
    ]
    assert not silent


def test_what_asks_before_it_tells_cannot_be_planned(monkeypatch):
    """A round before the channel is open ends the plan; a mistake in a central function is no such end."""
    import v6_dp_naive_bayes as package

    def asking(federation, **given):
        federation.round("partial_count", None, federation.resolve(None), None)

    def mistaken(federation, **given):
        federation.no_such_thing()

    monkeypatch.setattr(package.fit, "fedbayes_body", asking)
    with pytest.raises(UsageProblem, match="fedbayes check"):
        plan(FIT, Setting())
    monkeypatch.setattr(package.fit, "fedbayes_body", mistaken)
    with pytest.raises(AttributeError, match="no_such_thing"):
        plan(FIT, Setting())


def test_an_outlook_and_a_federation_know_the_same_at_the_outset():
    policy = Policy()
    here, outlook = Outset({4: "Maastro", 7: "Rotterdam"}, 4, policy), Outlook(2, policy)
    for outset in (here, outlook):
        outset.warn("once")
        outset.warn("once")
        assert outset.warnings == ["once"]
        assert outset.policy is policy
        assert outset.name(9) == "organization 9"
    assert here.resolve(["Rotterdam"]) == (7,)
    assert (outlook.resolve(["Rotterdam"]), outlook.resolve(None)) == ((1,), (1, 2))
    assert issubclass(Federation, Outset)
    with pytest.raises(Foreseen) as end:
        outlook.open_channel(["Rotterdam"], Preflight(functions=("fit",)))
    assert end.value.preflight.functions == ("fit",)
    assert list(outlook.names) == [1]


def test_what_stations_debit_by_their_columns_is_told_as_a_whole(command):
    binary = {"categories": ["no", "yes"]}
    random = np.random.default_rng(4)
    ills = np.where(random.random((60, 3)) < 0.5, "yes", "no")
    parties = {name: pd.DataFrame({"y": ills[:, 0], name: ills[:, place]}) for place, name in enumerate("wxz")}
    asked = {"label": "y", "split": "vertical", "epsilon": 2.0, "domain": {name: binary for name in "wxyz"}}
    told = plan(Job("secure_naive_bayes", "fit", asked), Setting())
    with OneProcess(parties) as federation:
        result = federation.run("secure_naive_bayes", "fit", asked)
    assert told["debit"]["epsilon"] == 0.0
    assert sum(debit["epsilon"] for debit in result.cost.debits.values()) == pytest.approx(told["shared_epsilon"])
    words = ["--arg", "label=y", "--arg", "split=vertical", "--arg", "epsilon=2"]
    assert "its part by columns of epsilon 2," in command("plan", "secure_naive_bayes", "fit", *words)[1]
