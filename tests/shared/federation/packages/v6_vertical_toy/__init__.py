"""Batches of tables over vertically split records, as a method would ask for them."""

from fedbayes.federation import central, disclosure_settings, partial_close, partial_open_channel, results
from fedbayes.federation.vertical import (
    SecureTables,
    open_parties,
    partial_extend,
    partial_match,
    partial_submit,
    partial_tables,
)

__all__ = [
    "disclosure_settings",
    "partial_close",
    "partial_extend",
    "partial_match",
    "partial_open_channel",
    "partial_submit",
    "partial_tables",
    "run_tables",
]


@central
def run_tables(
    federation, columns, batches, organizations=None, helper=None, epsilon=None, records="intersection", domain=None
):
    parties = open_parties(federation, organizations, helper)
    tables = SecureTables.open(
        federation, parties, "id", columns, helper=helper, private=epsilon is not None, records=records, domain=domain
    )
    answers = [tables.tables([tuple(question) for question in batch], epsilon) for batch in batches]
    states = {name: list(column.labels) for name, column in tables.columns.items()}
    return federation.result(
        model=answers, privacy=results.not_private("a test", tables.reveals()), rows=tables.rows, states=states
    )
