"""Private descent of discriminative naive Bayes in one process: one station's rows, and sums of them with seeded noise."""

import numpy as np
from weighted_tables import DOMAIN, table

from fedbayes.federation.horizontal import Columns
from v6_discriminative_naive_bayes.arguments import Fit
from v6_discriminative_naive_bayes.likelihood import Evidence, loss_and_gradient
from v6_discriminative_naive_bayes.messages import Shape, StepRequest
from v6_discriminative_naive_bayes.model import count, tables_from_counts
from v6_discriminative_naive_bayes.partial import TABLE_BITS, encode_rows, honest_deviation, move, prepare

SHAPE = Shape(Columns("class", ["a", "b", "c", "z"], DOMAIN), {"z": 4}, tables="dp")
ROWS = encode_rows(SHAPE, SHAPE.columns.schema.encode(table(3000, 1)))
PARTIES = 4


class NoisySums:
    """The sum of one station's rows with noise of the promised deviation; the noise has a seed, so nothing here is private."""

    def __init__(self, silent=False, rows=ROWS, seed=5):
        self.generator = np.random.default_rng(seed)
        self.silent, self.rows = silent, rows

        self.warnings = []

    def warn(self, text):
        self.warnings.append(text)

    def secure_sum(self, function, request, organizations, reply_type, *, field, last=False):
        if not isinstance(request, StepRequest):
            return (count(request.shape.layout, *self.rows) * 2**TABLE_BITS).astype(np.uint64)
        codes, labels = self.rows
        direction = move(request, prepare(request, codes, labels), labels, request.clip)[0][1]
        wide = honest_deviation(request, PARTIES) * np.sqrt(PARTIES / request.noise.honest(PARTIES))
        noise = self.generator.normal(0.0, wide, len(direction))
        signal = np.zeros_like(noise) if self.silent else direction * 2.0**16
        return np.rint(signal + noise).astype(np.int64).astype(np.uint64)


def settings(**given):
    return Fit.read("fit", {"label": "class", "tables": "dp", **given}).settings


def loss(weights):
    codes, labels = ROWS
    tables = tables_from_counts(SHAPE.layout, count(SHAPE.layout, codes, labels))
    return loss_and_gradient(Evidence.of(SHAPE.layout, tables, codes), weights, labels)[0] / len(labels)
