"""The percentile cluster bootstrap of a rate or contrast, for many studies at once."""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.named_loop import loop_over
from simtrack.analysis.named_results import Results, whole_values
from simtrack.options import Alternative

__all__ = ["bootstrap_percentile"]

Floats = NDArray[np.float64]
#: Sums of resampled clusters up to here are convolved in the kernel.
_MOST_SUM = 1 << 14


def bootstrap_percentile(
    numerator: Any,
    denominator: Any,
    weights: Floats,
    level: float,
    *,
    alternative: Alternative = "two-sided",
    **options: Any,
) -> Results:
    """Percentile cluster bootstrap, law computed exactly; an interval and no p-value.

    With balanced trials the law of every study is convolved in a kernel; else study by study
    through `bootstrap`.
    """
    whole = whole_values(numerator, denominator, weights)
    if whole is None or _largest(whole[0]) > _MOST_SUM:
        return loop_over(
            "bootstrap-contrast", numerator, denominator,
            weights=weights, level=level, options=options,
        )  # fmt: skip
    from simtrack.kernels.bootstrap_whole import percentile_whole

    values, scale = whole
    low, high = np.empty(len(values)), np.empty(len(values))
    percentile_whole(np.ascontiguousarray(values), 0.5 * (1.0 - level), low, high)
    clusters = values.shape[1]
    factor = 1.0 / (scale * clusters)
    flat = (values == values[:, :1]).all(axis=1)
    refused = {
        "fewer than two clusters": np.full(len(values), clusters < 2),
        "no spread between clusters": flat,
    }
    return Results.of(
        values.sum(axis=1) * factor, low=low * factor, high=high * factor, refused=refused
    )


def _largest(values: NDArray[np.int64]) -> int:
    if values.size == 0:
        return 0
    shared = gcd(*np.unique(values - values.min()).tolist()) or 1
    widest = int((values.max(axis=1) - values.min(axis=1)).max())
    return widest * int(values.shape[1]) // shared
