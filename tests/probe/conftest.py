"""An independent oracle of the probe: plain Python, exact fractions, no code of the package."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction
from functools import cache

import pytest


@cache
def high_mass(a: int, b: int, threshold: Fraction) -> Fraction:
    """P(Beta(a, b) > threshold) as a binomial sum."""
    n = a + b - 1
    return sum(
        (math.comb(n, r) * threshold**r * (1 - threshold) ** (n - r) for r in range(a)),
        Fraction(0),
    )


@cache
def difference_mass(a: int, b: int, c: int, d: int, band: Fraction) -> Fraction:
    """P(F - S > band): for each term of the binomial sum, a polynomial in s, integrated."""
    n = a + b - 1
    total = Fraction(0)
    for r in range(a):
        for x in range(r + 1):  # (s + band)^r = sum C(r, x) s^x band^(r-x)
            for y in range(n - r + 1):  # (1 - band - s)^(n-r)
                for v in range(d):  # (1 - s)^(d-1)
                    power = x + y + (c - 1) + v
                    factor = (
                        math.comb(n, r)
                        * math.comb(r, x)
                        * math.comb(n - r, y)
                        * math.comb(d - 1, v)
                    )
                    sign = (-1) ** (y + v)
                    rest = band ** (r - x) * (1 - band) ** (n - r - y)
                    total += sign * factor * rest * (1 - band) ** (power + 1) / (power + 1)
    return total * c * math.comb(c + d - 1, c)


def oracle_state(rule, k: int, i: int, j: int) -> str:
    """The state of the record (k, i, j) by the definitions, in exact arithmetic."""
    (a0, b0), (c0, d0) = map(int, rule.prior), map(int, rule.prior_of_ablated)
    full, ablated = (a0 + i, b0 + k - i), (c0 + j, d0 + k - j)
    high = high_mass(*full, rule.threshold)
    up = difference_mass(*full, *ablated, rule.zero_band)
    down = difference_mass(*ablated, *full, rule.zero_band)
    level = next((n for n, m in (("high", high), ("low", 1 - high)) if m >= rule.confidence), None)
    zones = (("positive", up), ("zero", 1 - up - down), ("negative", down))
    effect = next((n for n, m in zones if m >= rule.confidence), None)
    if level is None or effect is None:
        return "not_confident"
    names = {
        ("high", "positive"): "adopted",
        ("high", "zero"): "redundant",
        ("low", "positive"): "weak",
        ("low", "zero"): "dead",
    }
    return names.get((level, effect), "adverse")


def oracle_sequences(rule, p: Fraction, q: Fraction):
    """Walk every sequence of k_max pairs; yield (probability, k, i, j, state) of its stop."""
    for draws in itertools.product(((0, 0), (0, 1), (1, 0), (1, 1)), repeat=rule.k_max):
        weight = Fraction(1)
        for f, s in draws:
            weight *= (p if f else 1 - p) * (q if s else 1 - q)
        for k in range(1, rule.k_max + 1):
            i, j = sum(f for f, _ in draws[:k]), sum(s for _, s in draws[:k])
            state = oracle_state(rule, k, i, j)
            if k == rule.k_max or (k >= rule.k_min and state != "not_confident"):
                yield weight, k, i, j, state
                break


def oracle_forward(rule, p: Fraction, q: Fraction):
    """Forward recursion over the true-rate probabilities of records, in fractions."""
    alive = {(0, 0): Fraction(1)}
    ends = defaultdict(Fraction)
    for k in range(1, rule.k_max + 1):
        grown = defaultdict(Fraction)
        for (i, j), weight in alive.items():
            for f, s in ((0, 0), (0, 1), (1, 0), (1, 1)):
                step = (p if f else 1 - p) * (q if s else 1 - q)
                grown[i + f, j + s] += weight * step
        alive = {}
        for (i, j), weight in grown.items():
            state = oracle_state(rule, k, i, j)
            if k == rule.k_max or (k >= rule.k_min and state != "not_confident"):
                ends[k, i, j, state] += weight
            else:
                alive[i, j] = weight
    return ends


class Oracle:
    state = staticmethod(oracle_state)
    sequences = staticmethod(oracle_sequences)
    forward = staticmethod(oracle_forward)


@pytest.fixture(scope="session")
def oracle():
    return Oracle
