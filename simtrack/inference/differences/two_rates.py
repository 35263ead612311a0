"""What every interval for a difference or ratio of two rates takes and returns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.answer import Answer
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.rates.clustered import ClusteredRates, clustered_rates
from simtrack.inference.rates.pooled import independence_notes
from simtrack.method import Ask, Layout
from simtrack.note import Note
from simtrack.options import Alternative, Computation, Guarantee, Side

__all__ = ["Measure", "Two", "TwoRates", "answer_of", "compared", "from_counts", "named",
           "one_sided", "two_columns"]  # fmt: skip

#: How two rates are held against each other: first minus second, or first over second.
Measure = Literal["difference", "ratio"]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TwoRates:
    """Which differences (or ratios) of two rates are compatible with the data?

    Attributes
    ----------
    measure : "difference" or "ratio"
        First minus second, or first over second.
    estimate : float or None
        Infinite for a ratio to a rate of 0; None where not defined.
    low, high : float or None
        The ends; None where refused or not defined, with the reason in `notes`. The high end of a
        ratio may be infinite.
    level : float
    side : "two-sided", "lower" or "upper"
    method : str
        The method in words.
    rate_first, rate_second : float or None
        Pooled rates, Σ numerator / Σ denominator.
    n_first, n_second : float
        Trials that the interval was computed on (effective ones where the method says so).
    clusters_first, clusters_second, shared : int
        Clusters with trials in each condition, and in both.
    se, df, pvalue : float or None
        Of the t methods: standard error (of the logarithm, for a ratio), degrees of freedom, and
        two-sided p of no difference.
    notes : tuple of str
    """

    measure: Measure
    estimate: float | None
    low: float | None
    high: float | None
    level: float
    side: Side
    method: str
    rate_first: float | None
    rate_second: float | None
    n_first: float
    n_second: float
    clusters_first: int
    clusters_second: int
    shared: int
    se: float | None = None
    df: float | None = None
    pvalue: float | None = None
    notes: tuple[str, ...] = ()
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON; an infinite end is the text "inf"."""
        plain: dict[str, object] = {"schema": "simtrack.two-rates/1"}
        for name in self.__slots__:
            value = getattr(self, name)
            infinite = isinstance(value, float) and math.isinf(value)
            plain[name] = "inf" if infinite else value
        return plain | {"notes": list(self.notes)}

    def __repr__(self) -> str:
        if self.estimate is None:
            return f"TwoRates({self.measure} not defined)"
        ends = "refused" if self.low is None else f"{self.low:.4f} to {self.high:.4f}"
        return f"TwoRates({self.measure} {self.estimate:.4f}, {self.level:.0%}: {ends})"


@dataclass(frozen=True, slots=True, eq=False)
class Two:
    """Two columns of totals, first and second, ready to be compared.

    Attributes
    ----------
    totals : Totals
        Shape (clusters, 2).
    hits, n : float64 arrays, shape (2,)
        Pooled numerators and denominators.
    rates : ClusteredRates
    clusters : tuple of int
        Clusters with trials in each.
    shared : int
        Clusters with trials in both.
    """

    totals: Totals
    hits: Floats
    n: Floats
    rates: ClusteredRates
    clusters: tuple[int, int]
    shared: int

    def independence_notes(self) -> tuple[str, ...]:
        """Say what a method assumes that treats all trials as independent."""
        lines = [*independence_notes(self.totals, 0), *independence_notes(self.totals, 1)]
        if self.shared:
            lines.append(
                f"treats the two conditions as independent, though {self.shared} clusters have both"
            )
        return tuple(dict.fromkeys(lines))


def two_columns(totals: Totals, first: int, second: int) -> Two:
    """Pick two conditions and check that their scores can be rates.

    Raises
    ------
    InputError
        Twice the same column, one that is not there, or scores outside [0, 1].
    """
    columns = totals.shape[1]
    for name, column in (("first", first), ("second", second)):
        if not 0 <= column < columns:
            raise InputError(name, f"a column from 0 to {columns - 1}", column)
    if first == second:
        raise InputError("second", "another condition than the first", second)
    pick = [first, second]
    top, bottom = totals.numerator[:, pick], totals.denominator[:, pick]
    if ((top < 0.0) | (top > bottom)).any():
        raise InputError("scores", "between 0 and 1", cure="Use paired-cluster-t for others.")
    both = Totals(
        top,
        bottom,
        totals.square[:, pick],
        totals.clusters,
        (totals.conditions[first], totals.conditions[second]),
        totals.by,
        totals.name,
    )
    here = bottom > 0.0
    return Two(
        both,
        top.sum(axis=0),
        bottom.sum(axis=0),
        clustered_rates(both),
        (int(here[:, 0].sum()), int(here[:, 1].sum())),
        int(here.all(axis=1).sum()),
    )


