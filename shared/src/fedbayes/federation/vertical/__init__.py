"""Vertically split data: align the records, open the columns once, ask for any table.

Central::

    parties = open_parties(federation, organizations, helper)               # round 1: open_channel, with the helper
    id_column = check_alignment(id_column, rows_aligned)                    # an identifier, or the caller's word
    setup = setup_of(
        federation, parties, id_column, helper=None | "name" | "none", records="intersection" | "union",
        domain={...} or None, bins="published" | "quantile" | "width" | {"column": [edges] | count},
        missing_state=False,
        epsilon=epsilon,                                                    # noisy answers only: public states
        neighbors="replace_one" | "zero_out",                                # what they promise
    )
    tables = SecureTables.open(                                             # rounds 2 and 3
        federation, setup, ["a", "b", "c"],
        groups=[("a", "b"), ...],                                           # optional: joint columns worth opening at once
    )
    tables.rows                                                             # records in common
    tables.columns["a"]                                                     # ColumnStates: labels, cardinality, edges, owners
    counts = tables.tables([("a", "b"), ("a", "c", "b")], epsilon=None)     # one round a batch; int64, one axis a column

Tables over one or two columns take one round a batch. Tables over more take a further round when their first columns have not
been combined yet: put the column that varies **last** (`(child, *parents, candidate)`), then every step of a search
costs two rounds: one opens `(child, *parents)`, one answers. What has been opened stays open for the job. With `groups` and
at most two parties a table is answered without a further opening.

Of exact tables the cells that follow from earlier ones, or from others of the batch, are neither computed nor sent (`known_tables`):
of a step of a search a quarter (two states a column) to four ninths (three) are left.

Every image that uses this re-exports the remote functions of `remote`, beside those that every image has (`fedbayes.federation.remote`); a job
announces their names, `PARTIALS`::

    from fedbayes.federation.vertical.remote import *

Roles: every organization with the task's data is a *data station*; the *helper* (commodity server) holds no data in the task and
must not run central. What each role learns is in the docstrings' **Reveals**, and `SecureTables.reveals()` returns it for the result.
"""

from ..questions.suppression import suppress
from .central import SecureTables
from .identifiers import check_alignment, check_equal_rows
from .roles import choose_helper, open_parties, setup_of
from .states import ColumnStates

MATCHED = ("partial_submit", "partial_match")
"""Rounds in which columns are opened and records matched."""
PARTIALS = (*MATCHED, "partial_extend", "partial_tables")

__all__ = [
    "MATCHED",
    "PARTIALS",
    "ColumnStates",
    "SecureTables",
    "check_alignment",
    "check_equal_rows",
    "choose_helper",
    "open_parties",
    "setup_of",
    "suppress",
]
