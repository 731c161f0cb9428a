"""The arguments of the functions that take a fitted network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from fedbayes.federation.declare import PARTIES, TARGET, Arguments, argument
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.kinds import COLUMN, EPSILON, MODEL, ORGANIZATION, choice, whole
from fedbayes.federation.vertical.declared import Helped, Split, neighbors

from .arguments import NOISY_RECORDS

METHODS = ("counts", "records")


class OfModel(Arguments):
    """Of every function that takes a fitted network."""

    @classmethod
    def check_model(cls, function: str, model: Mapping[str, Any]) -> None:
        """Refuse what is no network."""
        content = model.get("model", model)
        if not isinstance(content, Mapping) or not isinstance(content.get("nodes"), Mapping):
            raise ArgumentError(
                "model must be the model that fit returned: a network of vertibayes has nodes, edges and tables"
            )


class Evaluate(Split, OfModel):
    """Of `evaluate`."""

    rounds_usually: ClassVar[int] = 5

    model: dict[str, Any] = argument(MODEL, "What is scored.", rank=TARGET)
    label: str | None = argument(COLUMN, "The node to predict; the model's own when left out.", None, rank=TARGET)
    method: str | None = argument(
        choice(METHODS),
        "From tables over the label's Markov blanket and the families, or every record in shares, whose scores the label's station sees; "
        "counts when left out, where the blanket allows.",
        None,
    )
    epsilon: float | None = argument(EPSILON, "Noise in the tables of counts; without it the scores are exact.", None)
    neighbors: str = neighbors(NOISY_RECORDS)


class Classify(Helped, OfModel):
    """Of `classify`."""

    rounds_usually: ClassVar[int] = 5

    model: dict[str, Any] = argument(MODEL, "What predicts.", rank=TARGET)
    id_column: str = argument(COLUMN, "The identifier at every station, by which records are matched.", rank=TARGET)
    label: str | None = argument(COLUMN, "The node to predict; the model's own when left out.", None, rank=TARGET)
    identify: int | str | None = argument(
        ORGANIZATION,
        "The station whose identifiers name the records; central's own, else the first, when left out.",
        None,
        rank=PARTIES,
    )


class Sample(OfModel):
    """Of `sample`."""

    reads_table: ClassVar[bool] = False

    model: dict[str, Any] = argument(MODEL, "What is drawn from.", rank=TARGET)
    rows: int = argument(whole(1, 1_000_000), "How many records.", 1000, unit="records")
