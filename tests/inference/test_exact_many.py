"""The batch of sign-flip tests decides as the exact test does, where it gives a bound only."""

from __future__ import annotations

import numpy as np
import pytest

from simtrack.inference import sign_flip
from simtrack.inference.exact.many import sign_flip_clusters
from simtrack.method import Ask


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_bounds_lie_on_the_side_of_alpha_on_which_the_exact_p_is(alternative):
    rng = np.random.default_rng(3)
    clusters = 26  # more than are listed, fewer than are bounded by the single test
    tried = rng.integers(90, 200, (80, clusters, 2))
    passed = rng.binomial(tried, np.array([0.55, 0.52]))
    found = sign_flip_clusters(passed, tried, np.array([1.0, -1.0]), Ask(alternative=alternative))
    differences = passed[..., 0] / tried[..., 0] - passed[..., 1] / tried[..., 1]
    exact = np.array([sign_flip(row, alternative=alternative).pvalue for row in differences])
    assert (found.pvalue >= exact - 1e-12).all()
    assert ((found.pvalue <= 0.05) == (exact <= 0.05)).all()
    assert 0.1 < (exact <= 0.05).mean() < 0.95 or alternative == "less"
