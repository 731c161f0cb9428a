"""What the researcher gets: the model or the predictions, what is promised, and who learns what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation import Federation, results
from fedbayes.federation.horizontal.units import AT_SEVERAL

from . import model
from .arguments import Classify
from .keying import Keyring
from .membership import Membership
from .messages import Noise

UNITS = {"record": "row", "party": "party", "identifier": "identifier"}
CHANGES = {
    "record": "one record is in one cell",
    "party": "the public bound of one party's records",
    "identifier": f"the rows of one identifier that a station uses at most, all of which are covered together{AT_SEVERAL}",
}
KEPT_TABLES = (
    "; spent once for every job that is answered from these tables, when a station makes them (diagnostics.tables)"
)


def summed(
    federation: Federation,
    fitted: NaiveBayes,
    noise: Noise,
    membership: Membership,
    keyring: Keyring,
    encryption: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the result of a fit on horizontally split records."""
    return federation.result(
        model=fitted.to_dict(),
        membership=membership.to_dict(),
        privacy=_horizontal(noise, len(fitted.features), keyring),
        diagnostics={"encryption": encryption},
    )


def released(federation: Federation, fitted: NaiveBayes, epsilon: float, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a fit on vertically split records; `columns`: which organization holds which."""
    privacy = _vertical(epsilon, len(fitted.features), None)
    return federation.result(model=fitted.to_dict(), privacy=privacy, diagnostics={"columns": columns})


def classified(
    federation: Federation,
    predictions: dict[str, Any],
    asked: Classify,
    features: int,
    keyring: Keyring,
    diagnostics: dict[str, Any],
) -> dict[str, Any]:
    """Return the result of `classify`, by so many features."""
    privacy = _vertical(asked.epsilon, features, keyring, asked.tables)
    return federation.result(predictions, privacy, diagnostics)


def _roles(central: str, keyring: Keyring | None) -> dict[str, str]:
    roles = {
        "researcher": central,
        "central": central,
        "stations": "the request; nothing about other stations' data",
    }
    if keyring is not None:
        if keyring.dealer is not None:
            roles["helper"] = "as the dealer every secret exponent, but no ciphertext"
        roles["assumption"] = (
            f"nobody factors the modulus ({keyring.modulus.source}): who does reads what it intercepts"
        )
    return roles


def _horizontal(noise: Noise, features: int, keyring: Keyring) -> dict[str, Any]:
    """Return the privacy statement of a fit on horizontally split records."""
    exactly = "exact" if noise.kind == "none" else "noisy"
    reveals = _roles(f"the {exactly} sums of counts over all stations, not those of one", keyring)
    if noise.kind == "none":
        return results.not_private('the sums are exact; give noise="polya" and an epsilon for noisy ones', reveals)
    epsilon, delta = model.charge(noise, features)
    published = noise.kind == "published"
    return results.privacy(
        not published,
        reason=(
            f"as published the budget is spent once for each of the {features + 1} families of counts; "
            f"what it really spends is stated here, not the epsilon asked for"
        )
        if published
        else None,
        unit=UNITS[noise.unit],
        neighbors="add_remove",
        epsilon=epsilon,
        delta=delta,
        mechanism=f"discrete Laplace in {'Polya' if noise.kind == 'polya' else 'diluted'} shares inside the encrypted sum, "
        f"of which those of the part {noise.honest_fraction:g} of the stations suffice",
        composition=f"{features} tables at an even split; class counts are margins of the tables"
        if not published
        else f"{features + 1} families at the whole budget each",
        sensitivity=f"{model.sensitivity(noise)} a table: {CHANGES[noise.unit]}",
        reveals=reveals,
    )


def _vertical(epsilon: float, features: int, keyring: Keyring | None, tables: str = "fresh") -> dict[str, Any]:
    """Return the privacy statement of vertically split records; without keyring the tables are released."""
    central = (
        f"the {'noisy' if epsilon else 'exact'} tables of every feature"
        if keyring is None
        else "noisy class counts and, of every record asked for, the products of noisy counts for each class, which are its joint "
        "log-probabilities; records that differ in one value give the ratio of two noisy counts"
    )
    reveals = _roles(central + ", and which station holds which column", keyring)
    reveals["stations"] = "the request, and which station holds which column; nothing else about other stations' data"
    if epsilon == 0:
        return results.not_private('the tables are exact; give noise="polya" and an epsilon for noisy ones', reveals)
    return results.privacy(
        True,
        unit="row",
        neighbors="add_remove",
        epsilon=epsilon,
        delta=0.0,
        mechanism="discrete Laplace at each station",
        composition=f"{features} tables{' and the class counts' if keyring else ''} at an even split over all stations, "
        "which hold parts of the same rows" + (KEPT_TABLES if tables != "fresh" else ""),
        sensitivity="1 a table: one record is in one cell",
        reveals=reveals,
    )
