"""What the researcher calls: HDPNB (`fit`), VDPNB (`fit` and `classify`), `evaluate`, `join` and `leave`."""

from __future__ import annotations

from typing import Any

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation import Federation, Parties, arguments, central
from fedbayes.federation.horizontal import check_bins, evaluate_model, resolve_columns

from . import grading, horizontal, model, statements, vertical
from .keying import MOST_PRODUCTS, check_keys, check_work, open_keyring
from .messages import TABLES
from .options import check_budget, check_membership, check_noise, refuse_given, resolve_member
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
    """Fit naive Bayes on horizontally split records (HDPNB), or on vertically split ones with released tables."""
    arguments.check_choice("partitioning", partitioning, ("horizontal", "vertical"))
    settings = check_noise(noise, epsilon, delta, honest_fraction, unit, maximum_records)
    chosen, bits = check_keys(keys, modulus_bits)
    if partitioning == "vertical":
        refuse_given(
            "each table of vertically split records has its whole noise, and no table is encrypted",
            honest_fraction=(honest_fraction, None),
            keys=(keys, "dealerless"),
            membership=(membership, None),
        )
        return vertical.fit(federation, label, features, domain, settings, bins, organizations)

    parties = federation.open_channel(organizations)
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
    """Classify records by vertically split tables that stay at their stations (VDPNB)."""
    budget = check_budget(epsilon)
    arguments.check_choice("tables", tables, TABLES)
    chosen, bits = check_keys(keys, modulus_bits)

    parties = federation.open_channel(organizations)
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
    """Score a fitted model on the stations' tables, horizontally or vertically split."""
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
    """Let an organization join: Algorithm 1, then fresh keys at every member, confirmed by an encrypted zero."""
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
    """Let an organization leave: Algorithm 1, then fresh keys at those that remain, confirmed by an encrypted zero."""
    chosen, bits = check_keys(keys, modulus_bits)
    before = check_membership(federation, membership)
    after = resolve_member(federation, before, organization, joins=False)
    return horizontal.renew(federation, before, after, chosen, bits)
