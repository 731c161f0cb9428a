"""People whose columns are spread over stations, each file in its own order and with some people of its own."""

import numpy as np
import pandas as pd
import pytest

PEOPLE = 240


def pooled_table(stations=3, people=PEOPLE, seed=7):
    draw = np.random.default_rng(seed)
    table = pd.DataFrame({"id": [f"p{i:04d}" for i in range(people)]})
    table["age"] = draw.integers(20, 90, people)
    table["weight"] = np.round(draw.normal(75, 12, people), 1)
    table["smoker"] = draw.choice(["yes", "no"], people)
    table["stage"] = draw.choice(["I", "II", "III"], people)
    table.loc[draw.random(people) < 0.1, "smoker"] = None
    for extra in range(stations):
        table[f"flag{extra}"] = (draw.random(people) < 0.8).astype(int)
    return table


HOMES = {"age": 0, "smoker": 0, "weight": 1, "stage": 2}


def spread(table, stations=3, extra=15, homes=HOMES):
    """Return the tables of stations, each in an order of its own, with so many people whom no other one has."""
    draw = np.random.default_rng(11)
    parties = {}
    for number in range(stations):
        own = [name for name, home in homes.items() if home % stations == number] + [f"flag{number}"]
        part = table[["id", *own]]
        strangers = part.sample(extra, random_state=number).copy()
        strangers["id"] = [f"s{number}-{i}" for i in range(extra)]
        parties[f"station{number}"] = pd.concat([part, strangers]).iloc[draw.permutation(len(part) + extra)]
    return parties


@pytest.fixture(scope="session")
def table():
    return pooled_table()


@pytest.fixture(scope="session")
def parties(table):
    return spread(table)
