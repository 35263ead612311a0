"""Intervals that hold at every look at once: a confidence sequence, and e-values, for one rate.

The capital of a gambler who bets against a rate p is a test martingale if p is true; by Ville's
inequality it ever reaches 1/alpha with probability alpha at most. The rates that were not ruined
so far are the confidence sequence: look as often as you like, stop when you like.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.numerics.incomplete_beta import log_beta_cdf
from simtrack.inference.numerics.roots import turning_point
from simtrack.inference.sequential.sequence import ordered_sequence
from simtrack.inference.sequential.uniform_bounds import best_rho
from simtrack.options import Alternative, Computation, Guarantee, choice
from simtrack.validate import integer, open_unit, real

__all__ = [
    "ConfidenceSequence",
    "EProcess",
    "bernoulli_interval",
    "bernoulli_sequence",
    "e_process",
]

Floats = NDArray[np.float64]
#: Jeffreys' prior, whose bets are within log n of the best fixed one (Krichevsky and Trofimov).
_JEFFREYS = (0.5, 0.5)
_ALPHA_OPT = 0.05
_LOG_MOST = 700.0
_LEAST_SHARE = 1e-3
_LEAST_RATE = 1e-9
_SEARCH_STEPS = 80


@dataclass(frozen=True, slots=True, eq=False)
class ConfidenceSequence:
    """Between which values does the mean lie, at every number of trials at once?

    Attributes
    ----------
    trials : int64 array, shape (looks,)
        The number of trials at each look.
    low, high : float64 arrays, shape (looks,)
        Ends at each look; with `running` the intersection of all so far, so they never widen.
        Where that intersection is empty, `low` exceeds `high` and a note says so.
    mean : float64 array, shape (looks,)
        The mean so far.
    alpha : float
        The chance that the mean is outside at any look at all is at most this.
    running : bool
    notes : tuple of str
    """

    trials: NDArray[np.int64]
    low: Floats
    high: Floats
    mean: Floats
    alpha: float
    running: bool
    notes: tuple[str, ...] = ()
    computation: Computation = "closed-form"
    guarantee: Guarantee = "finite-sample"

    def __len__(self) -> int:
        return int(self.mean.size)

    def __repr__(self) -> str:
        if not len(self):
            return "ConfidenceSequence(no trial)"
        return (
            f"ConfidenceSequence({self.trials[-1]} trials: {self.mean[-1]:.4f}, "
            f"{self.low[-1]:.4f} to {self.high[-1]:.4f})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id."""
        return {
            "schema": "simtrack.confidence-sequence/1",
            "alpha": self.alpha,
            "running": self.running,
            "trials": self.trials.tolist(),
            "mean": self.mean.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "computation": self.computation,
            "guarantee": self.guarantee,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, eq=False)
class EProcess:
    """How much evidence against the null has come in, at every number of trials at once?

    Attributes
    ----------
    log_e : float64 array, shape (trials,)
        Natural logarithm of the e-value after each trial: the gambler's capital from 1.
    pvalue : float64 array, shape (trials,)
        Anytime-valid p: 1 over the largest capital so far, at most 1.
    null : float
    alternative : str
    notes : tuple of str
    """

    log_e: Floats
    null: float
    alternative: Alternative
    notes: tuple[str, ...] = ()
    computation: Computation = "closed-form"
    guarantee: Guarantee = "finite-sample"

    @property
    def pvalue(self) -> Floats:
        """The anytime-valid p after each trial."""
        best = np.maximum.accumulate(self.log_e)
        found: Floats = np.exp(-np.maximum(best, 0.0))
        return found

    def rejected_at(self, alpha: float) -> int | None:
        """Give the first number of trials at which the null is rejected; None if it is not."""
        hits = np.flatnonzero(self.log_e >= -math.log(open_unit("alpha", alpha)))
        return int(hits[0]) + 1 if hits.size else None

    def __repr__(self) -> str:
        if not self.log_e.size:
            return "EProcess(no trial)"
        last = float(self.log_e[-1])
        told = f"e={math.exp(last):.4g}" if last < _LOG_MOST else f"log e={last:.4g}"
        return f"EProcess({self.log_e.size} trials: {told})"


