"""The logistic function of whole arrays, the same double on every machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import kernel
from simtrack.kernels.portable import expit

__all__ = ["logistic"]

Floats = NDArray[np.float64]


def logistic(logits: Floats) -> Floats:
    """Give expit(x) of every entry."""
    out = np.empty(logits.size, dtype=np.float64)
    _fill(np.ascontiguousarray(logits, dtype=np.float64).ravel(), out)
    return out.reshape(logits.shape)


@kernel
def _fill(logits: Floats, out: Floats) -> None:
    for k in range(logits.size):
        out[k] = expit(logits[k])
