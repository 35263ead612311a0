"""What a probe costs before it is run: calls, tokens and dollars from the exact law of rounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.options import Computation, Guarantee
from simtrack.price import Price
from simtrack.probe.oc import LEVELS, Characteristics
from simtrack.validate import integer

__all__ = ["CALLS_PER_ROUND", "ProbeCost", "probe_cost", "rounds_law"]

CALLS_PER_ROUND: Final = 2  # one full, one ablated
#: Above so many rounds in the worst case the law of the total is not convolved.
TOTAL_ROUNDS_MAX: Final = 30_000


@dataclass(frozen=True, slots=True, eq=False)
class ProbeCost:
    """How many calls, tokens and dollars do probes of these clauses take?

    Attributes
    ----------
    n_clauses : int array, shape of the truths
        Clauses at each truth, taken as independent.
    expected_calls : array, shape of the truths
        Two calls a round.
    worst_calls : int
        If every clause went to k_max.
    total_calls : float
        Expected over all clauses together.
    calls_quantile : dict of float to int, or None
        Calls that all clauses together do not exceed with this probability; None with a `note`.
    total_input_tokens, total_output_tokens : float or None
        Expected; None if the price gives no tokens.
    total_usd, worst_usd : float or None
        Expected dollars, and dollars at k_max; None without a price.
    usd_quantile : dict of float to float, or None
    note : str
        Why something is missing; empty if nothing is.
    """

    n_clauses: NDArray[np.int64]
    expected_calls: NDArray[np.float64]
    worst_calls: int
    total_calls: float
    calls_quantile: dict[float, int] | None
    total_input_tokens: float | None
    total_output_tokens: float | None
    total_usd: float | None
    worst_usd: float | None
    usd_quantile: dict[float, float] | None
    note: str = ""
    computation: Computation = "convolution"
    guarantee: Guarantee = "finite-sample"

    def to_dict(self) -> dict[str, Any]:
        """The cost as plain data with a schema id."""
        out: dict[str, Any] = {"schema": "simtrack.probe-cost/1"}
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, dict):
                value = {str(level): amount for level, amount in value.items()}
            out[name] = value.tolist() if isinstance(value, np.ndarray) else value
        return out


def probe_cost(
    found: Characteristics,
    price: Price | None = None,
    *,
    n_clauses: object = 1,
    levels: Iterable[float] = LEVELS,
) -> ProbeCost:
    """What do probes of so many clauses at these truths cost?

    Parameters
    ----------
    found : Characteristics
        The rule at the truths of the clauses, best as points.
    price : Price, optional
        Of one call; both forms of a clause are taken to cost the same, as the placeholder is as
        long as the clause.
    n_clauses : int or sequence of int
        Clauses at each truth: one number for all, or one for each.
    levels : iterable of float
        Levels of the quantiles of the total.

    Returns
    -------
    ProbeCost

    Examples
    --------
    >>> from simtrack.probe import StoppingRule, characteristics
    >>> found = characteristics(StoppingRule(), "0.9", "0.1", paired=True)
    >>> cost = probe_cost(found, Price(usd_per_call=0.01), n_clauses=100)
    >>> round(cost.total_calls, 3), cost.worst_calls, cost.calls_quantile[0.95]
    (2399.661, 6000, 2648)
    """
    rounds = found.expected_rounds
    counts = _counts(n_clauses, rounds.shape)
    n_all = int(counts.sum())
    calls = CALLS_PER_ROUND * rounds * counts
    total = float(calls.sum())
    worst = CALLS_PER_ROUND * found.rule.k_max * n_all
    quantile, note = _quantiles(found, counts, tuple(levels))
    usd = None if price is None else price.usd()
    return ProbeCost(
        n_clauses=counts,
        expected_calls=calls,
        worst_calls=worst,
        total_calls=total,
        calls_quantile=quantile,
        total_input_tokens=_times(total, None if price is None else price.input_tokens),
        total_output_tokens=_times(total, None if price is None else price.output_tokens),
        total_usd=_times(total, usd),
        worst_usd=_times(worst, usd),
        usd_quantile=None
        if usd is None or quantile is None
        else {level: calls * usd for level, calls in quantile.items()},
        note=note,
    )


def rounds_law(found: Characteristics, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """How probable is each total number of rounds, of independent clauses at these truths?

    Parameters
    ----------
    found : Characteristics
    counts : int64 array, shape of the truths
        Clauses at each truth.

    Returns
    -------
    array, shape (k_max * clauses + 1,)
    """
    law = np.ones(1)
    for at in np.ndindex(counts.shape):
        one = found.rounds_probability[(slice(None), *at)]
        for _ in range(int(counts[at])):
            law = _convolve(law, one)
    return law


def _convolve(law: NDArray[np.float64], one: NDArray[np.float64]) -> NDArray[np.float64]:
    """The law of a sum, by direct sums of positive terms: no FFT and no BLAS."""
    out = np.zeros(law.size + one.size - 1)
    for shift in np.flatnonzero(one):
        out[shift : shift + law.size] += one[shift] * law
    return out


def _quantiles(
    found: Characteristics, counts: NDArray[np.int64], levels: tuple[float, ...]
) -> tuple[dict[float, int] | None, str]:
    rounds = int(counts.sum()) * found.rule.k_max
    if rounds > TOTAL_ROUNDS_MAX:
        return None, f"No quantiles: {rounds} rounds at most is above {TOTAL_ROUNDS_MAX}."
    below = np.cumsum(rounds_law(found, counts))
    return {level: CALLS_PER_ROUND * int((below < level - 1e-12).sum()) for level in levels}, ""


def _counts(value: object, shape: tuple[int, ...]) -> NDArray[np.int64]:
    if isinstance(value, Iterable):
        found = [integer("n_clauses", one, 0) for one in value]
        size = int(np.prod(shape))
        if len(found) != size:
            raise InputError("n_clauses", f"one number, or one for each of {size} truths", found)
        return np.array(found, np.int64).reshape(shape)
    return np.full(shape, integer("n_clauses", value, 0), np.int64)  # type: ignore[arg-type]


def _times(amount: float, each: float | None) -> float | None:
    return None if each is None else amount * each
