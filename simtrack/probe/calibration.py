"""Everything that is decided about a rule before it is used, in one result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypedDict

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.options import Computation, Guarantee
from simtrack.plain import Plain, decimal_text
from simtrack.price import Price
from simtrack.probe.oc import Characteristics, characteristics
from simtrack.probe.review import review
from simtrack.probe.rule import StoppingRule
from simtrack.probe.states import STATES
from simtrack.probe.summary import GridSummary, Indifference, grid_summary
from simtrack.probe.truth import grid, true_state
from simtrack.validate import integer

__all__ = ["TRUTHS", "Calibration", "Spending", "TruthRow", "calibrate"]

CALLS_PER_ROUND: Final = 2  # one full, one ablated
_WRITTEN: Final = "rule truths grid=summary spending notes computation guarantee"
#: Truths (full, ablated) that show each state of the frozen rule, and one on a boundary.
TRUTHS: Final = (
    ("0.95", "0.05"),
    ("0.9", "0.1"),
    ("0.9", "0.9"),
    ("0.5", "0.1"),
    ("0.3", "0.3"),
    ("0.2", "0.7"),
    ("0.8", "0.6"),
)


class TruthRow(TypedDict):
    """What a rule does at one chosen truth: rates as typed, then probabilities, rounds, biases."""

    full: str
    ablated: str
    state: str
    probability: dict[str, float]
    expected_rounds: float
    median_rounds: int
    q95_rounds: int
    bias_full: float
    bias_effect: float


@dataclass(frozen=True, slots=True)
class Spending:
    """How many calls and dollars do probes of so many clauses take?

    `expected` takes every truth of the grid to be equally likely for each clause; `costliest` takes
    all clauses to lie at the truth that needs most rounds; `most` is k_max for all. Dollars are
    None without a price, tokens None where the price does not say how many a call takes.
    """

    clauses: int
    expected_calls: float
    costliest_calls: float
    most_calls: int
    usd_per_call: float | None
    input_tokens_per_call: float | None = None
    output_tokens_per_call: float | None = None

    def tokens(self, calls: float) -> tuple[float, float] | None:
        """Count the tokens read and written in so many calls."""
        if self.input_tokens_per_call is None or self.output_tokens_per_call is None:
            return None
        return calls * self.input_tokens_per_call, calls * self.output_tokens_per_call

    def usd(self, calls: float) -> float | None:
        """Price so many calls."""
        return None if self.usd_per_call is None else calls * self.usd_per_call

    def to_dict(self) -> dict[str, Any]:
        """Give plain data: calls and dollars side by side."""
        out: dict[str, Any] = {"clauses": self.clauses, "usd_per_call": self.usd_per_call}
        for name in ("expected", "costliest", "most"):
            calls = getattr(self, f"{name}_calls")
            read, written = self.tokens(calls) or (None, None)
            out |= {
                f"{name}_calls": calls,
                f"{name}_input_tokens": read,
                f"{name}_output_tokens": written,
                f"{name}_usd": self.usd(calls),
            }
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Calibration(Plain, schema="simtrack.calibrate/1", names=_WRITTEN):
    """What does a rule do at chosen truths, over a grid, and for how many calls?

    Attributes
    ----------
    rule : StoppingRule
    points : Characteristics
        At the chosen truths.
    states : tuple of str
        The true state of each of them.
    grid : Characteristics
        Over the grid.
    summary : GridSummary
    spending : Spending
    notes : tuple of str
        What its author should know of the rule before using it.
    """

    rule: StoppingRule
    points: Characteristics
    states: tuple[str, ...]
    grid: Characteristics
    summary: GridSummary
    spending: Spending
    notes: tuple[str, ...]
    computation: Computation = "enumeration"
    guarantee: Guarantee = "finite-sample"

    def truths(self) -> list[TruthRow]:
        """Give one plain row a chosen truth: probabilities, rounds, biases."""
        found, quantiles = self.points, self.points.rounds_quantile((0.5, 0.95))
        return [
            {
                "full": decimal_text(found.full[k]),
                "ablated": decimal_text(found.ablated[k]),
                "state": self.states[k],
                "probability": dict(zip(STATES, found.probability[:, k].tolist(), strict=True)),
                "expected_rounds": float(found.expected_rounds[k]),
                "median_rounds": int(quantiles[0, k]),
                "q95_rounds": int(quantiles[1, k]),
                "bias_full": float(found.bias_full[k]),
                "bias_effect": float(found.bias_effect[k]),
            }
            for k in range(len(found.full))
        ]


def calibrate(
    rule: StoppingRule,
    *,
    truths: Sequence[tuple[object, object]] = TRUTHS,
    steps: int = 20,
    margin: object = "0.05",
    indifference: Indifference = "exclude",
    clauses: int = 1,
    price: Price | None = None,
) -> Calibration:
    """What will this rule tell apart, how fast, and for how much: exactly, before the first call?

    Parameters
    ----------
    rule : StoppingRule
    truths : sequence of (full, ablated) decimals
        True pass rates in [0, 1] to look at one by one.
    steps : int
        The grid cuts [0, 1] into so many equal steps on both axes, ends included.
    margin, indifference
        The zone around the boundaries in which correctness is not judged: see `grid_summary`.
    clauses : int
        How many clauses will be probed.
    price : Price, optional
        Of one call.

    Examples
    --------
    >>> found = calibrate(StoppingRule(), truths=[("0.9", "0.1")])
    >>> round(found.truths()[0]["expected_rounds"], 6), round(found.summary.mean_rounds, 6)
    (11.998304, 14.084167)
    """
    if not truths:
        raise InputError("truths", "at least one pair of pass rates", "none")
    clauses = integer("clauses", clauses, 1)
    axis = grid(integer("steps", steps, 1, 200))
    full, ablated = zip(*truths, strict=True)
    points = characteristics(rule, full, ablated, paired=True)
    whole = characteristics(rule, axis, axis)
    pairs = zip(points.full, points.ablated, strict=True)
    return Calibration(
        rule,
        points,
        tuple(true_state(rule, p, q) for p, q in pairs),
        whole,
        grid_summary(whole, margin=margin, indifference=indifference),
        _spending(rule, whole.expected_rounds, clauses, price),
        review(rule),
    )


def _spending(
    rule: StoppingRule, rounds: NDArray[np.float64], clauses: int, price: Price | None
) -> Spending:
    calls = CALLS_PER_ROUND * clauses
    return Spending(
        clauses,
        calls * float(rounds.mean()),
        calls * float(rounds.max()),
        calls * rule.k_max,
        None if price is None else price.usd(),
        None if price is None else price.input_tokens,
        None if price is None else price.output_tokens,
    )
