"""From effects within a cluster to effects in the population: the logistic-normal mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.models.coefficients import Coefficients
from simtrack.inference.models.table import ModelTable
from simtrack.inference.numerics.algebra import cholesky, jacobian, solve

__all__ = ["Marginal", "logistic_normal_mean", "marginal_of"]

Floats = NDArray[np.float64]
Array = NDArray[Any]
#: The trapezoidal rule is exponentially precise: the error is about exp(-2π² / (σ h)).
_STEP, _REACH = 0.05, 9.0


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """What do the conditional effects of a mixed model mean, averaged over clusters?

    Attributes
    ----------
    rates : Coefficients
        The probability of success of each pattern in a cluster taken at random, on the rate scale.
    log_odds : Coefficients
        Population-averaged coefficients: least squares of the logits of `rates` on the design,
        weighted by trials. Nearer to 0 than the conditional ones.
    """

    rates: Coefficients
    log_odds: Coefficients

    def difference(self, first: str, second: str) -> Coefficients:
        """How much larger is the rate of one pattern than another's, in the population?"""
        weights = np.zeros(len(self.rates.names))
        for name, sign in ((first, 1.0), (second, -1.0)):
            if name not in self.rates.names:
                raise InputError("pattern", "one of " + ", ".join(self.rates.names), repr(name))
            weights[self.rates.names.index(name)] += sign
        return self.rates.contrast(weights, f"{first} - {second}")

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        return {
            "schema": "simtrack.marginal-effects/1",
            "rates": self.rates.rows(),
            "log_odds": self.log_odds.rows(),
        }

    def __repr__(self) -> str:
        return f"Marginal({self.log_odds!r})"


def logistic_normal_mean(eta: Array, sd: Array) -> Array:
    """What is the mean of 1 / (1 + e^-(η + σZ)) over standard normal Z?

    By the trapezoidal rule; complex is allowed.

    Examples
    --------
    >>> float(np.real(logistic_normal_mean(np.array([1.0]), np.array([1.0])))[0].round(10))
    0.6967346701
    """
    count = round(_REACH / _STEP)
    z = _STEP * np.arange(-count, count + 1)
    weight = _STEP * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    full = np.asarray(eta)[..., None] + np.asarray(sd)[..., None] * z
    up = np.real(full) > 0.0
    small = np.exp(np.where(up, -full, full))
    return np.asarray((weight * np.where(up, 1.0, small) / (1.0 + small)).sum(axis=-1))


def marginal_of(
    table: ModelTable,
    parameters: Floats,
    covariance: Floats,
    variances: Any,
    df: Floats,
    level: float,
) -> Marginal:
    """Give the marginal effects with standard errors by the delta method.

    Parameters
    ----------
    parameters, covariance : float64 arrays
        The coefficients, then whatever `variances` takes.
    df : float64 array, shape (columns,)
        Of the coefficients; a rate has the least of them.
    variances : callable
        From parameters, shape (points, size), to the variance of the linear predictor of each
        pattern between clusters, shape (points, patterns).

    References
    ----------
    Hedeker, du Toit, Demirtas and Gibbons (2018), Biometrics 74, 354-361.
    """
    p, x = len(table.names), table.design
    weight = table.n.sum(axis=0)
    lower = cholesky(np.einsum("k,ki,kj->ij", weight, x, x))

    def rates(point: Array) -> Array:
        eta = np.einsum("kj,bj->bk", x, point[:, :p])
        return logistic_normal_mean(eta, _root(variances(point)))

    def log_odds(point: Array) -> Array:
        share = rates(point)
        logit = np.log(share / (1.0 - share))
        return solve(lower, np.einsum("bk,k,kj->bj", logit, weight, x))

    names = tuple(",".join(pattern) for pattern in table.patterns)
    found = []
    least = np.full(len(names), df.min())
    for function, labels, scale, degrees in (
        (rates, names, "rate", least), (log_odds, table.names, "log odds", df)
    ):  # fmt: skip
        value = np.real(function(parameters[None].astype(complex)))[0]
        slopes = jacobian(function, parameters)
        half = np.einsum("ia,ab->ib", slopes, covariance)
        spread = np.einsum("ib,jb->ij", half, slopes)
        found.append(Coefficients(labels, value, spread, degrees, level, scale))
    return Marginal(*found)


def _root(variance: Array) -> Array:
    """A square root that is 0 at 0, derivative and all."""
    safe = np.where(np.real(variance) > 0.0, variance, 1.0)
    return np.asarray(np.where(np.real(variance) > 0.0, np.sqrt(safe), 0.0))
