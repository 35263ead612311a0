"""The mean of several groups' scores with the standard error of that very mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.inference.intervals import normal_critical
from simtrack.options import Computation, Guarantee, choice

__all__ = ["GroupMean", "Weighting", "group_mean"]

#: What each group counts for in the mean: all the same, or as many trials as it has.
Weighting = Literal["equal", "size"]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GroupMean:
    """What is the mean over groups, and how well is that mean known?

    Attributes
    ----------
    weighting : "equal" or "size"
        Equal weights answer "how good on a typical group"; weights by size, "on a typical trial".
    mean, se : float
        Both with the same weights, always.
    low, high : float
        Normal interval mean ± z se.
    level : float
    weights : tuple of float
        Of the groups, summing to 1.
    notes : tuple of str
    """

    weighting: Weighting
    mean: float
    se: float
    low: float
    high: float
    level: float
    weights: tuple[float, ...]
    notes: tuple[str, ...] = ("groups are taken as independent",)
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        plain: dict[str, object] = {"schema": "simtrack.group-mean/1"}
        plain |= {name: getattr(self, name) for name in self.__slots__}
        return plain | {"weights": list(self.weights), "notes": list(self.notes)}

    def __repr__(self) -> str:
        return f"GroupMean({self.weighting} weights: {self.mean:.4f}, se {self.se:.4f})"


def group_mean(
    estimates: ArrayLike,
    standard_errors: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    weighting: Weighting = "equal",
    level: float = 0.95,
) -> GroupMean:
    """What is the mean score over independent groups, with its own standard error?

    The standard error is √Σ w² se² with the weights w that the mean has. The two means answer
    different questions, so a mean of one kind never comes with an error of the other.

    Parameters
    ----------
    estimates, standard_errors : arrays, shape (groups,)
        One score a group with its standard error (clustered, where trials are). Finite; errors at
        least 0.
    sizes : array, shape (groups,), optional
        Trials of each group, above 0. Needed by `weighting="size"` and refused otherwise.
    weighting : "equal" or "size"
    level : float
        Confidence level.

    Raises
    ------
    InputError
        Shapes that differ, values out of range, or sizes that the weighting does not use.

    References
    ----------
    Cochran (1977), Sampling Techniques, 3rd ed., theorem 5.3 (a weighted mean of strata).

    Examples
    --------
    >>> group_mean([0.8, 0.5], [0.04, 0.025])
    GroupMean(equal weights: 0.6500, se 0.0236)
    >>> group_mean([0.8, 0.5], [0.04, 0.025], sizes=[100, 400], weighting="size")
    GroupMean(size weights: 0.5600, se 0.0215)
    """
    choice("weighting", weighting, Weighting)
    values, errors = _vector("estimates", estimates), _vector("standard_errors", standard_errors)
    if values.shape != errors.shape or values.size == 0:
        raise InputError("standard_errors", f"as many as estimates, {values.size}", errors.size)
    if (errors < 0.0).any():
        raise InputError("standard_errors", "at least 0", float(errors.min()))
    weights = _weights(values.size, sizes, weighting)
    mean = float((weights * values).sum())
    se = float(np.sqrt((weights * weights * errors * errors).sum()))
    half = normal_critical(level) * se
    return GroupMean(weighting, mean, se, mean - half, mean + half, level, tuple(weights.tolist()))


def _weights(groups: int, sizes: ArrayLike | None, weighting: Weighting) -> Floats:
    if weighting == "equal":
        if sizes is not None:
            raise InputError("sizes", "left out with equal weights", cure='Or weighting="size".')
        return np.full(groups, 1.0 / groups)
    if sizes is None:
        raise InputError("sizes", "given for weights by size")
    trials = _vector("sizes", sizes)
    if trials.size != groups or not (trials > 0.0).all():
        raise InputError("sizes", f"{groups} numbers above 0", trials.tolist())
    return np.asarray(trials / trials.sum())


def _vector(name: str, values: ArrayLike) -> Floats:
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InputError(name, "finite numbers, one a group")
    return array
