"""The node's limits are read strictly and fail closed."""

import pytest

from fedbayes.federation.errors import PolicyError
from fedbayes.federation.node.policy import Policy


def read(**values):
    return Policy.from_environment({f"FEDBAYES_{name}": value for name, value in values.items()})


def test_the_defaults_protect():
    policy = read()
    assert (policy.minimum_rows, policy.minimum_organizations, policy.allow_predictions) == (10, 3, False)


@pytest.mark.parametrize("text", ["a,b", "['a', 'b']", '["a", "b"]', " a , b ", "('a', 'b')"])
def test_a_list_is_read_however_the_node_writes_it(text):
    assert read(DENIED_COLUMNS=text).denied_columns == ("a", "b")


@pytest.mark.parametrize(("text", "value"), [("True", True), ("true", True), ("0", False), ("No", False)])
def test_flags_as_yaml_writes_them(text, value):
    assert read(ALLOW_NON_PRIVATE=text).allow_non_private is value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("MINIMUM_ROWS", "ten"),
        ("MINIMUM_ROWS", "-1"),
        ("MINIMUM_ROWS", "1.5"),
        ("MAXIMUM_EPSILON", "nan"),
        ("MAXIMUM_EPSILON", ""),
        ("ALLOW_NON_PRIVATE", "perhaps"),
        ("ALLOWED_COLUMNS", "[a, b"),
        ("ALLOWED_COLUMNS", "[['a']]"),
        ("MINIMUM_ROW", "5"),
        ("LEDGER", " "),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_variable(name, text):
    with pytest.raises(PolicyError, match=f"FEDBAYES_{name}") as caught:
        read(**{name: text})
    assert text.strip() == "" or text not in str(caught.value).replace(f"FEDBAYES_{name}", "")


def test_a_budget_needs_a_ledger():
    with pytest.raises(PolicyError, match="LEDGER"):
        read(BUDGET_EPSILON="1")
    assert read(BUDGET_EPSILON="1", LEDGER="ledger").budget_epsilon == 1.0


def test_columns_are_checked_by_name():
    policy = read(ALLOWED_COLUMNS="a,b", DENIED_COLUMNS="b")
    policy.check_columns(["a"])
    for column in ("b", "c"):
        with pytest.raises(PolicyError, match=f"'{column}'"):
            policy.check_columns(["a", column])


def test_the_settings_can_always_be_read():
    policy = read(ALLOWED_FUNCTIONS="fit")
    policy.check_function("disclosure_settings")
    with pytest.raises(PolicyError, match="partial_x"):
        policy.check_function("partial_x")


@pytest.mark.parametrize("name", ["Name", "name ", "NAME", "na\u200bme", "name"])
def test_a_column_that_looks_like_a_denied_one_is_denied(name):
    """An administrator sees a name in a spreadsheet, not its blanks: the limit did nothing, and nobody noticed."""
    policy = read(DENIED_COLUMNS="name")
    assert not policy.allows(name)
    with pytest.raises(PolicyError, match="denied_columns"):
        policy.check_columns([name])
    assert policy.allows("names")


@pytest.mark.parametrize("text", ["name;sex", "'name','sex'", '"name", "sex"', "name\nsex", "{name, sex}", "name|sex"])
def test_a_list_of_another_kind_is_no_list_of_one_name(text):
    with pytest.raises(PolicyError, match="FEDBAYES_DENIED_COLUMNS"):
        read(DENIED_COLUMNS=text)
    assert read(DENIED_COLUMNS='["name;sex"]').denied_columns == ("name;sex",)


@pytest.mark.parametrize(
    "name",
    ["fedbayes_maximum_epsilon", "Fedbayes_Maximum_Epsilon", "FED_BAYES_MAXIMUM_EPSILON", "FEDBAYESMAXIMUM_EPSILON"],
)
def test_a_prefix_that_is_written_otherwise_is_refused(name):
    """The variable was ignored: the node had no limit, and said so nowhere."""
    with pytest.raises(PolicyError, match=name):
        Policy.from_environment({name: "1"})
    assert Policy.from_environment({"BAYES_MAXIMUM_EPSILON": "1", "FED": "1"}) == Policy.from_environment({})


@pytest.mark.parametrize(
    ("text", "value"), [(" 1e3 ", 1000.0), ("1_000", 1000.0), ("\u0661\u0660", 10.0), ("+.5", 0.5), ("1e-400", 0.0)]
)
def test_numbers_that_are_some_hold(text, value):
    assert read(MAXIMUM_EPSILON=text).maximum_epsilon == value


@pytest.mark.parametrize(
    "text", ["", " ", "nan", "inf", "-inf", "1e400", "-0.5", "1,5", "0x10", "1.5 epsilon", "none", "\u00bd", "None"]
)
@pytest.mark.parametrize("name", ["MAXIMUM_EPSILON", "MAXIMUM_DELTA", "MAXIMUM_HONEST_FRACTION"])
def test_numbers_that_are_none_stop_every_task(name, text):
    with pytest.raises(PolicyError, match=name):
        read(**{name: text})


@pytest.mark.parametrize("days", ["0", "1e-9", "0.04"])
def test_a_period_in_which_a_budget_limits_nothing_is_refused(days):
    with pytest.raises(PolicyError, match="BUDGET_DAYS"):
        read(LEDGER="vault", BUDGET_EPSILON="1", BUDGET_DAYS=days)
    assert read(LEDGER="vault", BUDGET_EPSILON="1", BUDGET_DAYS="0.5").budget_days == 0.5


@pytest.mark.parametrize(("name", "text"), [("SCHEMA", "schema.json"), ("PINNED_KEYS", '{"a": "9f"}')])
def test_a_file_beside_a_ledger_that_is_not_named_is_refused(name, text):
    """Without it the schema was not read: what it says to be missing was counted as values."""
    with pytest.raises(PolicyError, match=f"FEDBAYES_{name} needs FEDBAYES_LEDGER"):
        read(**{name: text})


@pytest.mark.parametrize("most", ["1", "0.30000001", "1234567.75"])
def test_what_a_refusal_says_to_ask_for_is_allowed(most):
    limits = read(MAXIMUM_EPSILON=most, ALLOW_NON_PRIVATE="true")
    with pytest.raises(PolicyError, match=f"ask for at most {most}$"):
        limits.check_release(float(most) * 2, 0.0)
    limits.check_release(float(most), 0.0)
