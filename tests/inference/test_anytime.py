"""Anytime-valid statements: published values, and their promise by enumeration of all paths."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simtrack.counts import Counts
from simtrack.errors import InputError
from simtrack.inference.sequential.betting import betting_sequence, paired_sequence
from simtrack.inference.sequential.confidence_sequence import (
    bernoulli_interval,
    bernoulli_sequence,
    e_process,
)
from simtrack.inference.sequential.uniform_bounds import (
    best_rho,
    beta_binomial_bound,
    normal_mixture_bound,
    stitched_bound,
)

#: confseq's own unit tests are held to this.
PUBLISHED = 1e-5
#: Sums of logarithms in another order.
ROUNDING = 1e-10


@pytest.mark.parametrize(
    ("successes", "trials", "tuned_at", "low", "high"),
    [
        (700, 1000, 100, 0.651629, 0.745949),
        (15, 50, 50, 0.129556, 0.511896),
        (5, 50, 50, 0.013021, 0.269264),
        (1, 50, 50, 0.0, 0.13489),
        (100, 200, 1, 0.328923, 0.671076),
    ],
)
def test_confseq_bernoulli_intervals(successes, trials, tuned_at, low, high) -> None:
    found = bernoulli_interval(successes, trials, tuned_at=tuned_at)
    assert found == pytest.approx((low, high), abs=PUBLISHED)


def test_confseq_uniform_boundaries() -> None:
    assert best_rho(100, 0.05) == pytest.approx(12.60056, abs=PUBLISHED)
    assert normal_mixture_bound(100, 0.05, 100) == pytest.approx(30.35209, abs=PUBLISHED)
    upper = normal_mixture_bound(100, 0.05, 100, side="upper")
    assert upper == pytest.approx(27.66071, abs=PUBLISHED)
    both = beta_binomial_bound(100, 0.05, 100, 0.2, 0.8)
    assert both == pytest.approx(31.4308, abs=PUBLISHED)
    one = beta_binomial_bound(100, 0.05, 100, 0.2, 0.8, side="upper")
    assert one == pytest.approx(28.41238, abs=PUBLISHED)
    assert stitched_bound(100, 0.05, 10, c=3) == pytest.approx(64.48755, abs=PUBLISHED)


def _ever_left_out(trials: int, p: float, is_out) -> float:
    """Walk over all counts of passes: the chance that `is_out(n, s)` holds at any n."""
    alive, lost = {0: 1.0}, 0.0
    for n in range(1, trials + 1):
        after: dict[int, float] = {}
        for s, chance in alive.items():
            after[s] = after.get(s, 0.0) + chance * (1 - p)
            after[s + 1] = after.get(s + 1, 0.0) + chance * p
        lost += sum(after.pop(s) for s in [s for s in after if is_out(n, s)])
        alive = after
    return lost


def _outcomes(n: int, s: int) -> list[int]:
    return [1] * s + [0] * (n - s)


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.9])
def test_a_rate_is_left_out_at_any_look_with_probability_alpha_at_most(p) -> None:
    alpha, trials = 0.1, 24
    mixed = {}
    bets = {}
    for n in range(1, trials + 1):
        for s in range(n + 1):
            found = bernoulli_sequence(_outcomes(n, s), alpha=alpha, running=False)
            mixed[n, s] = not found.low[-1] <= p <= found.high[-1]
            other = betting_sequence(_outcomes(n, s), alpha=alpha, running=False, looks=[n])
            bets[n, s] = not other.low[-1] <= p <= other.high[-1]
    for table in (mixed, bets):
        ever = _ever_left_out(trials, p, lambda n, s, t=table: t[n, s])
        assert ever <= alpha


def test_looking_at_fixed_intervals_would_not_keep_the_promise() -> None:
    # The Wald interval at every look: the fault that these sequences mend.
    def out(n, s):
        rate = s / n
        half = 1.645 * math.sqrt(max(rate * (1 - rate), 1e-9) / n)
        return not rate - half <= 0.3 <= rate + half

    assert _ever_left_out(40, 0.3, out) > 0.3


def test_the_mixture_is_the_beta_binomial_likelihood_ratio() -> None:
    outcomes = [1, 0, 1, 1, 0, 1, 1, 1]
    found = e_process(outcomes, 0.4)
    a, b, s, n = 0.5, 0.5, 6, 8

    def log_beta(x, y):
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    wanted = log_beta(a + s, b + n - s) - log_beta(a, b) - s * math.log(0.4) - 2 * math.log(0.6)
    assert found.log_e[-1] == pytest.approx(wanted, abs=ROUNDING)


def test_one_sided_capital_is_a_mixture_over_the_rates_above() -> None:
    from scipy import integrate, stats

    outcomes = [1, 0, 1, 1, 1, 0, 1]
    found = e_process(outcomes, 0.6, alternative="greater")

    def ratio(q):
        return stats.beta.pdf(q, 0.5, 0.5) * (q / 0.6) ** 5 * ((1 - q) / 0.4) ** 2

    top = integrate.quad(ratio, 0.6, 1, epsabs=1e-12)[0]
    wanted = top / stats.beta.sf(0.6, 0.5, 0.5)
    # quad meets a singular end at 1, hence the tolerance
    assert math.exp(found.log_e[-1]) == pytest.approx(wanted, rel=1e-6)
    # Under any rate at or below the null it is a supermartingale: expectation at most 1.
    for p in (0.6, 0.5, 0.2):
        mean = 0.0
        for s in range(6):
            e = math.exp(e_process(_outcomes(5, s), 0.6, alternative="greater").log_e[-1])
            mean += stats.binom.pmf(s, 5, p) * e
        assert mean <= 1.0 + ROUNDING


@pytest.mark.parametrize("null", [0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_one_sided_capital_is_defined_however_far_the_rate_is_from_the_null(
    null, alternative
) -> None:
    from scipy import special

    for outcomes in ([1] * 200, [0] * 200, [1, 1, 0, 1] * 50, [0, 0, 1, 0] * 50):
        found = e_process(outcomes, null, alternative=alternative).log_e
        n, s = np.arange(1, 201), np.cumsum(outcomes)
        a, b = 0.5 + s, 0.5 + n - s
        of = special.betaincc if alternative == "greater" else special.betainc
        share, start = of(a, b, null), of(0.5, 0.5, null)
        near = share > 1e-250
        wanted = special.betaln(a, b)[near] - special.betaln(0.5, 0.5) + np.log(share[near] / start)
        wanted = wanted - (s * np.log(null) + (n - s) * np.log1p(-null))[near]
        assert near.any()
        assert found[near] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
        assert np.isfinite(found).all()


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_one_sided_capital_falls_on_average_under_every_rate_of_the_null(alternative) -> None:
    last = 40
    capital = {
        (n, s): np.exp(e_process([1] * s + [0] * (n - s), 0.3, alternative=alternative).log_e[-1])
        for n in range(1, last + 1)
        for s in range(n + 1)
    }
    rates = (0.3, 0.25, 0.05) if alternative == "greater" else (0.3, 0.5, 0.99)
    for p in rates:
        for n in range(1, last):
            for s in range(n + 1):
                after = p * capital[n + 1, s + 1] + (1 - p) * capital[n + 1, s]
                assert after <= capital[n, s] * (1 + 1e-10)


def test_anytime_p_never_rises_and_rejects_where_the_capital_reaches_its_mark() -> None:
    found = e_process([1] * 12 + [0] * 20, 0.5)
    assert (np.diff(found.pvalue) <= 0).all()
    at = found.rejected_at(0.05)
    assert at is not None
    assert found.pvalue[at - 1] <= 0.05 < found.pvalue[at - 2]
    assert e_process([1, 0], 0.5).rejected_at(0.05) is None


def test_the_capital_of_bets_averages_to_one_under_the_truth() -> None:
    # E[K_n(m)] = 1 for a score of mean m: by enumeration of three-valued scores.
    from itertools import product

    from simtrack.inference.sequential import betting

    values, chances = np.array([0.0, 0.5, 1.0]), np.array([0.2, 0.5, 0.3])
    m = float((values * chances).sum())
    total = 0.0
    for path in product(range(3), repeat=5):
        x = values[list(path)]
        capital = np.prod(1 + betting._FRACTIONS[:, None] * (x / m - 1), axis=1).mean()
        total += capital * np.prod(chances[list(path)])
    assert total == pytest.approx(1.0, abs=ROUNDING)


def test_paired_differences_are_scores_from_minus_one_to_one() -> None:
    first, second = [1, 1, 0, 1, 1, 0] * 10, [1, 0, 0, 1, 0, 1] * 10
    found = paired_sequence(first, second)
    other = betting_sequence(np.array(first) - np.array(second), low=-1, high=1)
    assert np.array_equal(found.low, other.low)
    assert found.mean[-1] == pytest.approx(1 / 6, abs=ROUNDING)
    with pytest.raises(InputError, match="second must be as long as the first, 60, got 3"):
        paired_sequence(first, [1, 0, 1])


def test_many_different_scores_are_rounded_outwards() -> None:
    rng = np.random.default_rng(4)
    scores = rng.random(900)
    found = betting_sequence(scores, running=False, looks=[900])
    from simtrack.inference.sequential import betting

    wide = betting._MOST_VALUES
    try:
        betting._MOST_VALUES = 10_000
        exact = betting_sequence(scores, running=False, looks=found.trials[-1:].tolist())
    finally:
        betting._MOST_VALUES = wide
    assert (found.low[-1:] <= exact.low).all()
    assert (found.high[-1:] >= exact.high).all()
    assert found.low[-1] == pytest.approx(exact.low[-1], abs=2.0 / wide)


def test_drift_is_said_when_no_value_is_left() -> None:
    found = bernoulli_sequence([1] * 60 + [0] * 400)
    assert found.low[-1] > found.high[-1]
    assert "no value is left after trial" in found.notes[0]


def test_what_has_no_order_is_refused() -> None:
    counts = Counts.from_cells([[1, 3]], outcomes=("FAIL", "PASS"), cluster=["a"])
    for verb in (bernoulli_sequence, betting_sequence):
        with pytest.raises(InputError, match="a sequence in order, got Counts, which have none"):
            verb(counts)
    with pytest.raises(InputError, match="without gaps, got none at trial 2"):
        bernoulli_sequence([1, float("nan"), 0])
    with pytest.raises(InputError, match=r"0 or 1 in every trial, got 0\.5 at trial 1"):
        bernoulli_sequence([0.5])
    with pytest.raises(InputError, match="a sequence in order, got set"):
        bernoulli_sequence({0, 1})
    assert len(bernoulli_sequence([])) == 0


def test_evidence_beyond_what_a_float_holds_is_shown_by_its_logarithm() -> None:
    assert repr(e_process([1] * 2000, 0.5)).endswith(f"log e={2000 * math.log(2) - 4.4:.4g})")
