"""p at planned looks: the binomial law, what extends it to means, and what neither may do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from simtrack.analysis.monitor import monitor
from simtrack.analysis.monitor_looks import binomial_p
from simtrack.inference import bounded_mean_p
from simtrack.inference.exact.signflip import sign_flip
from simtrack.records import Records


@pytest.mark.parametrize(("passes", "n", "null"), [(4, 5, 0.5), (3, 12, 0.4), (0, 7, 0.2),
                                                   (20, 20, 0.9), (61, 100, 0.5),
                                                   (0, 100, 0.9), (30, 100, 0.9)])  # fmt: skip
def test_of_zeros_and_ones_it_is_the_binomial_test(passes, n, null) -> None:
    tails = stats.binom.sf(passes - 1, n, null), stats.binom.cdf(passes, n, null)
    wanted = min(1.0, 2 * min(tails))
    scores = [1.0] * passes + [0.0] * (n - passes)
    assert bounded_mean_p(scores, null) == pytest.approx(wanted, rel=1e-10)
    assert binomial_p(passes, n, null) == pytest.approx(wanted, rel=1e-10)


def test_the_tail_is_that_of_dirichlet_weights() -> None:
    scores, null, draws = np.array([0.25, 0.9, 2 / 3, 2 / 3, 1.0]), 0.55, 400_000
    weights = np.random.default_rng(7).dirichlet(np.ones(6), draws)[:, :5]
    upper = float(((weights * scores).sum(axis=1) <= null).mean())
    lower = float(((weights * (1 - scores)).sum(axis=1) <= 1 - null).mean())
    wanted = min(1.0, 2 * min(upper, lower))
    assert bounded_mean_p(scores, null) == pytest.approx(wanted, abs=8 / draws**0.5 / 2)


def test_equal_scores_have_a_closed_form() -> None:
    # w_0 is Beta(1, n): P(.7 (1 - w_0) <= .5) = (5/7)^n.
    assert bounded_mean_p([0.7] * 12, 0.5) == pytest.approx(2 * (5 / 7) ** 12, rel=1e-12)


def test_a_greater_score_never_weakens_evidence_above_the_null() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        n = int(rng.integers(2, 15))
        scores = np.minimum(1.0, 0.6 + 0.4 * rng.integers(0, 4, n) / 3)
        more = scores.copy()
        more[rng.integers(n)] = 1.0
        assert bounded_mean_p(more, 0.5) <= bounded_mean_p(scores, 0.5) * (1 + 1e-12)


@pytest.mark.parametrize("law", [{0.0: 0.1, 1.0: 0.9}, {0.0: 0.05, 0.5: 0.1, 1.0: 0.85},
                                 {1 / 3: 0.15, 1.0: 0.85}])  # fmt: skip
@pytest.mark.parametrize("clusters", [5, 8])
def test_skewed_laws_err_at_most_alpha_where_sign_flips_do_not(law, clusters) -> None:
    """Every outcome is listed with its chance, so the error is exact."""
    from itertools import combinations_with_replacement
    from math import factorial, prod

    null = sum(value * chance for value, chance in law.items())
    errs = {"bounded": 0.0, "flips": 0.0}
    for sample in combinations_with_replacement(law, clusters):
        times = [sample.count(value) for value in law]
        ways = factorial(clusters) / prod(map(factorial, times))
        chance = ways * prod(law[v] ** t for v, t in zip(law, times, strict=True))
        errs["bounded"] += chance * (bounded_mean_p(sample, null) <= 0.05)
        errs["flips"] += chance * (sign_flip([v - null for v in sample]).pvalue <= 0.05)
    assert errs["bounded"] <= 0.05
    assert clusters < 6 or errs["flips"] > 0.2


def test_no_random_law_on_three_values_errs_above_alpha() -> None:
    from itertools import combinations_with_replacement
    from math import factorial, prod

    rng = np.random.default_rng(11)
    for _ in range(60):
        law, chances = np.r_[rng.random(2), 1.0], rng.dirichlet(np.full(3, 0.7))
        null, err = float((law * chances).sum()), 0.0
        for sample in combinations_with_replacement(range(3), 7):
            times = [sample.count(k) for k in range(3)]
            ways = factorial(7) / prod(map(factorial, times))
            chance = ways * prod(float(c) ** t for c, t in zip(chances, times, strict=True))
            err += chance * (bounded_mean_p(law[list(sample)], null) <= 0.05)
        assert err <= 0.05


def test_many_clusters_are_cheap_and_stay_a_chance() -> None:
    scores = np.random.default_rng(5).random(1000)
    assert 0.0 <= bounded_mean_p(scores, 0.45) < 1e-4
    assert bounded_mean_p(scores, 0.5) > 0.05


def test_the_kind_of_step_names_the_method() -> None:
    once = {"unit": list("abcd"), "value": [1, 1, 0, 1]}
    twice = {"unit": list("aabbccdd"), "value": [1, 1, 1, 1, 0, 0, 1, 1]}
    parts = {"unit": list("abcd"), "value": [0.5, 1, 0, 1]}
    for rows, wanted in ((once, "binomial"), (twice, "bounded-mean"), (parts, "bounded-mean")):
        found = monitor(Records.from_columns(rows), null=0.5, planned=4, looks=1)
        assert found.looks_method == wanted
        assert any("err with about 0.05 together" in note for note in found.notes)
    assert monitor(Records.from_columns(once)).looks_method is None


def test_differences_of_means_are_flipped_as_fractions() -> None:
    rows = {
        "unit": [u for u in "abcdef" for _ in range(6)],
        "model": ["x", "x", "x", "y", "y", "y"] * 6,
        "value": [1, 1, 0, 0, 0, 1] * 3 + [1, 0, 0, 1, 1, 0] * 2 + [1, 1, 1, 0, 0, 0],
    }
    found = monitor(Records.from_columns(rows), levels=("x", "y"), planned=6, looks=1)
    assert found.looks_method == "sign-flip"
    assert found.looks[0].pvalue == float(sign_flip([1, 1, 1, -1, -1, 3]).pvalue)
    assert any("symmetric about 0 without an effect" in note for note in found.notes)
