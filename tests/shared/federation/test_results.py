"""What a result promises is checked where it is written."""

import pytest

from fedbayes.federation import results


def test_a_result_without_a_promise_says_why():
    with pytest.raises(ValueError, match="say why"):
        results.privacy(False)


def test_roles_are_named_alike_in_every_method():
    told = dict.fromkeys(results.ROLES, "nothing")
    assert results.not_private("exact", told)["reveals"] == told
    with pytest.raises(ValueError, match="roles researcher, central"):
        results.not_private("exact", {"aggregator": "nothing"})