def named(notes: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Put the name of the condition before each note of the two."""
    return tuple(
        Note.of(line).at(name)
        for name, lines in zip(("first", "second"), notes, strict=True)
        for line in lines
    )


def from_counts(
    two: Two,
    limits: Callable[[float, float, float, float], tuple[Floats, Floats]],
    measure: Measure,
    level: float,
    side: Side,
    method: str,
    *,
    notes: tuple[str, ...] = (),
    undefined: str = "",
    computation: Computation = "closed-form",
) -> TwoRates:
    """Apply an interval for independent trials to the pooled counts, and say what that ignores.

    `limits` takes successes and trials of the first, then of the second; where its ends are not
    defined, `undefined` says why.
    """
    lines = (*two.independence_notes(), *notes)
    low = high = np.array(np.nan)
    if (two.n > 0.0).all():
        (x1, x2), (n1, n2) = two.hits.tolist(), two.n.tolist()
        low, high = limits(x1, n1, x2, n2)
        lines = (*lines, undefined) if np.isnan(low) else lines
    return compared(
        two,
        measure,
        float(low),
        float(high),
        level,
        side,
        f"{method} on pooled trials",
        lines,
        computation=computation,
    )


def compared(
    two: Two,
    measure: Measure,
    low: float | None,
    high: float | None,
    level: float,
    side: Side,
    method: str,
    notes: tuple[str, ...],
    *,
    n: tuple[float, float] | None = None,
    se: float | None = None,
    df: float | None = None,
    pvalue: float | None = None,
    computation: Computation = "closed-form",
) -> TwoRates:
    """Put an interval beside what it is about; NaN ends become None."""
    a, b = (None if math.isnan(p) else float(p) for p in two.rates.rate.tolist())
    n_first, n_second = n if n is not None else (float(two.n[0]), float(two.n[1]))
    estimate: float | None = None
    if a is None or b is None:
        notes = (*notes, "a condition without trials: nothing is defined")
    elif measure == "difference":
        estimate = a - b
    elif b > 0.0:
        estimate = a / b
    elif a > 0.0:
        estimate = math.inf
    else:
        notes = (*notes, "both rates are 0: their ratio is not defined")
    return TwoRates(
        measure,
        estimate,
        _value(low),
        _value(high),
        level,
        side,
        method,
        a,
        b,
        n_first,
        n_second,
        *two.clusters,
        two.shared,
        _value(se),
        _value(df),
        _value(pvalue),
        notes,
        computation,
    )


def _value(number: float | None) -> float | None:
    return None if number is None or math.isnan(number) else float(number)


# From an interval for two rates to the answer of a method.
def answer_of(interval: Callable[..., TwoRates]) -> Callable[[Layout, Ask], Answer]:
    """Give the answer with this interval for the first and second term of a layout.

    `extra` holds `interval` in words, and where there are any, `se` (`log_se` of a ratio) and `df`.
    """

    def answer(layout: Layout, ask: Ask) -> Answer:
        found = interval(layout.totals, 0, 1, level=ask.level, **ask.options)
        seen = found.estimate
        if found.measure == "ratio" and found.pvalue is not None and seen:
            seen = math.log(seen)
        spread = "se" if found.measure == "difference" else "log_se"
        t: dict[str, object] = {} if found.se is None else {spread: found.se, "df": found.df}
        return Answer(
            found.estimate, found.low, found.high, one_sided(found.pvalue, seen, ask.alternative),
            computation=found.computation, guarantee=found.guarantee,
            notes=tuple(Note.of(line) for line in found.notes),
            extra={"interval": "" if found.low is None else found.method, **t},
        )  # fmt: skip

    return answer


def one_sided(p: float | None, seen: float | None, side: Alternative) -> float | None:
    """Turn the two-sided p of a symmetric statistic into the one asked for.

    Examples
    --------
    >>> one_sided(0.04, 0.3, "greater"), one_sided(0.04, 0.3, "less")
    (0.02, 0.98)
    """
    if p is None or seen is None or side == "two-sided":
        return p
    agrees = seen > 0 if side == "greater" else seen < 0
    return p / 2.0 if agrees or seen == 0 else 1.0 - p / 2.0
