"""What no event among so many trials says: the rule of three and its exact counterpart.

Conventions. "3/n" is the one-sided upper 95 % bound of an event that was seen in none of n
trials; its exact counterpart is 1 - 0.05^(1/n). The two-sided 95 % interval (Clopper-Pearson) ends
at 1 - 0.025^(1/n), near 3.7/n. An event seen in all trials is the mirror image.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.intervals import Intervals, tail
from simtrack.inference.rates.answers import answer_of, studies_of
from simtrack.inference.rates.clustered import ClusteredRates, effective_size
from simtrack.method import Method
from simtrack.options import Guarantee, Side, choice

__all__ = [
    "METHODS",
    "Independent",
    "rule_of_three",
    "rule_of_three_clustered",
    "zero_bound",
    "zeros_clustered",
]

#: What counts as one independent trial: the effective number of trials, or each cluster once.
Independent = Literal["effective", "clusters"]
_RULE_LEVEL = 0.95

Floats = NDArray[np.float64]


def rule_of_three(n: ArrayLike) -> Floats:
    """Which rate is too high for no event in `n` independent trials, as 3/n (one-sided 95 %)?

    Parameters
    ----------
    n : array
        Trials, above 0. The bound is at most 1. It holds for 95 % only, so it takes no level.

    References
    ----------
    Hanley and Lippman-Hand (1983), JAMA 249, 1743-1745.

    Examples
    --------
    >>> rule_of_three([600, 2]).tolist()
    [0.005, 1.0]
    """
    return np.minimum(3.0 / _trials(n), 1.0)


def zero_bound(n: ArrayLike, *, level: float = 0.95, side: Side = "upper") -> Floats:
    """Which rate is too high for no event in `n` independent trials, exactly?

    Parameters
    ----------
    n : array
        Trials, above 0.
    level : float
        Confidence level.
    side : "upper" or "two-sided"
        "upper" gives 1 - α^(1/n), the counterpart of 3/n; "two-sided" gives 1 - (α/2)^(1/n), the
        high end of Clopper and Pearson's two-sided interval at 0/n.

    Examples
    --------
    >>> float(zero_bound(600).round(6)), float(zero_bound(23, side="two-sided").round(10))
    (0.00498, 0.1481851289)
    """
    if side == "lower":
        raise InputError("side", "upper or two-sided: no event bounds no rate from below", side)
    return np.asarray(-np.expm1(np.log(tail(level, side)) / _trials(n)))


def rule_of_three_clustered(
    totals: Totals,
    *,
    level: float = 0.95,
    unit: Independent = "effective",
    icc: float | None = None,
    rates: ClusteredRates | None = None,
) -> Intervals:
    """Which rate is too high for no event at all, by 3/n on what is independent?

    As `zeros_clustered`, one-sided, with 3/n. A level other than 95 % is refused.

    Examples
    --------
    >>> found = rule_of_three_clustered(Totals.from_arrays([0] * 12, [50] * 12), unit="clusters")
    >>> float(found.high[0])
    0.25
    """
    choice("unit", unit, Independent)
    if level != _RULE_LEVEL:
        cure = "Use zeros_clustered for others."
        raise InputError("level", "0.95 for the rule of three", level, cure=cure)
    method = f"rule of three on {_NAMES[unit]}"
    return _bounded(totals, rule_of_three, level, unit, icc, rates, method, "asymptotic")


def zeros_clustered(
    totals: Totals,
    *,
    level: float = 0.95,
    unit: Independent = "effective",
    side: Side = "upper",
    icc: float | None = None,
    rates: ClusteredRates | None = None,
) -> Intervals:
    """Which rate is too high for no event at all among clustered trials?

    1 - α^(1/n) with an n that respects clusters, as `unit` says:

    - "effective": the trials over the design effect of an ICC, given or assumed (the data show no
      spread, so they cannot tell it); the notes say which.
    - "clusters": each cluster counts once. It bounds the chance that a cluster shows the event at
      all, so also the rate inside clusters of any size and any ICC, as long as clusters are
      independent and their sizes do not depend on their rates. Wide, and free of assumptions.

    Parameters
    ----------
    totals : Totals
        Shape (clusters, conditions); scores within [0, 1].
    level : float
        Confidence level.
    unit : "effective" or "clusters"
    side : "upper" or "two-sided"
        As in `zero_bound`.
    icc, rates
        As in `effective_size`.

    Returns
    -------
    Intervals
        0 to the bound for 0/n, 1 - bound to 1 for n/n; NaN elsewhere, with the reason.

    Examples
    --------
    >>> none = Totals.from_arrays([0] * 12, [50] * 12)
    >>> float(zeros_clustered(none, unit="clusters").high[0].round(6))
    0.220922
    >>> float(zeros_clustered(none, icc=0.1).high[0].round(6))
    0.029028
    """
    choice("unit", unit, Independent)
    return _bounded(
        totals,
        partial(zero_bound, level=level, side=side),
        level,
        unit,
        icc,
        rates,
        f"exact zero bound on {_NAMES[unit]}",
        "finite-sample" if unit == "clusters" else "asymptotic",
    )


_NAMES: dict[Independent, str] = {"effective": "the effective n", "clusters": "clusters"}


def _bounded(
    totals: Totals,
    bound: Callable[[Floats], Floats],
    level: float,
    unit: Independent,
    icc: float | None,
    rates: ClusteredRates | None,
    method: str,
    guarantee: Guarantee,
) -> Intervals:
    """Put the bound above 0/n, and its mirror image below n/n."""
    found = effective_size(totals, icc=icc, rates=rates)
    size = found.trials if unit == "effective" else found.rates.clusters.astype(np.float64)
    none, full = found.rates.rate == 0.0, found.rates.rate == 1.0
    sound = (none | full) & (size > 0.0)
    width = np.where(sound, bound(np.where(sound, size, 1.0)), np.nan)
    return Intervals(
        np.where(full, 1.0 - width, np.where(sound, 0.0, np.nan)),
        np.where(full, np.where(sound, 1.0, np.nan), width),
        level,
        method,
        np.full(size.shape, np.nan),
        np.where(sound, size, np.nan),
        _zero_notes(found.notes, none | full, found.rates.clusters, unit),
        guarantee=guarantee,
    )


def _zero_notes(
    notes: tuple[tuple[str, ...], ...],
    flat: NDArray[np.bool_],
    clusters: NDArray[np.int64],
    unit: Independent,
) -> tuple[tuple[str, ...], ...]:
    """Say why there is no bound, and leave out what was assumed for another unit."""
    found = []
    for lines, same, groups in zip(notes, flat.tolist(), clusters.tolist(), strict=True):
        kept = lines
        if unit == "clusters" and groups > 0:
            kept = tuple(t for t in lines if "ICC" not in t and not t.startswith("no interval"))
            kept = (*kept, f"each of {groups} clusters counts once, whatever its size")
        if groups > 0 and not same:
            kept = (*kept, "no bound: both outcomes occur, so use wilson-clustered")
        found.append(kept)
    return tuple(found)


def _trials(n: ArrayLike) -> Floats:
    size = np.asarray(n, dtype=np.float64)
    if not (np.isfinite(size).all() and (size > 0.0).all()):
        raise InputError("n", "above 0", cure="A rate without trials has no bound.")
    return size


METHODS = (
    Method(
        "rule-of-three-clustered", "rate",
        "No event in clustered trials: 3/n on the effective n, or on clusters.",
        "Both outcomes occur (refused); on the effective n it rests on an assumed ICC.",
        "closed-form", "asymptotic", "Hanley & Lippman-Hand 1983 on the effective n or on G",
        answer=answer_of(rule_of_three_clustered), many=studies_of(rule_of_three_clustered),
        options=("unit", "icc"),
    ),
    Method(
        "zero-bound-clustered", "rate",
        "No event in clustered trials: 1 - α^(1/n) on the effective n, or exactly on clusters.",
        "Both outcomes occur (refused); on the effective n it rests on an assumed ICC.",
        "closed-form", "asymptotic", "Clopper & Pearson 1934 at 0/n on the effective n or on G",
        answer=answer_of(zeros_clustered), many=studies_of(zeros_clustered),
        options=("unit", "side", "icc"),
    ),
)  # fmt: skip
