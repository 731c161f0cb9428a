"""Sums of logarithms of ratios from an integrand at few points: the value, and a bound of its error."""

from types import SimpleNamespace

import numpy as np
import pytest

from v6_verticox.cox.mixtures import sum_of_logs

ROOTS, DOUBLED = np.polynomial.legendre.leggauss(6)
NODES, WEIGHTS = (ROOTS + 1.0) / 2.0, DOUBLED / 2.0


def values(ratios):
    return ((ratios - 1.0) / (1.0 + NODES[:, None] * (ratios - 1.0))).sum(axis=1)


@pytest.mark.parametrize("noise", [0.0, 1e-5])
@pytest.mark.parametrize("least", [0.9, 0.1, 0.01, 0.001])
def test_the_sum_is_within_its_bound(least, noise):
    rng = np.random.default_rng(4)
    ratios = rng.uniform(least, 1.6, 300)
    told = values(ratios) + rng.uniform(-noise, noise, 6)
    found, off = sum_of_logs(told, NODES, WEIGHTS, 1e-3, 2.0, max(noise, 1e-9))
    assert abs(found - np.log(ratios).sum()) <= off


def test_ratios_near_one_are_known_to_many_digits():
    ratios = np.random.default_rng(5).uniform(0.7, 1.6, 300)
    found, off = sum_of_logs(values(ratios), NODES, WEIGHTS, 1e-3, 2.0, 1e-6)
    assert found == pytest.approx(np.log(ratios).sum(), abs=1e-6)
    assert off < 1e-3


def test_the_rule_alone_is_wrong_where_ratios_are_near_zero():
    ratios = np.linspace(1e-3, 1.0, 1000)
    told, truth = values(ratios), np.log(ratios).sum()
    found, off = sum_of_logs(told, NODES, WEIGHTS, 1e-3, 1.0, 1e-6)
    assert abs(WEIGHTS @ told - truth) > 1.0
    assert abs(found - truth) <= min(abs(WEIGHTS @ told - truth), off)


def test_values_that_no_ratios_have_are_taken_for_coarse_ones():
    told = values(np.full(10, 0.5)) * np.array([1.0, 1.1, 1.0, 1.1, 1.0, 1.1])
    found, off = sum_of_logs(told, NODES, WEIGHTS, 1e-2, 1.0, 1e-9)
    assert np.isfinite(found)
    assert off > 0.1


def test_without_an_answer_the_rule_is_told_as_off_by_as_much(monkeypatch):
    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: SimpleNamespace(status=4))
    told = values(np.array([0.5, 0.7]))
    found, off = sum_of_logs(told, NODES, WEIGHTS, 1e-2, 1.0, 1e-9)
    assert (found, off) == (WEIGHTS @ told, abs(WEIGHTS @ told))
