"""Boundaries for planned looks: published constants, simulation, and their limits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simtrack.errors import InputError
from simtrack.inference.sequential.group_sequential import group_sequential

#: Jennison and Turnbull (2000) print three decimals.
PRINTED = 5e-4
#: SciPy integrates the normal law of three looks by quasi-random points.
SIMULATED = 2e-5


@pytest.mark.parametrize(
    ("looks", "pocock", "obrien_fleming"),
    [(2, 2.178, 1.977), (3, 2.289, 2.004), (4, 2.361, 2.024), (5, 2.413, 2.040)],
)
def test_jennison_and_turnbull_tables(looks, pocock, obrien_fleming) -> None:
    assert group_sequential(looks, kind="pocock").bounds[0] == pytest.approx(pocock, abs=PRINTED)
    assert group_sequential(looks).bounds[-1] == pytest.approx(obrien_fleming, abs=PRINTED)


def test_five_bounds_of_obrien_and_fleming() -> None:
    wanted = (4.5617, 3.2256, 2.6337, 2.2809, 2.0401)
    assert group_sequential(5).bounds == pytest.approx(wanted, abs=5e-5)


def test_spending_functions_of_lan_and_demets() -> None:
    # One-sided .025, three equal looks, as gsDesign and rpact document them.
    like = group_sequential(3, alpha=0.025, sides=1, kind="spending-obrien-fleming")
    assert like.bounds == pytest.approx((3.7103, 2.5114, 1.9930), abs=5e-5)
    flat = group_sequential(3, alpha=0.025, sides=1, kind="spending-pocock")
    assert flat.bounds == pytest.approx((2.2794, 2.2949, 2.2959), abs=6e-5)
    assert flat.spent[-1] == pytest.approx(0.025)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pocock", "obrien-fleming", "spending-power"])
def test_the_chance_to_cross_is_alpha(kind) -> None:
    # 10^6 studies: the standard error is .00022; |z| > 4.4 happens once in 10^5 runs.
    plan = group_sequential([0.2, 0.5, 1.0], alpha=0.05, kind=kind)
    steps = np.sqrt(np.diff([0.0, *plan.fractions]))
    rng = np.random.default_rng(12)
    walk = np.cumsum(rng.standard_normal((1_000_000, 3)) * steps, axis=1)
    z = walk / np.sqrt(plan.fractions)
    crossed = (np.abs(z) >= np.array(plan.bounds)).any(axis=1).mean()
    assert abs(crossed - 0.05) < 4.4 * math.sqrt(0.05 * 0.95 / 1e6)


def test_one_look_is_the_fixed_design() -> None:
    for kind in ("pocock", "obrien-fleming", "spending-pocock"):
        plan = group_sequential(1, kind=kind)
        assert plan.bounds[0] == pytest.approx(1.959964, abs=1e-6)
        assert plan.nominal[0] == pytest.approx(0.05, abs=1e-9)


def test_a_look_at_almost_nothing_spends_nothing() -> None:
    plan = group_sequential([0.001, 1.0], kind="spending-obrien-fleming")
    assert math.isinf(plan.bounds[0])
    assert plan.to_dict()["bounds"][0] is None
    assert not plan.rejects(1, 0.0001)
    assert plan.bounds[1] == pytest.approx(1.959964, abs=1e-6)


def test_refusals() -> None:
    with pytest.raises(InputError, match="ascending shares of the information, the last one 1"):
        group_sequential([0.5, 0.9])
    with pytest.raises(InputError, match="kind must be one of pocock"):
        group_sequential(3, kind="haybittle")
    with pytest.raises(InputError, match="look must be an integer from 1 to 3, got 4"):
        group_sequential(3).rejects(4, 0.01)


@pytest.mark.parametrize("kind", ["pocock", "obrien-fleming", "spending-power"])
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("looks", [(0.5, 0.501, 1.0), (0.2, 0.7, 1.0), (0.98, 0.99, 1.0)])
def test_looks_at_any_distance_cross_with_probability_alpha(kind, sides, looks) -> None:
    from scipy.stats import multivariate_normal

    plan = group_sequential(looks, kind=kind, sides=sides)
    share = np.minimum.outer(looks, looks) / np.maximum.outer(looks, looks)
    top = np.array(plan.bounds)
    inside = multivariate_normal.cdf(
        top, cov=np.sqrt(share), lower_limit=None if sides == 1 else -top, abseps=1e-7
    )
    assert 1.0 - inside == pytest.approx(0.05, abs=SIMULATED)


def test_looks_that_are_next_to_one_are_refused() -> None:
    with pytest.raises(InputError, match=r"looks must be at least 0.001 of the information apart"):
        group_sequential([0.5, 0.5001, 1.0])