def bernoulli_sequence(
    outcomes: object,
    *,
    alpha: float = 0.05,
    prior: tuple[float, float] = _JEFFREYS,
    running: bool = True,
) -> ConfidenceSequence:
    """Between which values does a rate lie, whenever you look?

    E_n(p) = B(a+S, b+n-S) / B(a, b) / (p^S (1-p)^(n-S)); the rates with E_n(p) < 1/alpha are an
    interval, since log E is convex in p.

    Parameters
    ----------
    outcomes : sequence of 0 and 1, in the order in which they came
        Counts have no order and are refused.
    alpha : float
    prior : pair of float
        Of the bets: a Beta law; (1, 1) spends more evenly, (.5, .5) favours rates near 0 and 1.
    running : bool
        Intersect with all earlier intervals.

    Notes
    -----
    Each trial must have mean p given those before it. Trials of one task in a row, of tasks of
    different difficulty, do not; put tasks in random order, or bet on cluster means.

    References
    ----------
    Robbins (1970), Annals of Mathematical Statistics 41, 1397-1409; Howard et al. (2021), Annals
    of Statistics 49, 1055-1080; Waudby-Smith and Ramdas (2024), JRSS B 86, 1-27.

    Examples
    --------
    >>> bernoulli_sequence([1, 1, 0, 1] * 25)
    ConfidenceSequence(100 trials: 0.7500, 0.5957 to 0.8714)
    """
    open_unit("alpha", alpha)
    x = ordered_sequence("outcomes", outcomes, binary=True)
    a, b = _prior(prior)
    n = np.arange(1, x.size + 1, dtype=np.float64)
    s = np.cumsum(x)
    evidence = _log_evidence(x, a, b)
    target = -math.log(alpha)
    mean = s / np.maximum(n, 1.0)

    def refuted(p: Floats) -> NDArray[np.bool_]:
        return evidence - _log_likelihood(p, s, n - s) >= target

    low = turning_point(refuted, np.zeros_like(mean), mean)
    high = 1.0 - turning_point(lambda q: refuted(1.0 - q), np.zeros_like(mean), 1.0 - mean)
    low, high = np.where(s == 0, 0.0, low), np.where(s == n, 1.0, high)
    return held_at_once(n.astype(np.int64), low, high, mean, alpha, running)


def e_process(
    outcomes: object,
    null: float,
    *,
    alternative: Alternative = "two-sided",
    prior: tuple[float, float] = _JEFFREYS,
) -> EProcess:
    """How much evidence is there against a rate `null`, whenever you look?

    "greater" bets on rates above the null only, and its capital is a supermartingale under every
    rate at or below it.

    Parameters
    ----------
    outcomes, prior
        As in `bernoulli_sequence`.
    null : float
        Strictly between 0 and 1.

    Examples
    --------
    >>> found = e_process([1] * 12, 0.5)
    >>> found, found.rejected_at(0.05)
    (EProcess(12 trials: e=660.2), 7)
    """
    p = open_unit("null", null)
    choice("alternative", alternative, Alternative)
    x = ordered_sequence("outcomes", outcomes, binary=True)
    a, b = _prior(prior)
    n = np.arange(1, x.size + 1, dtype=np.float64)
    s = np.cumsum(x)
    log_e = _log_evidence(x, a, b) - _log_likelihood(np.full(x.size, p), s, n - s)
    if alternative != "two-sided":
        log_e += _tail_shares(s, n - s, p, a, b, alternative)
    return EProcess(log_e, p, alternative)


def held_at_once(
    trials: NDArray[np.int64],
    low: Floats,
    high: Floats,
    mean: Floats,
    alpha: float,
    running: bool,
) -> ConfidenceSequence:
    """Make a confidence sequence of ends at several looks, intersected if `running`."""
    notes: tuple[str, ...] = ()
    if running and low.size:
        low, high = np.maximum.accumulate(low), np.minimum.accumulate(high)
        if (low > high).any():
            first = int(trials[low > high][0])
            notes = (f"no value is left after trial {first}: the mean is not constant (drift), or "
                     "this is one of the alpha cases",)  # fmt: skip
    return ConfidenceSequence(trials, low, high, mean, alpha, running, notes)


