"""What the researcher calls: HDPNB (`fit`), VDPNB (`fit` and `classify`), `evaluate`, `join` and `leave`."""

from __future__ import annotations

from typing import Any

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation import Federation, Parties, arguments, central
from fedbayes.federation.horizontal import asked_columns, check_bins, evaluate_model, resolve_columns

from . import grading, horizontal, model, statements, vertical
from .keying import MOST_PRODUCTS, check_keys, check_work, open_keyring
from .messages import TABLES
from .options import (
    before_classify,
    before_fit,
    check_budget,
    check_membership,
    check_noise,
    refuse_given,
    resolve_member,
    without_effect,
)
from .records import check_records


@central
def fit(
    federation: Federation,
    label: str,
    features: list[str] | None = None,
    domain: dict[str, Any] | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    noise: str = "polya",
    honest_fraction: float | None = None,
    unit: str = "record",
    maximum_records: int | None = None,
    partitioning: str = "horizontal",
    bins: int | dict[str, Any] = 20,
    keys: str = "dealerless",
    modulus_bits: int = 3072,
    membership: dict[str, Any] | None = None,
    organizations: list[int | str] | None = None,
) -> dict[str, Any]:
    """Fit naive Bayes on horizontally split records (HDPNB), or on vertically split ones with released tables.

    Parameters
    ----------
    federation : Federation
        The job.
    label : str
        Column of the classes.
    features : list of str, optional
        Columns to learn from; every other column of the domain when left out.
    domain : dict, optional
        Public domains, ``{column: {"categories": [...]} or {"bounds": [low, high]}}``, the label's included; the nodes' schema files when left out.
    epsilon, delta : float
        Budget of all tables together; delta for ``diluted_geometric`` and ``as_published`` only.
    noise : {"polya", "diluted_geometric", "as_published", "none"}
        How the shares of the noise are drawn.
    honest_fraction : float, optional
        Part of the stations whose noise alone must suffice; 0.8 when left out.
    unit : {"record", "party"}
        What a neighbouring table has more or less.
    maximum_records : int, optional
        Public bound of one party's records, with ``unit="party"``.
    partitioning : {"horizontal", "vertical"}
        How the records are split.
    bins : int or dict
        Bins of numeric features: a number, or ``{column: number or edges}``.
    keys : {"dealerless", "dealer"}
        Whether exponents come from pairwise keys, or from one organization without data.
    modulus_bits : int
        2048 or 3072; other lengths with a dealer.
    membership : dict, optional
        `membership` of an earlier result, after joins and leaves.
    organizations : list of int or str, optional
        Stations and helpers, by id or name; all when left out.

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
    arguments.check_choice("partitioning", partitioning, ("horizontal", "vertical"))
    settings = check_noise(noise, epsilon, delta, honest_fraction, unit, maximum_records)
    chosen, bits = check_keys(keys, modulus_bits)
    for warning in without_effect(settings, delta, partitioning, honest_fraction, keys, membership):
        federation.warn(warning)
    if partitioning == "vertical":
        return vertical.fit(federation, label, features, domain, settings, bins, organizations)

    asked = asked_columns(label, features, domain)
    parties = federation.open_channel(organizations, before_fit(settings, asked))
    state = check_membership(federation, membership, parties.stations)
    columns = resolve_columns(federation, parties.stations, label, features, domain)
    cells = check_bins(columns, bins)
    keyring = open_keyring(federation, parties, chosen, bits, state.epoch)
    sums = horizontal.encrypted_sums(federation, keyring, columns, cells, settings, state, membership is not None)
    if sums.drowned(columns):
        federation.warn(model.DROWNED)
    return federation.result(
        model=horizontal.finish(columns, cells, settings, sums).to_dict(),
        membership=state.to_dict(),
        privacy=statements.horizontal(settings, len(columns.features), keyring),
        diagnostics={"encryption": sums.report},
    )


@central
def classify(
    federation: Federation,
    label: str,
    records: list[dict[str, Any]],
    domain: dict[str, Any],
    features: list[str] | None = None,
    epsilon: float | None = None,
    bins: int | dict[str, Any] = 20,
    tables: str = "fresh",
    keys: str = "dealerless",
    modulus_bits: int = 3072,
    organizations: list[int | str] | None = None,
) -> dict[str, Any]:
    """Classify records by vertically split tables that stay at their stations (VDPNB).

    Parameters
    ----------
    federation : Federation
        The job.
    label : str
        Column of the classes, at one station or more.
    records : list of dict
        ``{feature: value}``; what is missing says nothing of the class.
    domain : dict
        Public domains, ``{column: {"categories": [...]} or {"bounds": [low, high]}}``, the label's included.
    features : list of str, optional
        Columns to classify by; every other column of the domain when left out.
    epsilon : float, optional
        Budget of all tables together; exact ones without.
    bins : int or dict
        Bins of numeric features: a number, or ``{column: number or edges}``.
    tables : {"fresh", "kept", "renewed"}
        Noisy tables of this job alone, those that the stations keep from an earlier one (made where there are none), or new ones that they keep.
    keys : {"dealerless", "dealer"}
        Whether exponents come from pairwise keys, or from one organization without data.
    modulus_bits : int
        2048 or 3072; other lengths with a dealer.
    organizations : list of int or str, optional
        Stations and helpers, by id or name; all when left out.

    Returns
    -------
    dict
        ``predictions``, ``probabilities`` (records x classes), ``classes``, ``privacy``, ``diagnostics``.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.

    References
    ----------
    Huai et al. 2015, section 5.4.
    """
    budget = check_budget(epsilon)
    arguments.check_choice("tables", tables, TABLES)
    chosen, bits = check_keys(keys, modulus_bits)

    asked = asked_columns(label, features, domain)
    parties = federation.open_channel(organizations, before_classify(budget, asked))
    columns = resolve_columns(federation, parties.stations, label, features, domain)
    cells = check_bins(columns, bins)
    codes = check_records(records, columns, cells)
    products = len(vertical.distinct(codes)[0]) * columns.classes
    patience = check_work("distinct records and classes", products, MOST_PRODUCTS, bits)
    split = vertical.assign(federation, parties.stations, columns, cells)
    vertical.check_split(federation, split)
    keyring = open_keyring(federation, Parties(split.stations, parties.helpers), chosen, bits, products=True)
    counts, made = vertical.keep_tables(federation, split, budget, tables)
    posterior, report = vertical.posteriors(federation, keyring, split, codes, counts, patience)
    return federation.result(
        predictions=[columns.domain[label]["categories"][best] for best in posterior.argmax(axis=1)],
        probabilities=posterior,
        classes=columns.domain[label]["categories"],
        privacy=statements.vertical(budget, len(columns.features), keyring, tables),
        diagnostics={"encryption": report, "columns": split.named(federation), "tables": made},
    )


@central
def evaluate(
    federation: Federation,
    model: dict[str, Any],
    label: str | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    noise: str | None = None,
    neighbors: str = "add_remove",
    honest_fraction: float | None = None,
    partitioning: str = "horizontal",
    organizations: list[int | str] | None = None,
) -> dict[str, Any]:
    """Score a fitted model on the stations' tables, horizontally or vertically split.

    Parameters
    ----------
    federation : Federation
        The job.
    model : dict
        `model` of a result of `fit`.
    label : str, optional
        Column of the true classes; the model's when left out.
    epsilon, delta : float
        Budget of noisy scores; exact ones without epsilon. A delta above 0 gives Gaussian noise.
    noise : {"distributed", "local", "none"}, optional
        Who draws it.
    neighbors : {"add_remove", "replace_one"}
        What one neighbouring step changes.
    honest_fraction : float, optional
        Part of the stations whose noise alone must suffice.
    partitioning : {"horizontal", "vertical"}
        How the records are split; vertical scores are exact.
    organizations : list of int or str, optional
        Stations and helpers, by id or name; all when left out.

    Returns
    -------
    dict
        ``accuracy``, ``auc``, ``log_loss``, ``calibration``, ``n``, ``privacy``.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.
    """
    arguments.check_choice("partitioning", partitioning, ("horizontal", "vertical"))
    if partitioning == "vertical":
        refuse_given(
            "scores of vertically split records are exact",
            epsilon=(epsilon, None),
            delta=(delta, 0.0),
            noise=(noise, "none"),
            neighbors=(neighbors, "add_remove"),
            honest_fraction=(honest_fraction, None),
        )
        return grading.evaluate(federation, model, label, organizations)
    return evaluate_model(
        federation,
        model,
        NaiveBayes.from_dict,
        label,
        epsilon,
        delta,
        noise,
        neighbors,
        honest_fraction,
        organizations,
    )


@central
def join(
    federation: Federation,
    membership: dict[str, Any],
    organization: int | str,
    keys: str = "dealerless",
    modulus_bits: int = 3072,
) -> dict[str, Any]:
    """Let an organization join: Algorithm 1, then fresh keys at every member, confirmed by an encrypted zero.

    Parameters
    ----------
    federation : Federation
        The job.
    membership : dict
        `membership` of a result of `fit`, `join` or `leave`.
    organization : int or str
        Who joins, by id or name.
    keys : {"dealerless", "dealer"}
        Whether exponents come from pairwise keys, or from one organization without data.
    modulus_bits : int
        2048 or 3072; other lengths with a dealer.

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
    chosen, bits = check_keys(keys, modulus_bits)
    before = check_membership(federation, membership)
    after = resolve_member(federation, before, organization, joins=True)
    return horizontal.renew(federation, before, after, chosen, bits)


@central
def leave(
    federation: Federation,
    membership: dict[str, Any],
    organization: int | str,
    keys: str = "dealerless",
    modulus_bits: int = 3072,
) -> dict[str, Any]:
    """Let an organization leave: Algorithm 1, then fresh keys at those that remain, confirmed by an encrypted zero.

    Parameters
    ----------
    federation : Federation
        The job.
    membership : dict
        `membership` of a result of `fit`, `join` or `leave`.
    organization : int or str
        Who leaves, by id or name.
    keys : {"dealerless", "dealer"}
        Whether exponents come from pairwise keys, or from one organization without data.
    modulus_bits : int
        2048 or 3072; other lengths with a dealer.

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
    chosen, bits = check_keys(keys, modulus_bits)
    before = check_membership(federation, membership)
    after = resolve_member(federation, before, organization, joins=False)
    return horizontal.renew(federation, before, after, chosen, bits)
