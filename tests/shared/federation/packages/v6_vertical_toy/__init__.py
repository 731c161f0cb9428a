"""Batches of tables over vertically split records, as a method would ask for them."""

from toy_kit import toy_central

from fedbayes.federation import Preflight, Relation, results
from fedbayes.federation.questions.factor_info import Wanted
from fedbayes.federation.remote import disclosure_settings, partial_close, partial_open_channel
from fedbayes.federation.vertical import PARTIALS, SecureTables, open_parties, remote
from fedbayes.federation.vertical.engine import Engine
from fedbayes.federation.vertical.remote import *  # noqa: F403
from fedbayes.federation.vertical.roles import setup_of

__all__ = [
    "disclosure_settings",
    "open_twice",
    "partial_close",
    "partial_open_channel",
    "run_tables",
    *remote.__all__,
]


@toy_central
def run_tables(
    federation,
    columns,
    batches,
    organizations=None,
    helper=None,
    epsilon=None,
    records="intersection",
    domain=None,
    missing_state=False,
    narrow=False,
):
    budget = (epsilon or 0.0) * len(batches)
    told = Preflight(linked_by="id", functions=PARTIALS, epsilon=budget, relation=Relation("replace_one", "record"))
    parties = open_parties(federation, organizations, helper, told)
    setup = setup_of(
        federation, parties, "id", helper, records, domain=domain, missing_state=missing_state, epsilon=epsilon
    )
    tables = SecureTables.open(federation, setup, columns, narrow=narrow)
    answers = [tables.tables([tuple(question) for question in batch], epsilon) for batch in batches]
    states = {name: list(column.labels) for name, column in tables.columns.items()}
    return federation.result(
        model=answers, privacy=results.not_private("a test", tables.reveals()), rows=tables.rows, states=states
    )


@toy_central
def open_twice(federation, column, cuts):
    """A central function that deviates: it opens one column again with other cut points, in a round of another name."""
    parties = open_parties(federation, preflight=Preflight(linked_by="id", functions=PARTIALS))
    for points in cuts:
        setup = setup_of(federation, parties, "id", bins={column: points})
        Engine(federation, setup).submit([Wanted("states", [column])])
    return federation.result(model=[], privacy=results.not_private("a test"))
