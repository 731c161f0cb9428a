"""What a node's limits mean, one sentence each: for dossiers of results and for administrators."""

from __future__ import annotations

from typing import Any

from ..formats import number

SET = {
    "minimum_rows": "A table of fewer than {} rows is not used.",
    "minimum_organizations": "Fewer than {} organizations do not compute together, nor add up a secure sum.",
    "minimum_count": "Exact counts below {}, of an answer or of its complement, are not told.",
    "maximum_epsilon": "One release may cost an epsilon of {} at most.",
    "maximum_delta": "One release may cost a delta of {} at most.",
    "maximum_honest_fraction": "At most the part {} of the stations is counted on to keep its share of noise.",
    "maximum_queries": "At most {} questions are answered in one budget period; exact answers, tables of linked records or for networks, and refusals because "
    "of values count.",
    "maximum_refusals": "Where the node has a ledger, after {} different exact questions about a column that were refused because of its values, only what was "
    "answered before is answered exactly.",
    "budget_epsilon": "All releases of a budget period together may cost an epsilon of {}.",
    "budget_delta": "All releases of a budget period together may cost a delta of {}.",
    "budget_days": "A debit counts for {} days, then it is forgotten.",
    "allow_non_private": "Answers without differential privacy may leave.",
    "allow_predictions": "Single records may be classified or predicted for the researcher.",
    "allow_foreign_models": "Exact answers are given about models that no fit of this federation made.",
    "allow_formulas": "Exact answers may use columns derived by a task's formula, subsets of the rows, and recodes of many values of few rows each.",
    "allow_differences": "Exact answers may differ from earlier ones by fewer organizations, or by fewer rows, than the node demands.",
    "ledger": "Every private release is debited in a ledger before its noise is drawn.",
    "long_term_key": "Where there is a ledger, the node signs by a lasting key and remembers the keys of its peers.",
    "pinned_keys": "Peers are believed under the keys that the administrator listed, and no other.",
    "schema": "The administrator states the public domains of the columns.",
    "cohort": "The administrator names the one table or cohort that tasks read.",
    "csv_separator": "The administrator says what separates the columns of a CSV file: {}.",
    "csv_decimal": "The administrator says what the decimal mark of a CSV file is: {}.",
    "allowed_columns": "Only columns that the administrator listed may be used.",
    "id_columns": "Records are linked by columns that the administrator listed, and by no other.",
    "denied_columns": "Columns that the administrator listed may not be used.",
    "allowed_functions": "Only functions that the administrator listed run.",
}
"""Limit -> its meaning where it is set; ``{}`` stands for the number."""

UNSET = {
    "maximum_epsilon": "One release may cost any epsilon.",
    "maximum_delta": "One release may cost any delta.",
    "maximum_honest_fraction": "A task says what part of the stations is counted on to keep its share of noise: at most all but one.",
    "maximum_queries": "Questions are not counted.",
    "budget_epsilon": "All releases together may cost any epsilon.",
    "budget_delta": "All releases together may cost any delta.",
    "budget_days": "Debits count for ever.",
    "allow_non_private": "Answers without differential privacy do not leave.",
    "allow_predictions": "Single records are not classified or predicted for the researcher.",
    "allow_foreign_models": "Where the node has a ledger, exact answers are given only about models that a fit of this federation made.",
    "allow_formulas": "Exact answers use no column derived by a task's formula, no subset of the rows, and no recode of many values of few rows each.",
    "allow_differences": "Where the node has a ledger, no exact answer is given that would, with earlier ones, tell about fewer organizations, or set "
    "fewer rows apart by how columns are read, than it demands.",
    "ledger": "There is no ledger: what jobs cost is not summed up at this node.",
    "long_term_key": "The node has keys of the job alone: who a peer is rests on the platform's word.",
    "pinned_keys": "A peer's key is believed at first sight and remembered, where the node has a ledger.",
    "schema": "Public domains come with the task.",
    "cohort": "Tasks read the whole table of the database.",
    "csv_separator": "The line of names of a CSV file shows what separates its columns.",
    "csv_decimal": "In a CSV file that commas do not separate, a comma in a number is a decimal comma.",
    "allowed_columns": "Any column may be used that is not denied.",
    "denied_columns": "No column is denied.",
    "id_columns": "Records may be linked by any column that the schema file does not describe.",
    "allowed_functions": "Every function of an allowed image runs.",
}
"""Limit -> what holds where it is not set, or false."""


def say(name: str, value: Any) -> str:
    """Return what a limit of this name and value means.

    Parameters
    ----------
    name : str
        As `Policy` calls it.
    value : bool, number, str, list, dict or None
        Its value, or whether it is set.
    """
    if value is None or value is False:
        return UNSET[name]
    return SET[name].format(number(value, 12))
