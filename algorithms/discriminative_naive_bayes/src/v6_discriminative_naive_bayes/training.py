"""The rounds of a fit: tables, then steps of L-BFGS on the federated objective, noisy descent, or averaging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fedbayes.bayes.naive_bayes.unknown import without_values
from fedbayes.federation.horizontal import EvaluateRequest, Form, SecureSums, check_noise, whole_sums
from fedbayes.typing import Booleans, Floats, Integers

from . import terms
from .adam import LEARNING_RATE, descended, trust
from .attributes import information, learn
from .classifier import WeightedNaiveBayes
from .descent import expected_curvature, minimise
from .learning import Fit, regularised
from .messages import PERSONAL_ITERATIONS, CountsRequest, Shape, StepRequest
from .model import LARGEST_WEIGHT, Tables, tables_from_counts, without_noise
from .partial import FRACTION_BITS, NOISY_FRACTION_BITS, TABLE_BITS, honest_deviation, noisy_queries, table_deviation
from .settings import Settings, settled


class Training:
    """One fit, round by round.

    Parameters
    ----------
    federation : Federation, or what stands for it in a study
    stations : sequence of int
    shape : Shape
    settings : Settings

    Attributes
    ----------
    step : int
        Rounds of the optimisation so far.
    """

    def __init__(self, federation: SecureSums, stations: Sequence[int], shape: Shape, settings: Settings) -> None:
        self.federation = federation
        self.stations = stations
        self.shape = shape
        self.settings = settled(settings, shape)
        self.layout = shape.layout
        self.counts: Integers | None = None
        self.step = 0

    def count_tables(self) -> None:
        """Sum the tables over the stations in one round, and take out what noise alone can make; nothing where every station keeps its own."""
        if self.shape.tables == "local":
            return
        request = CountsRequest(self.shape, self.settings.table_noise)
        self.counts = whole_sums(self.federation, "partial_counts", request, self.stations, self.layout.counts)
        deviation = 0.0
        if request.noise.private:
            parties = len(self.stations)
            self.counts = np.asarray(np.rint(self.counts / 2.0**TABLE_BITS), dtype=np.int64)
            deviation = table_deviation(request, parties) * (parties / request.noise.honest(parties)) ** 0.5
        self._warn_of_columns(deviation)
        if request.noise.private:
            self.counts = self._cleaned(self.counts, deviation)

    def _cleaned(self, counts: Integers, deviation: float) -> Integers:
        """Return counts without what noise of such a deviation in every cell can make alone."""
        if self.settings.by_terms:
            return terms.drawn_together(self.layout, counts, deviation, self._ordered())
        return without_noise(self.layout, counts, deviation)

    def _ordered(self) -> Booleans:
        """Return which attributes are bins of a number."""
        schema = self.shape.columns.schema
        return np.array([not schema[name].is_categorical for name in self.shape.attributes], dtype=bool)

    def _warn_of_columns(self, deviation: float) -> None:
        """Warn of features in which nearly no row has a value, as the sums show; `deviation` is that of the noise in a cell."""
        assert self.counts is not None
        classes, columns = self.layout.classes, self.shape.columns
        rows = float(self.counts[:classes].sum())
        values = self.counts[classes : classes * (1 + self.layout.values)].reshape(-1, classes).sum(axis=1)
        rows_with_value = np.add.reduceat(values, self.layout.starts)
        for name, with_value, cells in zip(columns.features, rows_with_value, self.layout.cardinalities, strict=True):
            noise = deviation * (classes * (1 + cells)) ** 0.5
            for warning in without_values(columns.schema, name, float(with_value), rows, noise):
                self.federation.warn(warning)

    def learn(self) -> Fit:
        """Return the learned weights; a warning says so if the rounds ran out."""
        start = self._start()
        if self.settings.averaging:
            fit = self._average(start)
        elif self.settings.step_noise.private:
            fit = self._descend(start)
        else:
            fit = minimise(
                self._objective, start, self.settings.asked.steps, self.settings.asked.tolerance, self._curvature()
            )
        if fit.converged is False:
            self.federation.warn(f"the weights had not converged after {self.settings.asked.steps} steps; raise rounds")
        return fit

    def _start(self) -> Floats:
        """Return plain naive Bayes, or the zeros that the authors' code starts from."""
        if self.shape.prior != "published":
            return np.ones(self.layout.parameters)
        self.federation.warn(
            'prior="published" is for reproducing the paper: the prior enters as P(c) instead of log P(c)'
            + (", and the weights start at 0" if self.settings.averaging else "")
        )
        return np.zeros(self.layout.parameters) if self.settings.averaging else np.ones(self.layout.parameters)

    def _curvature(self) -> Floats | None:
        """Return the expected second derivatives; None where central has no tables."""
        tables = self.tables()
        if tables is None or self.counts is None:
            return None
        return expected_curvature(self.layout, tables, self.counts) + self.settings.asked.regularization

    def _request(self, points: Floats, shape: Shape | None = None, additive: bool = False) -> StepRequest:
        return StepRequest(
            shape=shape or self.shape,
            weights=points,
            counts=None if additive else self.counts,
            iterations=self.settings.asked.local_iterations if self.settings.averaging else 0,
            regularization=self.settings.asked.regularization,
            by_rows=self.settings.asked.aggregation == "by_rows",
            noise=self.settings.step_noise,
            clip=self.settings.cut,
            step=max(self.step, 1),
            steps=self.settings.asked.steps,
            additive=additive,
        )

    def _ask(self, points: Floats, shape: Shape | None = None, additive: bool = False) -> Integers:
        """Return the sums over the stations at some points (points, parameters): one round."""
        self.step += 1
        request = self._request(points, shape, additive)
        noisy = self.settings.step_noise.private
        parameters = request.shape.layout.parameters
        length = parameters if noisy else 1 + len(points) * (1 + parameters)
        return whole_sums(self.federation, "partial_step", request, self.stations, length)

    def _objective(self, points: Floats) -> tuple[Floats, Floats]:
        """Return the mean negative conditional log-likelihood over all stations and its gradient at every point: one round."""
        answer = self._ask(points) / 2.0**FRACTION_BITS
        sums = answer[1:].reshape(len(points), -1) / max(float(answer[0]), 1.0)
        return regularised(sums[:, 0], sums[:, 1:], points, self.settings.asked.regularization)

    def _average(self, weights: Floats) -> Fit:
        """Federated averaging of the stations' own improvements.

        Noisy ones are shortened by `trust`, and all by the power that their sum can have at most over that and the power of the noise: where noise
        drowns everything, plain naive Bayes stays.
        """
        objective: list[float] = []
        variance = self._noise_variance(weights, len(self.stations)) if self.settings.step_noise.private else 0.0
        longest = (self.settings.cut * len(self.stations)) ** 2
        for _ in range(self.settings.asked.steps):
            if self.settings.step_noise.private:
                answer = self._ask(weights[None]) / 2.0**NOISY_FRACTION_BITS
                moved = answer * trust(answer, variance) / len(self.stations)
                moved *= longest / (longest + len(weights) * variance)
            else:
                answer = self._ask(weights[None]) / 2.0**FRACTION_BITS
                share = answer[0] if self.settings.asked.aggregation == "by_rows" else float(len(self.stations))
                moved = answer[2:] / max(share, 1.0)
                objective.append(float(answer[1]))
            weights = np.clip(weights + moved, -LARGEST_WEIGHT, LARGEST_WEIGHT)
            if self._settled(objective):
                return Fit(weights, objective, True)
        return Fit(weights, objective, None if self.settings.step_noise.private else False)

    def _settled(self, objective: list[float]) -> bool:
        if len(objective) < 2:
            return False
        return abs(objective[-2] - objective[-1]) <= self.settings.asked.tolerance * max(abs(objective[-1]), 1.0)

    def _descend(self, weights: Floats) -> Fit:
        """Descend along noisy, clipped gradients: by terms (`terms`), or in Adam's steps where they do not fit.

        The first rounds may learn one weight for each attribute (`attributes`), from which the others go on.
        """
        rows = int(self.counts[: self.layout.classes].sum()) if self.counts is not None else 1
        self._choose_cut(rows)
        variance, asked = self._noise_variance(weights, rows), self.settings.attribute_rounds
        if asked and self.counts is not None:
            weights = self._by_attribute(self.counts, variance, asked)
        left = self.settings.asked.steps - self.step
        if left and self.settings.by_terms and self.counts is not None:
            return Fit(self._by_terms(self.counts, weights if asked else None, variance, left), [], None)
        return Fit(self._by_adam(weights, variance, LEARNING_RATE / 2 if asked else LEARNING_RATE, left), [], None)

    def _choose_cut(self, rows: int) -> None:
        """Choose where rows are cut from the noise and the noisy number of rows, unless the caller did."""
        if not self.settings.by_terms or self.settings.clip is not None:
            return
        longest, parties = terms.longest(self.layout), len(self.stations)
        self.settings = replace(self.settings, clip=longest)
        request = self._request(np.zeros((1, self.layout.parameters)), additive=True)
        noise = honest_deviation(request, parties) / 2.0**NOISY_FRACTION_BITS / noisy_queries(request) ** 0.5
        noise *= (parties / request.noise.honest(parties)) ** 0.5
        self.settings = replace(self.settings, clip=terms.usual_clip(self.layout, rows * longest / noise))

    def _by_terms(self, counts: Integers, start: Floats | None, variance: float, rounds: int) -> Floats:
        """Return weights after steps on what values add to the scores."""
        layout = self.layout
        tables = tables_from_counts(layout, counts, self.shape.prior)

        def ask(sums: Floats) -> Floats:
            points = np.clip(sums.reshape(1, -1), -LARGEST_WEIGHT, LARGEST_WEIGHT)
            return np.asarray(self._ask(points, additive=True) / 2.0**NOISY_FRACTION_BITS).reshape(sums.shape)

        beforehand = terms.known(layout, tables, counts, self._ordered())
        first = terms.first_weights(layout) if start is None else start
        return terms.learn(ask, beforehand, first, variance, rounds, self.settings.asked.regularization)

    def _by_adam(self, weights: Floats, variance: float, rate: float, rounds: int) -> Floats:
        """Return weights after Adam's steps (`adam`)."""

        def ask(weights: Floats) -> Floats:
            return np.asarray(self._ask(weights[None]) / 2.0**NOISY_FRACTION_BITS)

        return descended(ask, weights, variance, rate, rounds, self.settings.asked.regularization)

    def _by_attribute(self, counts: Integers, variance: float, rounds: int) -> Floats:
        """Return weights of which those of an attribute are alike, after the first rounds."""
        shape = replace(self.shape, weights="attribute")
        curvature = information(shape.layout, tables_from_counts(shape.layout, counts, shape.prior), counts)
        pull = self.settings.asked.regularization * max(float(counts[: self.layout.classes].sum()), 1.0)

        def ask(weights: Floats) -> Floats:
            held = np.clip(weights, -LARGEST_WEIGHT, LARGEST_WEIGHT)
            gradient = self._ask(held[None], shape) / 2.0**NOISY_FRACTION_BITS
            return np.asarray(gradient + pull * (held - 1.0))

        weights = learn(ask, curvature + pull * np.eye(len(curvature)), variance, rounds)
        if self.shape.weights == "attribute":
            return weights
        return np.concatenate([part.ravel() for part in shape.layout.spread(weights)])

    def _noise_variance(self, weights: Floats, contributions: int) -> float:
        """Return the variance of the noise of one entry of a step's sum, the shares of all stations together.

        A warning says so where the noise is longer than the sum of so many contributions, cut at `clip`, can be.
        """
        request, parties = self._request(weights[None]), len(self.stations)
        sigma = honest_deviation(request, parties) / 2.0**NOISY_FRACTION_BITS
        variance = sigma**2 * parties / request.noise.honest(parties)
        longest = self.settings.cut * max(contributions, 1)
        if variance * len(weights) > longest**2:
            self.federation.warn(
                "epsilon leaves more noise in every step than the data can say, so little is learned; "
                "give a larger epsilon, fewer rounds or features, or more stations"
                + ("" if self.settings.averaging else " or rows")
            )
        return variance

    def tables(self) -> Tables | None:
        """Return the shared tables, or None."""
        return None if self.counts is None else tables_from_counts(self.layout, self.counts, self.shape.prior)

    def model(self, learned: Fit) -> WeightedNaiveBayes:
        """Return the fitted model."""
        return WeightedNaiveBayes(self.shape, learned.weights, self.tables())

    def personalized(self, learned: Fit) -> dict[str, Any]:
        """Return accuracy and n after one more local improvement at every station, cross-fitted: one round."""
        model = {**self.model(learned).to_dict(), "personal_iterations": PERSONAL_ITERATIONS}
        request = EvaluateRequest(model, self.shape.columns.label, check_noise("none", None))
        form = Form(False, self.layout.classes)
        summed = whole_sums(self.federation, "partial_evaluate", request, self.stations, form.numbers, last=True)
        confusion = form.tallies(summed).confusion
        return {"accuracy": float(np.trace(confusion) / max(confusion.sum(), 1)), "n": int(confusion.sum())}
