"""Record alignment: which rows of several parties belong to the same person, without showing identifiers.

Every two parties hash their identifiers under a key that only those two have, and send the hashes to a helper
that holds none of the keys. The helper matches equal hashes and tells each party where its rows stand in one
common order. With one key a pair, a match between two parties tells the helper nothing about a third.

Without a helper the second and the third party do its part for the pairs of the first with each other: whoever matches a pair is not of it
(`matcher_of`), so it has no key of what it matches. What a matcher sees of a list are values of a pseudo-random permutation whose key it lacks, at
distinct points, in a secret order: as good as distinct random numbers, of which only equality with the other list's is told.

**Reveals** to who matches the number of rows of each party and of the overlaps, in an order that each party
shuffled secretly; to each party which of its own rows take part, and their number. Without a helper each party learns more, namely of every row of
the first party which others have it too: the first one of its own rows, each other knows which of its own rows are among them. No identifier to anyone.
**Assumes** that who matches colludes with no party: with a pair's key it could test guessed identifiers.

References
----------
.. [1] S. Kamara, P. Mohassel, M. Raykova, S. Sadeghian, "Scaling private set intersection to billion-element sets", FC 2014, section 4.1
   (a server that matches digests under a key that it lacks).
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fedbayes.mpc.prg import expand

from ..typing import Array, Integers, Words

HASH_BYTES = 16  # bytes of SHA-256 that are kept: one block of AES
DOMAIN = b"fedbayes/alignment/1|"
Hashes = Words
"""64 bits a row: with a million rows a side, two different people share one with probability 5e-8."""
LEFT_OUT = -1
"""The place of a row of a union that another party's row stands for, or that has none."""
NOBODY = "\x00"
"""What an identifier begins with that matches nobody's."""


class AlignmentError(ValueError):
    """Identifiers that cannot be aligned; the text neither shows nor counts them."""


def check_identifiers(identifiers: Sequence[str | None]) -> None:
    """Refuse missing and repeated identifiers.

    Raises
    ------
    AlignmentError
        Which says what is wrong, of no row in particular.
    """
    if any(identifier is None or identifier == "" for identifier in identifiers):
        raise AlignmentError("some rows have no identifier; fill them in or drop these rows")
    if len(set(identifiers)) < len(identifiers):
        raise AlignmentError("some rows repeat an identifier of another row; keep one row a person")


def shuffled(rows: int, key: bytes) -> Integers:
    """Return a secret permutation of 0..rows-1 that follows from a 32-byte key, int64."""
    return np.asarray(np.argsort(expand(key, "row order", rows, np.uint64), kind="stable"), dtype=np.int64)


def submitted(texts: Sequence[str], key: bytes, union: bool) -> tuple[Integers, bytes]:
    """Return which rows a party submits, in a secret order that follows from a 32-byte key, and the digests of their identifiers.

    All rows, but of a union those that match nobody: each would be a record of its own, and one whose identifier is there twice count twice.
    """
    rows = shuffled(len(texts), key)
    if union:
        rows = rows[np.array([not texts[row].startswith(NOBODY) for row in rows], dtype=np.bool_)]
    return rows, digests(texts[row] for row in rows)


def digests(identifiers: Iterable[str]) -> bytes:
    """Return the identifiers' digests without a secret, SHA-256 cut to 128 bits, one after the other.

    They are computed once and put `under_key` for each peer; on their own they never leave the party.
    """
    digest = hashlib.sha256
    return b"".join(digest(DOMAIN + identifier.encode()).digest()[:HASH_BYTES] for identifier in identifiers)


def under_key(digested: bytes, key: bytes) -> Hashes:
    """Return what the helper matches: digests under a key that two parties share.

    Parameters
    ----------
    digested : bytes
        `digests` of the identifiers, 16 bytes a row.
    key : bytes
        32 secret bytes of the pair.

    Returns
    -------
    ndarray of uint64, shape (rows,)
        The digests under AES-256 with the key, a pseudo-random permutation of them, cut to 64 bits.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # a permutation of digests, not of text
    enciphered = encryptor.update(digested) + encryptor.finalize()
    hashes: Hashes = np.frombuffer(enciphered, dtype="<u8").astype(np.uint64)[::2].copy()
    return hashes


def match(left: Hashes, right: Hashes) -> tuple[Integers, Integers]:
    """Return the positions of equal hashes in both lists, in the order of the left one.

    Parameters
    ----------
    left, right : ndarray of uint64, shape (rows,)
        Hashes under one key, without repeats.

    Returns
    -------
    tuple of two int64 arrays of one length
    """
    order = np.argsort(right, kind="stable")
    ranked = right[order]
    if len(ranked) == 0 or len(left) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    rank = np.minimum(np.searchsorted(ranked, left), len(ranked) - 1)
    matches = np.flatnonzero(ranked[rank] == left).astype(np.int64)
    return matches, order[rank[matches]].astype(np.int64)


def places_in(left: Hashes, right: Hashes) -> Integers:
    """Return where the right list has each row of the left one, int64 of the left list's length; -1 where it has not."""
    places = np.full(len(left), -1, dtype=np.int64)
    own, other = match(left, right)
    places[own] = other
    return places


