"""Any method of the catalogue on many studies, one by one: new methods need nothing else."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.methods import find_method
from simtrack.analysis.named_results import FAILED, OK, REASONS, REFUSED, Results, cluster_values
from simtrack.counts import Totals
from simtrack.errors import InputError, SimtrackError
from simtrack.options import Alternative

__all__ = ["loop_over", "rates_at_once"]

Floats = NDArray[np.float64]
_REFUSAL, _BREAKDOWN = REASONS.index("the method refused"), REASONS.index("the method broke down")
_PAIRWISE = ("first", "second")


def rates_at_once(
    name: str,
    numerator: Any,
    denominator: Any,
    *,
    level: float,
    options: Mapping[str, Any] | None = None,
) -> Results:
    """Apply an interval for one rate to R studies as the R columns of one table."""
    top, bottom = (np.asarray(a, np.float64)[:, :, 0].T for a in (numerator, denominator))
    n = bottom.sum(axis=0)
    columns = [(str(r),) for r in range(top.shape[1])]
    rate = np.divide(top.sum(axis=0), n, out=np.full(n.shape, np.nan), where=n > 0)
    totals = Totals.from_arrays(top, bottom, conditions=columns, by=("study",))
    try:
        ends = find_method(name, "rate").load()(totals, level=level, **(options or {}))
    except SimtrackError:
        if len(columns) == 1:
            return Results.of(rate, refused={"the method refused": np.ones(1, dtype=bool)})
        parts = [
            rates_at_once(name, numerator[r : r + 1], denominator[r : r + 1],
                          level=level, options=options)
            for r in range(len(columns))
        ]  # fmt: skip
        return Results(*(np.concatenate([getattr(p, s) for p in parts]) for s in Results.__slots__))
    missing = np.isnan(ends.low) | np.isnan(ends.high)
    refused = {"a term without trials": n == 0, "the method refused": missing}
    return Results.of(rate, low=ends.low, high=ends.high, refused=refused)


def loop_over(
    name: str,
    numerator: Any,
    denominator: Any,
    *,
    weights: Floats,
    level: float,
    alternative: Alternative = "two-sided",
    options: Mapping[str, Any] | None = None,
) -> Results:
    """Apply a method of the catalogue (topic rate, difference, contrast or test) study by study.

    What a method takes is read from its signature: totals, cluster differences, two groups of
    cluster rates, or numbers of discordant pairs. A `SimtrackError` is a refusal; any other
    exception is counted as a failure, never raised.
    """
    method = find_method(name, "rate", "difference", "contrast", "test")
    if method.topic == "rate":
        return rates_at_once(name, numerator, denominator, level=level, options=options)
    call = _adapted(method.load(), method.topic, weights, level, alternative, dict(options or {}))
    n = len(numerator)
    table = np.full((4, n), np.nan)
    status, reason = np.zeros(n, np.int8), np.zeros(n, np.int8)
    top, bottom = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    for r in range(n):
        try:
            table[:, r] = _fields(call(top[r], bottom[r]), top[r], bottom[r], weights)
        except SimtrackError:
            status[r], reason[r] = REFUSED, _REFUSAL
        except (ArithmeticError, ValueError, TypeError, RuntimeError):
            status[r], reason[r] = FAILED, _BREAKDOWN
    silent = (status == OK) & np.isnan(table[1:]).all(axis=0)
    status[silent], reason[silent] = REFUSED, _REFUSAL
    return Results(table[0], table[1], table[2], table[3], status, reason)


def _adapted(
    function: Callable[..., Any],
    topic: str,
    weights: Floats,
    level: float,
    alternative: Alternative,
    options: dict[str, Any],
) -> Callable[[Floats, Floats], Any]:
    known = inspect.signature(function).parameters
    given = {"level": level, "alternative": alternative} | options
    keywords = {k: v for k, v in given.items() if k in known}
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise InputError("options", f"of {function.__name__}", ", ".join(unknown))
    if alternative != "two-sided" and "alternative" not in known and topic == "test":
        raise InputError("alternative", f"two-sided for {function.__name__}", alternative)
    first = next(iter(known))
    if first == "totals":
        more = {"weights": weights} if "weights" in known else {}
        return lambda top, bottom: function(Totals.from_arrays(top, bottom), **more, **keywords)
    if first == "differences":
        return lambda top, bottom: function(_differences(top, bottom, weights), **keywords)
    if first == "first":
        return lambda top, bottom: function(*_groups(top, bottom), **keywords)
    if first == "only_first":
        return lambda top, bottom: function(*_discordant(top, bottom), **keywords)
    raise InputError("method", "one that takes totals, differences, groups or pairs", first)


def _fields(found: Any, top: Floats, bottom: Floats, weights: Floats) -> tuple[float, ...]:
    """Give estimate, low, high and p of whatever result this is; NaN for what it lacks."""
    estimate = _first_of(found, "estimate", "difference", "statistic")
    if not hasattr(found, "estimate") and not hasattr(found, "difference"):
        values = cluster_values(top[None], bottom[None], weights)[0]
        live = values[~np.isnan(values)]
        estimate = float(live.sum() / live.size) if live.size else estimate
    pvalue = _first_of(found, "pvalue", "t_pvalue")
    return estimate, _first_of(found, "low"), _first_of(found, "high"), pvalue


def _first_of(found: Any, *names: str) -> float:
    for name in names:
        value = getattr(found, name, None)
        if value is not None:
            return float(value)
    return math.nan


def _differences(top: Floats, bottom: Floats, weights: Floats) -> Floats:
    values = cluster_values(top[None], bottom[None], weights)[0]
    found: Floats = values[~np.isnan(values)]
    return found


def _groups(top: Floats, bottom: Floats) -> list[Floats]:
    here = bottom > 0
    if (here[:, 0] & here[:, 1]).any():
        raise InputError("arms", "without a cluster in common", cure="Use sign-flip.")
    return [top[here[:, t], t] / bottom[here[:, t], t] for t in range(len(_PAIRWISE))]


def _discordant(top: Floats, bottom: Floats) -> tuple[int, int]:
    both = (bottom > 0).all(axis=1)
    if (bottom[both] > 1).any():
        raise InputError("trials", "one a cluster and arm", cure="Use sign-flip.")
    gap = top[both, 0] - top[both, 1]
    return int((gap > 0).sum()), int((gap < 0).sum())
