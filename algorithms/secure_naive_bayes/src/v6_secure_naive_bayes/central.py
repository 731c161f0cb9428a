"""What the researcher calls: HDPNB (`fit`), VDPNB (`fit` and `classify`), `evaluate`, `join` and `leave`."""

from __future__ import annotations

from typing import Any

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.unknown import loud_warnings
from fedbayes.bayes.values.encoding import canonical_text
from fedbayes.federation import Federation, Parties, central
from fedbayes.federation.horizontal import asked_columns, check_bins, evaluate_model, resolve_columns
from fedbayes.federation.results import predictions

from . import evaluation, horizontal, model, result, vertical
from .arguments import Change, Classify, Evaluate, Fit
from .keying import MOST_PRODUCTS, check_work, open_keyring
from .options import before_classify, before_fit, check_membership
from .records import check_records


@central
def fit(federation: Federation, asked: Fit) -> dict[str, Any]:
    """Fit naive Bayes on horizontally split records (HDPNB), or on vertically split ones with released tables.

    Returns
    -------
    dict
        ``model``, ``membership`` (horizontal), ``privacy``, ``diagnostics``.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.

    References
    ----------
    Huai et al. 2015, sections 4 and 5.
    """
    if asked.split == "vertical":
        return vertical.fit(federation, asked)

    settings, label, features, domain = asked.settings, asked.label, asked.features, asked.domain
    named = asked_columns(label, features, domain, asked.whom)
    parties = federation.open_channel(asked.organizations, before_fit(settings, named, asked.whom))
    state = check_membership(federation, asked.membership, parties.stations)
    columns = resolve_columns(federation, parties.stations, label, features, domain, unit=asked.whom)
    cells = check_bins(columns, asked.bins)
    keyring = open_keyring(federation, parties, asked.keys, asked.modulus_bits, state.epoch)
    sums = horizontal.encrypted_sums(federation, keyring, columns, cells, settings, state, asked.membership is not None)
    fitted = horizontal.finish(columns, cells, settings, sums)
    for warning in [model.DROWNED] if sums.drowned(columns) else loud_warnings(fitted):
        federation.warn(warning)
    return result.summed(federation, fitted, settings, state, keyring, sums.report)


@central
def classify(federation: Federation, asked: Classify) -> dict[str, Any]:
    """Classify records by vertically split tables that stay at their stations (VDPNB).

    Returns
    -------
    dict
        The result; its ``model`` has ``states``, ``predicted`` and ``probabilities``, shape (records, states), in the order of the records.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.

    References
    ----------
    Huai et al. 2015, section 5.4.
    """
    label, bits = asked.label, asked.modulus_bits
    named = asked_columns(label, asked.features, asked.domain)
    parties = federation.open_channel(asked.organizations, before_classify(asked.epsilon, named))
    columns = resolve_columns(federation, parties.stations, label, asked.features, asked.domain)
    cells = check_bins(columns, asked.bins)
    codes = check_records(asked.records, columns, cells)
    products = len(vertical.distinct(codes)[0]) * columns.classes
    patience = check_work("distinct records and classes", products, MOST_PRODUCTS, bits)
    split = vertical.assign(federation, parties, columns, cells)
    vertical.check_split(federation, split)
    keyring = open_keyring(federation, Parties(split.stations, parties.helpers), asked.keys, bits, products=True)
    counts, made = vertical.keep_tables(federation, split, asked.epsilon, asked.tables)
    posterior, report = vertical.posteriors(federation, keyring, split, codes, counts, patience)
    states = [str(canonical_text(name)) for name in columns.domain[label]["categories"]]
    told = {"encryption": report, "columns": split.named(federation), "tables": made}
    return result.classified(
        federation, predictions(label, states, posterior), asked, len(columns.features), keyring, told
    )


@central
def evaluate(federation: Federation, asked: Evaluate) -> dict[str, Any]:
    """Score a fitted model on the stations' tables, horizontally or vertically split.

    Returns
    -------
    dict
        ``accuracy``, ``auc``, ``log_loss``, ``calibration``, ``n``, ``privacy``.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.
    """
    if asked.split == "vertical":
        return evaluation.evaluate(federation, asked)
    return evaluate_model(federation, asked, NaiveBayes.from_dict)


@central
def join(federation: Federation, asked: Change) -> dict[str, Any]:
    """Let an organization join: Algorithm 1, then fresh keys at every member, confirmed by an encrypted zero.

    Returns
    -------
    dict
        The new ``membership``.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.

    References
    ----------
    Huai et al. 2015, algorithm 1.
    """
    return horizontal.renew(federation, asked, joins=True)


@central
def leave(federation: Federation, asked: Change) -> dict[str, Any]:
    """Let an organization leave: Algorithm 1, then fresh keys at those that remain, confirmed by an encrypted zero.

    Returns
    -------
    dict
        The new ``membership``.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.

    References
    ----------
    Huai et al. 2015, algorithm 1.
    """
    return horizontal.renew(federation, asked, joins=False)