def common_to_all(leader: int, places: Mapping[int, Integers]) -> dict[int, Integers]:
    """Return every party's positions of the rows that all have, in the leader's order.

    Parameters
    ----------
    leader : int
        With which every other party was matched.
    places : mapping of int to int64 arrays of one length
        `places_in` of the leader's rows in every other party's list.
    """
    common = np.flatnonzero(np.all([positions >= 0 for positions in places.values()], axis=0)).astype(np.int64)
    return {leader: common, **{party: positions[common] for party, positions in places.items()}}


def matcher_of(parties: Sequence[int], party: int) -> int:
    """Return who matches a party with the first one where there is no helper: the second party, and the third where that is of the pair.

    Raises
    ------
    ValueError
        For fewer than three parties, or the first one.
    """
    if len(parties) < 3 or party == parties[0]:
        raise ValueError(
            "three or more parties are needed to match without a helper, and the first one is matched with all others"
        )
    return parties[2] if party == parties[1] else parties[1]


def matched_by(parties: Sequence[int], matcher: int) -> list[int]:
    """Return the parties that someone matches with the first one where there is no helper, in their order."""
    return [party for party in parties[1:] if matcher_of(parties, party) == matcher]


def intersect(parties: Sequence[int], lists: dict[tuple[int, int], Hashes]) -> dict[int, Integers]:
    """Return every party's positions of the rows that all parties have, in one common order.

    Parameters
    ----------
    parties : sequence of int
        The first one leads: every other party is matched with it.
    lists : dict
        ``lists[owner, peer]``: the owner's hashes under the key of owner and peer, for every pair that
        contains the leader.

    Returns
    -------
    dict of int64 arrays of one length
        Row ``k`` of the common order is row ``result[party][k]`` of that party's list.
    """
    leader = parties[0]
    return common_to_all(
        leader, {party: places_in(lists[leader, party], lists[party, leader]) for party in parties[1:]}
    )


def unite(
    parties: Sequence[int],
    lists: dict[tuple[int, int], Hashes],
    key: bytes,
    apart: Iterable[Sequence[int]] = (),
) -> tuple[dict[int, Integers], int]:
    """Return where every party's rows stand in the union of all rows, and the size of the union.

    Parameters
    ----------
    parties : sequence of int
        All parties.
    lists : dict
        ``lists[owner, peer]`` for every ordered pair of parties.
    key : bytes
        32 bytes of the helper alone: the union is put in a secret random order, so that a place tells
        nothing about who else has the row.
    apart : iterable of pairs of parties
        Rows of these two never share a place: of one that both have, the later party's is left out.

    Returns
    -------
    tuple
        ``slots[party][row]``, the row's place in the union, int64, or `LEFT_OUT`; and the number of places.
    """
    labels: dict[int, Integers] = {}
    separate = [set(pair) for pair in apart]
    size = 0
    for index, party in enumerate(parties):
        peer = next(other for other in parties if other != party)
        own = np.full(len(lists[party, peer]), LEFT_OUT, dtype=np.int64)
        for earlier in parties[:index]:
            left, right = match(lists[earlier, party], lists[party, earlier])
            labelled = labels[earlier][left] != LEFT_OUT
            own[right[labelled]] = labels[earlier][left[labelled]]
        fresh = np.flatnonzero(own == LEFT_OUT)
        for earlier in parties[:index]:
            if {earlier, party} in separate:
                own[np.isin(own, labels[earlier])] = LEFT_OUT
        own[fresh] = np.arange(size, size + len(fresh))
        size += len(fresh)
        labels[party] = own
    places = np.append(shuffled(size, key), LEFT_OUT)
    return {party: places[label] for party, label in labels.items()}, size


def are_places(places: Integers, some_left_out: bool) -> bool:
    """Return whether every row has a place of its own, but for those that are `LEFT_OUT`, where some may be."""
    held = places[places != LEFT_OUT] if some_left_out else places
    return bool(np.all(held >= 0)) and len(np.unique(held)) == len(held)


def scatter(values: Array, slots: Integers, size: int) -> Array:
    """Return `values` (rows, ...) at their places of the union, zero where the party has no row; rows that are `LEFT_OUT` have none."""
    spread = np.zeros((size, *values.shape[1:]), dtype=values.dtype)
    held = slots != LEFT_OUT
    spread[slots[held]] = values[held]
    return spread
