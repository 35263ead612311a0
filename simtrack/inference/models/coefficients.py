"""What every model says of its coefficients: estimates, standard errors, t beside z."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.inference.numerics.special import t_cdf, t_critical

__all__ = ["ROUNDING", "Coefficients", "plain"]

#: A standard error so much smaller than all that stands beside it is rounding.
ROUNDING = 1e-13

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Coefficients:
    """How large is each coefficient, and how precisely is it known?

    Attributes
    ----------
    names : tuple of str
    estimate : float64 array, shape (columns,)
        NaN where it is not estimable; the fit's notes say why.
    covariance : float64 array, shape (columns, columns)
    df : float64 array, shape (columns,)
        Degrees of freedom of Student's t; infinite for the normal law.
    level : float
        Confidence level of the intervals.
    scale : str
        "difference", "log odds" or "rate", whose intervals go by logits and stay within 0 and 1.

    Examples
    --------
    >>> found = Coefficients(("x",), np.array([0.5]), np.array([[0.04]]), np.array([11.0]))
    >>> found.pvalue.round(4).tolist(), found.pvalue_normal.round(4).tolist()
    ([0.0295], [0.0124])
    """

    names: tuple[str, ...]
    estimate: Floats
    covariance: Floats
    df: Floats
    level: float = 0.95
    scale: str = "log odds"

    @classmethod
    def missing(
        cls, names: Sequence[str], level: float = 0.95, scale: str = "log odds"
    ) -> Coefficients:
        """Give NaN for everything: the fit's status and notes say why."""
        p = len(names)
        nothing = np.full(p, np.nan)
        return cls(tuple(names), nothing, np.full((p, p), np.nan), nothing, level, scale)

    @property
    def standard_error(self) -> Floats:
        """The roots of the variances; NaN where one is not above 0, but for rounding."""
        variance = np.diag(self.covariance)
        sizes = np.concatenate([np.abs(self.estimate), _roots(self.covariance)])
        least = (ROUNDING * sizes[np.isfinite(sizes)].max(initial=0.0)) ** 2
        return np.asarray(np.sqrt(np.where(variance > least, variance, np.nan)))

    @property
    def statistic(self) -> Floats:
        """Estimate over standard error."""
        return np.asarray(self.estimate / self.standard_error)

    @property
    def pvalue(self) -> Floats:
        """Two-sided p by Student's t with `df`."""
        return _two_sided(self.statistic, self.df)

    @property
    def pvalue_normal(self) -> Floats:
        """Two-sided p by the normal law: too small where clusters are few."""
        return _two_sided(self.statistic, np.full(self.df.shape, math.inf))

    @property
    def low(self) -> Floats:
        """Lower ends by Student's t."""
        return self._end(-1.0)

    @property
    def high(self) -> Floats:
        """Upper ends by Student's t."""
        return self._end(1.0)

    def index(self, name: str) -> int:
        """Give the place of a coefficient, or refuse and print the names there are."""
        if name not in self.names:
            raise InputError("coefficient", "one of " + ", ".join(self.names), repr(name))
        return self.names.index(name)

    def contrast(self, weights: ArrayLike, name: str = "contrast") -> Coefficients:
        """What does a weighted sum of the coefficients come to? Its df is the least of theirs."""
        w = np.asarray(weights, dtype=np.float64)
        if w.shape != self.estimate.shape:
            raise InputError("weights", f"of {len(self.names)} numbers", w.shape)
        used = w != 0.0
        value = np.array([(w[used] * self.estimate[used]).sum()])
        variance = float(np.einsum("i,ij,j->", w, self.covariance, w))
        if variance <= ROUNDING * float((np.abs(w) * _roots(self.covariance)).sum()) ** 2:
            variance = math.nan  # what is left of terms that cancel
        df = np.array([self.df[used].min(initial=math.inf)])
        scale = "difference" if self.scale == "rate" else self.scale
        return Coefficients((name,), value, np.array([[variance]]), df, self.level, scale)

    def rows(self) -> list[dict[str, object]]:
        """Give one mapping a coefficient, of plain values; None where there is none."""
        columns = {
            "estimate": self.estimate,
            "standard_error": self.standard_error,
            "statistic": self.statistic,
            "df": self.df,
            "pvalue": self.pvalue,
            "pvalue_normal": self.pvalue_normal,
            "low": self.low,
            "high": self.high,
        }
        return [
            {"name": name} | {key: plain(values[j]) for key, values in columns.items()}
            for j, name in enumerate(self.names)
        ]

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name} {value:.4g} ± {se:.3g}"
            for name, value, se in zip(self.names, self.estimate, self.standard_error, strict=True)
        )
        return f"Coefficients({shown})"

    def _end(self, sign: float) -> Floats:
        if self.scale != "rate":
            return np.asarray(self.estimate + sign * self._half())
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = self.estimate * (1.0 - self.estimate)
            logit = np.log(self.estimate) - np.log1p(-self.estimate)
            return np.asarray(1.0 / (1.0 + np.exp(-logit - sign * self._half() / spread)))

    def _half(self) -> Floats:
        factor = [t_critical(self.level, v) if v > 0 else math.nan for v in self.df.tolist()]
        return np.array(factor) * self.standard_error


def plain(value: float) -> float | None:
    """Give a float, or None where it is NaN or infinite."""
    return float(value) if math.isfinite(value) else None


def _roots(covariance: Floats) -> Floats:
    return np.asarray(np.sqrt(np.abs(np.diag(covariance))))


def _two_sided(statistic: Floats, df: Floats) -> Floats:
    pairs = zip(statistic.tolist(), df.tolist(), strict=True)
    return np.array(
        [2.0 * t_cdf(-abs(t), v) if v > 0 and not math.isnan(t) else math.nan for t, v in pairs]
    )
