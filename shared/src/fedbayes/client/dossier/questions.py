"""NIST SP 800-226, "Guidelines for Evaluating Differential Privacy Guarantees" (March 2025): the factors of its pyramid, one question each."""

from __future__ import annotations

from ..formats import number
from .differential_privacy import NOT_PRIVATE, guess, relation
from .facts import Facts, listed
from .recipients import assumption

SOURCE = "NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees, March 2025, https://doi.org/10.6028/NIST.SP.800-226"
STRONG, MODERATE = 1.0, 5.0  # epsilon, by the usual reading that `_parameters` tells


def answers(facts: Facts) -> list[dict[str, str]]:
    """Return the questions with their answers for this result, top of the pyramid first."""
    asked = (
        ("Privacy parameters", "How strong is the guarantee?", _parameters(facts)),
        ("Privacy parameters", "Is delta small enough?", _delta(facts)),
        ("Unit of privacy", "Who or what is protected?", _unit(facts)),
        ("Unit of privacy", "Which tables are neighbours?", relation(facts)),
        ("Unit of privacy", "Is a person with several records protected as a whole?", _several(facts)),
        ("Variant", "Which definition of differential privacy is used?", variant(facts)),
        ("Composition", "How are several releases accounted for?", _composition(facts)),
        ("Mixing releases", "Is something released about the same data without noise?", _mixed(facts)),
        ("Algorithm", "Which mechanism makes the noise, and what is the sensitivity?", _mechanism(facts)),
        ("Utility and bias", "What does the noise do to accuracy, and for whom?", _utility(facts)),
        ("Implementation", "Is the noise drawn correctly, also in floating point?", _drawn(facts)),
        ("Side channels", "Can times, sizes or errors tell something?", SIDE_CHANNELS),
        ("Trust model", "Who must be trusted with what?", _trust(facts)),
        ("Query model", "Who may ask, and how often?", _asking(facts)),
        ("Security and access control", "Who can reach the data and what is kept of them?", ACCESS),
        ("Data collection", "What is exposed before the mechanism runs?", _collection(facts)),
    )
    return [{"factor": factor, "question": question, "answer": answer} for factor, question, answer in asked]


SIDE_CHANNELS = (
    "Sizes, order and fields of messages are the same on neighbouring tables with equal answers (tests/privacy/test_views.py). Refusals and running times "
    "depend on the data in small ways: a table below the minimum, a column that is not there. Errors hold no data value."
)
ACCESS = (
    "Tables stay at their organizations' nodes; no query of a researcher reaches a database. Containers read the columns that the node allows, keep keys and "
    "arrays of a job in its temporary folder (mode 0600) and wipe them at its end. Messages are signed and sealed between the organizations. Other images that "
    "a node allows can read its data volume: allow images by exact names."
)


def variant(facts: Facts) -> str:
    """Return the definition that is met."""
    if not facts.private:
        return NOT_PRIVATE
    return (
        "approximate differential privacy, (epsilon, delta)"
        if facts.delta
        else "pure differential privacy, epsilon alone"
    )


def _none(facts: Facts) -> str:
    return f"There is no guarantee: {facts.reason}."


def _parameters(facts: Facts) -> str:
    if not facts.private:
        return _none(facts)
    word = "strong" if facts.epsilon <= STRONG else "moderate" if facts.epsilon <= MODERATE else "weak"
    return (
        f"epsilon = {number(facts.epsilon)}, delta = {number(facts.delta)}: {word} by the usual reading (up to 1 strong, up to 5 moderate). The best "
        "guess which of "
        f"two neighbouring tables was used is right with a probability of at most {number(guess(facts.epsilon, facts.delta))}."
    )


def _delta(facts: Facts) -> str:
    if not facts.private:
        return _none(facts)
    if not facts.delta:
        return "delta is 0: the bound holds always."
    return (
        f"delta is {number(facts.delta)}. It should be far below 1 divided by the number of {facts.unit}s, which a result does not tell exactly; "
        "above 0.001 no result is called private."
    )


def _unit(facts: Facts) -> str:
    return f"One {facts.unit} of the tables that took part: {relation(facts)}." if facts.private else _none(facts)


def _several(facts: Facts) -> str:
    if not facts.private:
        return _none(facts)
    if facts.unit == "row":
        return (
            "No: the unit is one row. A person with k rows, or with rows at k stations, has k times the loss. Methods with unit='identifier' protect all "
            "rows of one identifier at a station."
        )
    if facts.unit == "identifier":
        return (
            "At one station, yes: all rows of one identifier are the unit, up to the stated number of rows. A person known to several stations has each "
            "station's loss."
        )
    return f"The unit is one {facts.unit}; whatever of a person lies within it is protected as a whole."


def _composition(facts: Facts) -> str:
    if not facts.private:
        return _none(facts)
    within = str(facts.privacy.get("composition") or "the method states it within the job only by its total")
    with_ledger = [name for name, node in facts.nodes.items() if node.get("limits", {}).get("ledger")]
    across = (
        f"the losses of several jobs are added up in the ledgers of: {listed(with_ledger)}"
        if with_ledger
        else "nobody adds up the losses of several jobs, because no node keeps a ledger"
    )
    return f"Within the job: {within}. Across jobs: {across}."


def _mixed(facts: Facts) -> str:
    if not facts.private:
        return "Yes: all of it. " + _none(facts)
    exact = sorted({name for entry in facts.rounds for name, kind in entry.get("reply", {}).items() if "Exact" in kind})
    if exact:
        return f"Fields that left as exact aggregates: {listed(exact)}; what they are is told at each role."
    return (
        "No field of any reply left as an exact aggregate. Numbers of rows, names of columns and the structure of the task that are named at a role are "
        "not under the promise."
    )


def _mechanism(facts: Facts) -> str:
    if not facts.private:
        return _none(facts)
    return f"{facts.privacy.get('mechanism') or 'not stated'}. Sensitivity: {facts.privacy.get('sensitivity') or 'not stated'}."


def _utility(facts: Facts) -> str:
    warnings = [str(text) for text in facts.result.get("warnings") or []]
    warned = f"The result warns: {'; '.join(warnings)}." if warnings else "The result has no warning about it."
    if not facts.private:
        return (
            f"No noise was added that makes a promise; small groups are still estimated worse than large ones. {warned}"
        )
    return f"Noise is the same for all cells, so that small groups and rare classes are hit most. {warned}"


def _drawn(facts: Facts) -> str:
    if not facts.private:
        return _none(facts)
    return (
        "Counts carry integer noise from exact samplers that draw on the operating system's entropy; noise that is not an integer (Student's t, "
        "Cauchy, Laplace) leaves on "
        "a grid that does not depend on the values. Laws are checked by enumeration and by sampling: see the evidence."
    )


def _trust(facts: Facts) -> str:
    return (
        "Federated: stations, central and helper follow the protocol and keep what they see; the researcher is trusted with nothing. This statement rests "
        f"on: {assumption(facts)}."
    )


def _asking(facts: Facts) -> str:
    limited = [name for name, node in facts.nodes.items() if node.get("limits", {}).get("budget_epsilon") is not None]
    budget = (
        f"A budget limits all releases together at: {listed(limited)}."
        if limited
        else "No node limits all releases together by a budget."
    )
    return f"Researchers whom the platform admits to the collaboration send tasks; questions may follow one another. {budget}"


def _collection(facts: Facts) -> str:
    helpers = facts.with_role("helper")
    dealt = f" A helper without data, {listed(helpers)}, sees no value of a table." if helpers else ""
    return f"Nothing is collected in one place: every table stays with its organization, and what crosses over is listed round by round.{dealt}"
