"""What a partial function works with: its table behind guards, the node's limits and ledger, and the only makers of what may leave."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ..dp import promise
from .errors import BudgetError, PolicyError, ThresholdError
from .gate import Broadcast, Exact, Masked, Public, Receipt, Released, Sealed, Share, is_public
from .guards import announced, arrival, choosing
from .guards.table_reader import TableReader
from .guards.uniform import is_uniform
from .node import platform
from .node.memory import Memory
from .perimeter.envelope import Request
from .perimeter.manifest import digest_of
from .perimeter.opening import Relation

T = TypeVar("T")


class Station(TableReader):
    """One station inside one round: sealed messages to other members, the node's limits, and the only makers of what may leave.

    Who it is, its channel to the others and what it remembers of the job are a `Member`'s, how it reads its table a `TableReader`'s.

    Attributes
    ----------
    run : Run
        Identity of this container.
    aggregator : int
        The organization that runs central.
    spent : dict of str to float
        Debits of this round.
    """

    def __init__(
        self, run: platform.Run, origin: platform.Origin, memory: Memory, request: Request, mock_data: Any = None
    ) -> None:
        super().__init__(run.organization, memory, request, mock_data)
        self.policy.check_function(request.function)
        self.run, self.aggregator = run, origin.organization
        self.spent = {"epsilon": 0.0, "delta": 0.0, "queries": 0.0}
        self.manifest = arrival.check(self, run, origin, request)
        if self.manifest is not None:
            # Who has a column guards the others' records with it: by the largest of their limits.
            most = max(self.policy.minimum_count, self.manifest.minimum_count)
            self.policy = replace(self.policy, minimum_count=most)

    # -- sealed messages to other members --------------------------------------------------------------------------------

    def seal(self, receiver: int, payload: bytes, topic: str) -> Sealed:
        """Return bytes that only `receiver` can open, bound to job, topic, sender and receiver."""
        self.require_members()
        return self.gate.made(Sealed(receiver, self.channel.seal(receiver, payload, topic)))

    def broadcast(self, receivers: Iterable[int], payload: bytes, topic: str) -> Broadcast:
        """Return bytes that several members can open: enciphered once, with the key sealed for each."""
        self.require_members()
        return self.gate.made(Broadcast(*self.channel.broadcast(receivers, payload, topic)))

    # -- limits ----------------------------------------------------------------------------------------------------------

    def charge(
        self,
        epsilon: float,
        delta: float = 0.0,
        note: str = "",
        queries: int = 0,
        once: str | None = None,
        summed: bool = True,
        *,
        relation: Relation | None,
    ) -> Receipt:
        """Debit the node's ledger; call it before any noise is drawn. A repeat of the same request is debited once.

        A cost above what may be called private (`dp.promise`) is allowed only under the guards of an `exact` answer.

        Parameters
        ----------
        epsilon, delta : float
            Privacy loss.
        note : str
            Purpose, for the ledger.
        queries : int
            Questions that count towards `maximum_queries`.
        once : str, optional
            Name of a debit that is made once in the whole job: for a budget that the method divides over its rounds itself.
        summed : bool
            As of `exact`.
        relation : Relation or None
            Whom the noise is for, which the job announced; None only where neither epsilon nor delta is debited.

        Returns
        -------
        Receipt
            For `released`.

        Raises
        ------
        PolicyError, BudgetError
            If one release may not cost that much at this node, or if the ledger has less left, which the message tells.
        MessageError
            If the channel is not open, or the noise is for others than the job announced, or costs more than that.
        ThresholdError
            If the job has too few members; as of `exact`, for a cost above what may be called private.
        """
        self.require_members()
        self.policy.check_release(epsilon, delta)
        if not promise.holds(epsilon, delta):
            choosing.check_exact(self, self.dictionary, arithmetic=False)
            self._guard(summed)
        entry = (self.round_name, self.question_digest) if once is None else (once, f"{epsilon!r}/{delta!r}")
        announced.check_debit(self, entry, epsilon, delta, relation)
        receipt = self.gate.made(Receipt(epsilon, delta))
        ledger = self.policy.open_ledger()
        if ledger is not None:
            from ..dp.ledger import LedgerExhausted

            try:
                if not ledger.charge((self.nonce(), *entry), epsilon, delta, note, queries):
                    return receipt
            except LedgerExhausted as error:
                raise BudgetError(str(error)) from None
        elif once is not None and not self.is_first("-".join(("debit", *entry))):
            return receipt
        for name, cost in (("epsilon", epsilon), ("delta", delta), ("queries", float(queries))):
            self.spent[name] += cost
        return receipt

    def require_private(self, private: bool, arithmetic: bool = False) -> None:
        """Raise if an answer is not private and may not leave this node; before a table is read, of which a refusal may tell.

        Parameters
        ----------
        private : bool
            Whether the answer is differentially private; then nothing is checked. Nor is the first at a helper, which has no data.
        arithmetic : bool
            Whether the task has formulae of its own.

        Raises
        ------
        PolicyError, MessageError
            If the node, or the job as it was announced, gives private answers only; or if the node allows no formulae.
        ThresholdError
            If the task singles out a few rows (`choosing.check_exact`).
        """
        if not private and self.has_data and not self.policy.allow_non_private:
            raise PolicyError(
                "this node releases differentially private answers only; ask for one with an epsilon, "
                "and with nothing whose refusals tell about values (outside='refuse') or that is only as published"
            )
        if not private:
            announced.check_exact(self)
            choosing.check_exact(self, self.dictionary, arithmetic)

    def require_predictions(self) -> None:
        """Raise `PolicyError` if single records of this node may not be classified or predicted, `MessageError` if the job did not announce it.

        A helper has none.
        """
        if self.has_data and not self.policy.allow_predictions:
            raise PolicyError(
                "this node does not let single records be predicted; ask the node administrator to set FEDBAYES_ALLOW_PREDICTIONS"
            )
        announced.check_single(self)

    # -- what may leave --------------------------------------------------------------------------------------------------

    def public(self, value: T) -> Public[T]:
        """Return public metadata: names, flags, whole numbers, keys. Nothing that depends on values in the table.

        Raises `PolicyError` if it is an array, a fraction or something long.
        """
        if not is_public(value):
            raise PolicyError("what is to leave as public metadata is an array, a fraction or too long; nothing left")
        return self.gate.made(Public(value))

    def from_administrator(self) -> Public[dict[str, Any] | None]:
        """Return `public_schema` as public metadata: the administrator wrote it to be published."""
        return self.gate.made(Public(self.public_schema()))

    def exact(self, value: T, note: str, counts: Any = None, queries: int = 1, summed: bool = True) -> Exact[T]:
        """Return an exact aggregate, which may then leave, or be masked or shared.

        Parameters
        ----------
        value : object
            Numbers, or an array of them.
        note : str
            Purpose of the questions, for the ledger.
        counts : array-like, optional
            Numbers of records behind the value; each must be 0 or at least `minimum_count`.
        queries : int
            Questions that it answers, for `maximum_queries`.
        summed : bool
            Whether central gets the sum of this value over the round's participants, each of which holds other rows. Sums over different sets can be
            subtracted, so the set is compared with earlier ones (`answered`). False for records whose columns are spread, and for a value of this station.

        Raises
        ------
        PolicyError, MessageError
            If the node, or the job as it was announced, gives private answers only; or if the node does not recognise a model among the arguments.
        BudgetError
            If the node has answered `maximum_queries` questions.
        ThresholdError
            If too few organizations take part, a count is too small, or earlier sums and this one would reveal a sum over too few organizations.
        """
        self.require_private(False)
        self._guard(summed)
        if counts is not None:
            records = np.asarray(counts)
            if bool(np.any((records != 0) & (records < self.policy.minimum_count))):
                raise ThresholdError("fewer records stand behind a number than this node demands; ask less finely")
        if queries:
            self.charge(0.0, 0.0, note, queries, relation=None)
        return self.gate.made(Exact(value))

    def further(self, value: T) -> Exact[T]:
        """Return more of an exact answer that the job counted as a question before, of this station or of records whose columns are spread; see `exact`."""
        return self.exact(value, "", queries=0, summed=False)

    def _guard(self, summed: bool) -> None:
        manifest = self.require_members()
        arrival.check_models(self)
        self.history.check(self.namings(self.summed_over(whole=True), manifest.names) if summed else [])

    def released(self, value: T, receipt: Receipt) -> Released[T]:
        """Return noisy numbers, which may then leave or be masked.

        Parameters
        ----------
        value : object
            Numbers with noise.
        receipt : Receipt
            From the `charge` that was made before the noise was drawn.

        Raises
        ------
        PolicyError
            If the receipt is not from this round.
        """
        if not self.gate.knows(receipt):
            raise PolicyError("noisy numbers were not charged in this round; nothing left the station")
        return self.gate.made(Released(value))

    def mask(self, content: Exact[Any] | Released[Any], topic: str = "", common: Any = None) -> Masked:
        """Return an array of whole numbers under pairwise masks, which cancel in the sum over exactly this round's participants.

        Masks are bound to the function and to the whole request: if central asks one station for something else than the others, they do not cancel.

        Parameters
        ----------
        content : Exact or Released
            An array of whole numbers, made in this round.
        topic : str
            Tells several masked arrays of one round apart.
        common : object, optional
            For requests that differ because they carry sealed messages: what must be equal at all, to which masks are bound in place of the request.

        Notes
        -----
        **Reveals** the sum over the participants to central, and nothing else. **Assumes** that at least two of them do not collude with central.
        """
        if isinstance(content, Exact):
            self.summed_over()
        topic = "|".join((topic, self.function, self.question_digest if common is None else digest_of(common)))
        masked = self.channel.mask(self._inside(content), self.participants, topic)
        return self.gate.made(Masked(masked, self.channel.check_word(self.participants, topic)))

    def share(self, content: Any) -> Share[Any]:
        """Return one share of a secret, which may then leave.

        Parameters
        ----------
        content : Exact, Released, ndarray or bytes
            A share of an answer that this station made, or numbers or bytes that are uniformly distributed by themselves.

        Raises
        ------
        PolicyError
            If the numbers are plainly not uniform (`uniform.is_uniform`).
        MessageError, ThresholdError
            If there are no other members to hold the other shares, or too few.
        """
        value = self._inside(content) if isinstance(content, Exact | Released) else content
        self.require_members()
        if not is_uniform(value):
            raise PolicyError("what is to leave as a share is not uniform; nothing left the station")
        return self.gate.made(Share(value))

    def _inside(self, content: Exact[Any] | Released[Any]) -> Any:
        if not (isinstance(content, Exact | Released) and self.gate.knows(content)):
            raise PolicyError("only exact or released numbers of this round may be masked; nothing left the station")
        return content.value
