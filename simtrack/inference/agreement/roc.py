"""How well a signal tells positives from negatives: the area under the ROC curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.counts import Factor
from simtrack.errors import InputError
from simtrack.inference.agreement.ranks import KendallTau, kendall_tau
from simtrack.inference.numerics.special import t_critical
from simtrack.options import Computation, Guarantee, choice
from simtrack.validate import open_unit

__all__ = ["Auroc", "Scale", "auroc"]

#: On which scale the interval is symmetric.
Scale = Literal["logit", "plain"]
_ROUNDING = 1e-12

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Auroc:
    """How often does a positive have a higher signal than a negative, ties half?

    Attributes
    ----------
    value : float or None
        The area; None without a positive or without a negative (see `notes`).
    u_statistic : float or None
        The Mann-Whitney U of the positives: `value` times positives times negatives.
    positives, negatives, clusters : int
    se, low, high, df : float or None
        Standard error of DeLong, by cluster if there are clusters, and the interval with t(df);
        df is the smaller number of clusters that hold positives or negatives, minus 1.
    test : KendallTau or None
        The exact test of no relation (Mann-Whitney, ties kept); None for clustered items.
    scale : "logit" or "plain"
    notes : tuple of str
    """

    value: float | None
    u_statistic: float | None
    positives: int
    negatives: int
    clusters: int
    se: float | None
    low: float | None
    high: float | None
    df: float | None
    level: float
    scale: Scale
    test: KendallTau | None
    notes: tuple[str, ...] = ()
    method: str = "DeLong"
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        test = None if self.test is None else self.test.to_dict()
        lists = {"test": test, "notes": list(self.notes)}
        return {"schema": "simtrack.auroc/1"} | asdict(self) | lists

    def __repr__(self) -> str:
        sizes = f"{self.positives} positives, {self.negatives} negatives"
        if self.value is None:
            return f"Auroc(not defined: {sizes})"
        ends = "no interval" if self.low is None else f"{self.low:.4f} to {self.high:.4f}"
        return f"Auroc({self.value:.4f}, {ends}, {sizes})"


def auroc(
    signal: ArrayLike,
    positive: Sequence[bool | int] | NDArray[np.bool_],
    *,
    cluster: Sequence[str] | None = None,
    level: float = 0.95,
    scale: Scale = "logit",
) -> Auroc:
    """How well does a signal rank positives above negatives, given that items come in clusters?

    The area is the share of positive-negative pairs in which the positive has the higher signal,
    ties counting one half. With V_i the share of negatives below positive i, and V_j that of
    positives above negative j, the variance is S10/m + S01/n + 2 S11/(mn), each S taken over
    cluster sums of V - area; with one item a cluster it is DeLong's.

    Coverage of the 95 % interval, measured on clusters of 10 items at 6 to 67 clusters: logit
    .94 to .96 at areas of .7 and .9, plain .93 to .95 at .7 and .89 to .92 at .9 (400 runs each,
    standard error near .012). Independent items (15 + 15): logit .98, plain .88 at .9.

    Parameters
    ----------
    signal : array_like of float, shape (items,)
        Higher should mean positive; none may be missing.
    positive : sequence of bool, shape (items,)
    cluster : sequence of str, optional
        What the items belong to; independent without it.
    level : float
        Confidence level.
    scale : "logit" or "plain"
        The logit interval stays within 0 and 1.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44, 837-845. Obuchowski (1997), Biometrics
    53, 567-578, eq. 3 to 6. Mann-Whitney by Kendall's S: Kendall (1970), section 3.10.

    Examples
    --------
    >>> found = auroc([0.8, 0.3, 0.3, 0.8, 0.5, 0.5, 0.3], [1, 0, 1, 0, 1, 0, 0])
    >>> round(found.value, 10), found.u_statistic
    (0.5833333333, 7.0)
    """
    open_unit("level", level)
    choice("scale", scale, Scale)
    values, truth = _checked(signal, positive)
    groups = _groups(cluster, values.size)
    m, n = int(truth.sum()), int((~truth).sum())
    count = len(groups.levels)
    if m == 0 or n == 0:
        why = f"not defined: no {'positive' if m == 0 else 'negative'}"
        empty = (None,) * 4
        return Auroc(None, None, m, n, count, *empty, level, scale, None, (why,))
    placed = _placements(values, truth)
    # Twice U is a whole number: rounding it keeps the area exact.
    area = round(2.0 * float(placed[truth].sum()) * n) / (2 * m * n)
    held = [len(set(groups.codes[side].tolist())) for side in (truth, ~truth)]
    se = _standard_error(placed, truth, groups.codes, count, area) if min(held) > 1 else None
    df = min(held) - 1.0
    low, high, notes = _interval(area, se, df, level, scale)
    if cluster is None:
        test, method = kendall_tau(values, truth.astype(float)), "DeLong"
    else:
        test, method = None, "DeLong by cluster (Obuchowski)"
        notes = (*notes, "no exact test: items of one cluster are not exchangeable with others")
    return Auroc(
        area, area * m * n, m, n, count, se, low, high, None if low is None else df, level, scale,
        test, notes, f"{method}, {scale} scale, t({df:g})",
    )  # fmt: skip


def _checked(
    signal: ArrayLike, positive: Sequence[bool | int] | NDArray[np.bool_]
) -> tuple[Floats, NDArray[np.bool_]]:
    values, truth = np.asarray(signal, dtype=np.float64), np.asarray(positive)
    if values.ndim != 1 or np.isnan(values).any():
        raise InputError("signal", "a plain list of numbers, none missing", cure="Leave them out.")
    if truth.shape != values.shape:
        raise InputError("positive", f"given for each of {values.size} items", truth.shape)
    if truth.dtype != np.bool_ and not np.isin(truth, (0, 1)).all():
        raise InputError("positive", "true or false, 1 or 0", truth.dtype)
    return values, truth.astype(bool)


def _groups(cluster: Sequence[str] | None, items: int) -> Factor:
    if cluster is None:
        return Factor(tuple(map(str, range(items))), np.arange(items, dtype=np.int32))
    if len(cluster) != items:
        raise InputError("cluster", f"given for each of {items} items", len(cluster))
    return Factor.from_values([str(c) for c in cluster])


def _placements(values: Floats, truth: NDArray[np.bool_]) -> Floats:
    """Give each positive the share of negatives below it, each negative that of positives above."""
    up, down = np.sort(values[truth]), np.sort(values[~truth])
    out = np.empty(values.size)
    low, high = (np.searchsorted(down, values[truth], side) for side in ("left", "right"))
    out[truth] = (low + high) / (2.0 * down.size)
    low, high = (np.searchsorted(up, values[~truth], side) for side in ("left", "right"))
    out[~truth] = 1.0 - (low + high) / (2.0 * up.size)
    return out


def _standard_error(
    placed: Floats, truth: NDArray[np.bool_], codes: Ints, clusters: int, area: float
) -> float:
    residual = placed - area
    sides = []
    for side in (truth, ~truth):
        sums = np.bincount(codes[side], weights=residual[side], minlength=clusters)
        held = len(set(codes[side].tolist()))
        sides.append((sums / int(side.sum()), held / (held - 1.0)))
    (up, up_factor), (down, down_factor) = sides
    cross = 2.0 * clusters / (clusters - 1.0) * float((up * down).sum())
    own = up_factor * float((up * up).sum()) + down_factor * float((down * down).sum())
    # Rounding, or a strong negative covariance in few clusters, must not give a negative variance.
    return math.sqrt(max(own + cross, 0.0))


def _interval(
    area: float, se: float | None, df: float, level: float, scale: Scale
) -> tuple[float | None, float | None, tuple[str, ...]]:
    if se is None:
        return None, None, ("no interval: positives or negatives lie in one cluster only",)
    if se <= _ROUNDING:
        return None, None, ("no interval: no spread between clusters, so its width would be 0",)
    half = t_critical(level, df) * se
    if scale == "plain":
        cut = ("the interval is cut off at 0 or 1",) if area - half < 0 or area + half > 1 else ()
        return max(area - half, 0.0), min(area + half, 1.0), cut
    centre, width = math.log(area / (1.0 - area)), half / (area * (1.0 - area))
    low, high = (1.0 / (1.0 + math.exp(-v)) for v in (centre - width, centre + width))
    return low, high, ()