def bernoulli_interval(
    successes: int, trials: int, *, alpha: float = 0.05, tuned_at: float | None = None
) -> tuple[float, float]:
    """Between which values does a rate lie now, whatever the looks before?

    Parameters
    ----------
    successes, trials : int
        So far; only the sum matters, but the trials must have come one by one.
    alpha : float
    tuned_at : float, optional
        Number of trials at which the interval is meant to be narrow: for every rate p a prior of
        its own around p, as confseq has it. Jeffreys' prior if not given.

    References
    ----------
    Howard et al. (2021), section 4.1.

    Examples
    --------
    >>> [round(end, 6) for end in bernoulli_interval(700, 1000, tuned_at=100)]
    [0.65163, 0.74595]
    """
    n = integer("trials", trials, 1)
    s = integer("successes", successes, 0, n)
    target = -math.log(open_unit("alpha", alpha))
    tuned = None if tuned_at is None else real("tuned_at", tuned_at, 1e-9)

    def refuted(p: float) -> bool:
        a, b = _JEFFREYS if tuned is None else _tuned_prior(p, tuned)
        mixed = _log_beta(a + s, b + n - s) - _log_beta(a, b)
        return mixed - s * math.log(p) - (n - s) * math.log1p(-p) >= target

    mean = s / n
    low = _turn(refuted, mean) if s else 0.0
    high = 1.0 - _turn(lambda q: refuted(1.0 - q), 1.0 - mean) if s < n else 1.0
    return low, high


def _log_evidence(x: Floats, a: float, b: float) -> Floats:
    """Sum the logarithms of the predictive probabilities: log B(a+S, b+F) - log B(a, b)."""
    before = np.concatenate([[0.0], np.cumsum(x)[:-1]]) if x.size else np.empty(0)
    seen = np.arange(x.size, dtype=np.float64)
    chance = np.where(x == 1.0, a + before, b + seen - before) / (a + b + seen)
    found: Floats = np.cumsum(np.log(chance))
    return found


def _log_likelihood(p: Floats, s: Floats, f: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        passed = np.where(s > 0, s * np.log(p), 0.0)
        failed = np.where(f > 0, f * np.log1p(-p), 0.0)
    found: Floats = passed + failed
    return found


def _tail_shares(
    s: Floats, f: Floats, p: float, a: float, b: float, alternative: Alternative
) -> Floats:
    """Give how much of the mixture lies on the side that is bet on, over what did at first."""
    if alternative == "greater":
        start = log_beta_cdf(1.0 - p, p, b, a)
        now = [log_beta_cdf(1.0 - p, p, b + y, a + x) for x, y in zip(s, f, strict=True)]
    else:
        start = log_beta_cdf(p, 1.0 - p, a, b)
        now = [log_beta_cdf(p, 1.0 - p, a + x, b + y) for x, y in zip(s, f, strict=True)]
    return np.array(now, dtype=np.float64) - start


def _tuned_prior(p: float, tuned_at: float) -> tuple[float, float]:
    gh = p * (1.0 - p)
    r = max(best_rho(gh * tuned_at, _ALPHA_OPT) - gh, _LEAST_SHARE * gh)
    return r / (1.0 - p), r / p


def _turn(holds: Callable[[float], bool], high: float) -> float:
    """Halve down to where `holds` ends; 0 where it does not hold near 0 either."""
    low = min(_LEAST_RATE, high)
    if not holds(low):
        return 0.0
    for _ in range(_SEARCH_STEPS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return 0.5 * (low + high)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _prior(prior: tuple[float, float]) -> tuple[float, float]:
    try:
        a, b = (float(value) for value in prior)
    except (TypeError, ValueError):
        raise InputError("prior", "a pair of positive numbers", repr(prior)) from None
    return real("prior", a, 1e-6, 1e6), real("prior", b, 1e-6, 1e6)
