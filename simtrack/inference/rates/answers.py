"""From an interval for one rate to the answer of a method, for one study and for many."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.answer import Answer
from simtrack.counts import Totals
from simtrack.errors import SimtrackError
from simtrack.inference.intervals import Intervals
from simtrack.inference.rates.clustered import clustered_rates
from simtrack.method import Ask, Layout
from simtrack.note import Note
from simtrack.results import Results

__all__ = ["answer_of", "studies_of"]

Floats = NDArray[np.float64]
#: (totals, level=, options) to the intervals of every column.
RateInterval = Callable[..., Intervals]


def answer_of(interval: RateInterval) -> Callable[[Layout, Ask], Answer]:
    """Give the answer with this interval: the rate, its ends, and what clusters do to it.

    `extra` holds `interval` (in words), `se` and `naive_se` (with and without clusters),
    `design_effect`, `effective_n` (which the interval was computed on) and `icc`.
    """

    def answer(layout: Layout, ask: Ask) -> Answer:
        rates = clustered_rates(layout.totals)
        ends = interval(layout.totals, level=ask.level, **ask.options)
        return Answer(
            _value(rates.rate[0]),
            _value(ends.low[0]),
            _value(ends.high[0]),
            n=round(float(rates.n[0])),
            clusters=int(rates.clusters[0]),
            computation=ends.computation,
            guarantee=ends.guarantee,
            notes=tuple(Note.of(line) for line in ends.notes[0]),
            extra={
                "interval": ends.method,
                "naive_se": _value(rates.naive_se[0]),
                "se": _value(rates.clustered_se[0]),
                "design_effect": _value(rates.design_effect[0]),
                "effective_n": _value(ends.effective_n[0]),
                "icc": _value(rates.icc[0]),
            },
        )

    return answer


def studies_of(interval: RateInterval) -> Callable[[Any, Any, Floats, Ask], Results]:
    """Give the answers with this interval to R studies as the R columns of one table."""

    def many(numerator: Any, denominator: Any, weights: Floats, ask: Ask) -> Results:
        top, bottom = (np.asarray(a, np.float64)[:, :, 0].T for a in (numerator, denominator))
        n = bottom.sum(axis=0)
        columns = [(str(r),) for r in range(top.shape[1])]
        rate = np.divide(top.sum(axis=0), n, out=np.full(n.shape, np.nan), where=n > 0)
        totals = Totals.from_arrays(top, bottom, conditions=columns, by=("study",))
        try:
            ends = interval(totals, level=ask.level, **ask.options)
        except SimtrackError:
            if len(columns) == 1:
                return Results.of(rate, refused={"the method refused": np.ones(1, dtype=bool)})
            each = range(len(columns))
            parts = [many(numerator[r : r + 1], denominator[r : r + 1], weights, ask) for r in each]
            slots = Results.__slots__
            return Results(*(np.concatenate([getattr(p, s) for p in parts]) for s in slots))
        missing = np.isnan(ends.low) | np.isnan(ends.high)
        refused = {"a term without trials": n == 0, "the method refused": missing}
        return Results.of(rate, low=ends.low, high=ends.high, refused=refused)

    return many


def _value(number: float) -> float | None:
    return None if math.isnan(number) else float(number)
