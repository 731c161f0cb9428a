"""Tables with more columns, of any name."""

from pathlib import Path

import pandas as pd
import pytest

from fedbayes.bayes.values.frames import with_columns
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.vertical.states import ColumnStates

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", ["self", "x", "a b", "__class__"])
def test_a_column_may_have_any_name(name: str) -> None:
    table = pd.DataFrame({"x": [1, 2], "y": [3, 4]})
    made = with_columns(table, {name: [5, 6]})
    assert made[name].tolist() == [5, 6]
    assert table.to_dict("list") == {"x": [1, 2], "y": [3, 4]}


def test_no_column_is_handed_over_as_a_keyword() -> None:
    """A column ``self`` cannot be one."""
    sources = [path for part in ("shared/src", "algorithms", "studies") for path in (ROOT / part).rglob("*.py")]
    allowed = {"lifelines_model.py"}  # its columns are made up
    found = [path.name for path in sources if ".assign(**" in path.read_text(encoding="utf-8")]
    assert len(sources) > 100
    assert set(found) <= allowed


@pytest.mark.parametrize("labels", [("1", "2", "?"), ("1", "?", "z"), ("?", None)])
def test_no_category_of_a_network_is_called_as_a_missing_value(labels: tuple[str | None, ...]) -> None:
    with pytest.raises(ArgumentError, match=r"'x' has a category '\?'.*dictionary"):
        ColumnStates("x", labels).variable()
    assert ColumnStates("x", ("1", "??", None)).variable().all_states() == ("1", "??", "?")
