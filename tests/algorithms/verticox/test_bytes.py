"""What a private fit sends: bytes of its first rounds by their formula, and of the whole fit, beside central and with a neutral central."""

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from v6_verticox.cox import likelihood

ROWS, COLUMNS, STATIONS, ELEMENT = 3_000, 6, 3, 16
MOST_PER_RECORD = {"s0": 15_000, "s2": 14_200, "neutral": 22_800}
FEATURES = [f"x{place}" for place in range(COLUMNS)]


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(5)
    values = rng.normal(size=(ROWS, COLUMNS))
    death = rng.exponential(np.exp(-values @ [0.5, -0.4, 0.3, 0.2, -0.3, 0.1]))
    censored = rng.exponential(2.0, ROWS)
    frame = pd.DataFrame(values, columns=FEATURES)
    frame["time"], frame["event"] = np.minimum(death, censored), (death <= censored).astype(int)
    return frame


def fitted(records, central):
    split = [list(part) for part in np.array_split(np.array(FEATURES), STATIONS)]
    split[-1] += ["time", "event"]
    parties = {f"s{place}": records[columns] for place, columns in enumerate(split)}
    helpers = ["helper", *(["neutral"] if central == "neutral" else [])]
    task = {"time": "time", "event": "event", "features": FEATURES, "rows_aligned": True, "helper": "helper"}
    with OneProcess(parties=parties, helpers=helpers, aggregator=central) as federation:
        return federation.run("verticox", "fit", task)


def expected_beside(travels):
    """Return the bytes of the six rounds at zero coefficients, with `travels` of the stations away from central, the outcome holder among them."""
    width, away = COLUMNS // STATIONS, travels - 1
    published = COLUMNS + 5  # columns, events, reciprocals, two of the trend, the order
    rounds = [
        (2 * COLUMNS + COLUMNS + width * away) * ELEMENT,  # corrections and sorting from the helper, masked columns
        (width * (STATIONS - 1) + COLUMNS + published) * ELEMENT,
        (published * away + (0 if travels < STATIONS else 2 * COLUMNS) + COLUMNS * travels) * ELEMENT,
        COLUMNS * (1 + travels * (ELEMENT + 2 * 14)),  # one station gets whole sums, a byte longer than parts
        COLUMNS * 2 * (15 + (travels - 1) * 10),
    ]
    return [ROWS * each * 4 / 3 for each in rounds]


@pytest.mark.few(1)
@pytest.mark.parametrize("central", ["s0", "s2", "neutral"])
def test_bytes_of_a_fit(records, central):
    result = fitted(records, central)
    federation = result["federation"]
    sent = [entry["bytes"] for entry in federation["per_round"] if entry["function"] in SENDING]
    if central != "s2":  # there the outcome holder's messages stay too
        np.testing.assert_allclose(sent[:5], expected_beside(2 if central == "s0" else 3), rtol=0.03, atol=6_000)
    assert federation["bytes"] <= MOST_PER_RECORD[central] * ROWS
    risk = likelihood.RiskSets.of(records["time"].to_numpy(), records["event"].to_numpy())
    expected = likelihood.fit(risk, records[FEATURES].to_numpy(), FEATURES)
    found = [row["coefficient"] for row in result["model"]["coefficients"]]
    np.testing.assert_allclose(found, expected.coefficients, atol=1e-7)
    gain = expected.log_likelihood - expected.null_log_likelihood
    assert abs(result["model"]["log_likelihood"] - expected.log_likelihood) <= 1e-7 * gain


SENDING = ("partial_enter", "partial_permute", "partial_stage")
