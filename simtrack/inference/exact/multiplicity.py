"""Adjusted p-values for declared families: Bonferroni, Holm, Hochberg, Benjamini and others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.method import Method
from simtrack.options import Computation, Guarantee, choice
from simtrack.validate import integer, open_unit

__all__ = [
    "METHODS",
    "Adjusted",
    "Adjustment",
    "adjust",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "bonferroni",
    "hochberg",
    "holm",
]

Floats = NDArray[np.float64]
Adjustment = Literal["bonferroni", "holm", "hochberg", "benjamini-hochberg", "benjamini-yekutieli"]

#: An adjusted p this close (relatively) to alpha equals it: products of decimals are rounded.
_ROUNDING = 1e-12

_PROMISES: dict[str, str] = {
    "bonferroni": "family-wise error, under any dependence",
    "holm": "family-wise error, under any dependence",
    "hochberg": "family-wise error, if the tests are independent or positively dependent",
    "benjamini-hochberg": "false discovery rate, if independent or positively dependent",
    "benjamini-yekutieli": "false discovery rate, under any dependence",
}


@dataclass(frozen=True, slots=True, eq=False)
class Adjusted:
    """Which findings stand once it is counted how many were looked for?

    Attributes
    ----------
    names : tuple of str
    pvalues, adjusted : float64 arrays, shape (hypotheses,)
        In the order given. NaN stays NaN in its place: a hypothesis without a test.
    families : tuple of str
        The family of each hypothesis; one family is called "all".
    sizes : dict of str to int
        How many hypotheses each family was adjusted for.
    method, controls : str
        What was done, and which error it controls under which dependence.
    notes : tuple of str
    """

    names: tuple[str, ...]
    pvalues: Floats
    adjusted: Floats
    families: tuple[str, ...]
    sizes: dict[str, int]
    method: Adjustment
    controls: str
    notes: tuple[str, ...] = ()
    computation: Computation = "closed-form"
    guarantee: Guarantee = "finite-sample"

    def rejected(self, alpha: float = 0.05) -> tuple[str, ...]:
        """Name the hypotheses whose adjusted p is at most `alpha`."""
        bound = open_unit("alpha", alpha) * (1.0 + _ROUNDING)
        return tuple(n for n, p in zip(self.names, self.adjusted, strict=True) if p <= bound)

    def to_dict(self) -> dict[str, object]:
        """Give plain values; a hypothesis without a test has None."""
        rows = zip(
            self.names, self.families, self.pvalues.tolist(), self.adjusted.tolist(), strict=True
        )
        return {
            "schema": "simtrack.adjusted/1",
            "method": self.method,
            "controls": self.controls,
            "sizes": dict(self.sizes),
            "hypotheses": [
                {
                    "name": name,
                    "family": family,
                    "pvalue": _none_if_nan(p),
                    "adjusted": _none_if_nan(q),
                }
                for name, family, p, q in rows
            ],
            "computation": self.computation,
            "guarantee": self.guarantee,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.sizes.values()))
        return f"Adjusted({self.method}, {len(self.names)} hypotheses, family of {sizes})"


def adjust(
    pvalues: ArrayLike,
    method: Adjustment = "holm",
    *,
    family: int | Sequence[str] | None = None,
    names: Sequence[str] | None = None,
) -> Adjusted:
    """Which findings stand once it is counted how many were looked for?

    Parameters
    ----------
    pvalues : array_like, shape (hypotheses,), 0 to 1
        NaN or None: there was no test. It keeps its place.
    method : str
        "bonferroni", "holm", "hochberg", "benjamini-hochberg" or "benjamini-yekutieli".
    family : int, sequence of str or None
        An int is the declared number of hypotheses, tests that could not be made and those not
        listed here included. Labels, one a hypothesis, make families that are adjusted one by one.
        By default the family is the p-values that are there.
    names : sequence of str, optional
        By default "1", "2", ...

    Raises
    ------
    InputError
        A p-value outside [0, 1]; a family smaller than its p-values.

    Examples
    --------
    >>> found = adjust([0.004, None, 0.03, 0.02, 0.9], "benjamini-hochberg")
    >>> found.adjusted.round(12).tolist(), found.sizes
    ([0.016, nan, 0.04, 0.04, 0.9], {'all': 4})
    >>> adjust([0.004, None, 0.03, 0.02, 0.9], "benjamini-hochberg", family=5).adjusted.tolist()
    [0.02, nan, 0.05, 0.05, 1.0]
    """
    choice("method", method, Adjustment)
    p = _checked(pvalues)
    labels = _labels(family, p.size)
    made = {label: np.array([f == label for f in labels]) for label in dict.fromkeys(labels)}
    adjusted, sizes = np.full(p.size, np.nan), {}
    for label, mine in made.items():
        m = _size(p[mine], family if isinstance(family, int) else None)
        adjusted[mine] = _METHODS[method](p[mine], m)
        sizes[label] = m
    missing = int(np.isnan(p).sum())
    counted = "counted" if isinstance(family, int) else "not counted"
    notes = (f"{missing} hypotheses without a test, {counted} in the family",) if missing else ()
    return Adjusted(
        _names(names, p.size), p, adjusted, labels, sizes, method, _PROMISES[method], notes
    )


def bonferroni(pvalues: ArrayLike, m: int | None = None) -> Floats:
    """What is each p-value times the number of hypotheses?

    Parameters
    ----------
    pvalues : array_like, shape (hypotheses,), 0 to 1; NaN stays in place
    m : int, optional
        The size of the declared family; by default the number of p-values that are not NaN.

    References
    ----------
    Dunn (1961), JASA 56, 52-64.

    Examples
    --------
    >>> bonferroni([0.01, 0.2, 0.5]).round(12).tolist()
    [0.03, 0.6, 1.0]
    """
    return _in_place(pvalues, m, lambda p, m: m * p)


def holm(pvalues: ArrayLike, m: int | None = None) -> Floats:
    """What is each p-value after Holm's step-down: never worse than Bonferroni, as general?

    Parameters as for `bonferroni`.

    References
    ----------
    Holm (1979), Scand. J. Statistics 6, 65-70.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(12).tolist()
    [0.03, 0.06, 0.06]
    """
    return _in_place(pvalues, m, lambda p, m: np.maximum.accumulate((m - np.arange(p.size)) * p))


def hochberg(pvalues: ArrayLike, m: int | None = None) -> Floats:
    """What is each p-value after Hochberg's step-up, which needs positive dependence?

    Parameters as for `bonferroni`.

    References
    ----------
    Hochberg (1988), Biometrika 75, 800-802; dependence: Sarkar (1998), Annals of Statistics 26.

    Examples
    --------
    >>> hochberg([0.01, 0.04, 0.03]).round(12).tolist()
    [0.03, 0.04, 0.04]
    """
    return _in_place(pvalues, m, lambda p, m: _step_up((m - np.arange(p.size)) * p))


def benjamini_hochberg(pvalues: ArrayLike, m: int | None = None) -> Floats:
    """What share of false discoveries goes with calling each p-value, and all below it, a finding?

    Parameters as for `bonferroni`.

    References
    ----------
    Benjamini and Hochberg (1995), JRSS B 57, 289-300.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(12).tolist()
    [0.03, 0.04, 0.04]
    """
    return _in_place(pvalues, m, lambda p, m: _step_up(m / np.arange(1.0, p.size + 1) * p))


def benjamini_yekutieli(pvalues: ArrayLike, m: int | None = None) -> Floats:
    """As `benjamini_hochberg`, under any dependence: the family counts 1 + 1/2 + ... + 1/m times.

    Parameters as for `bonferroni`.

    References
    ----------
    Benjamini and Yekutieli (2001), Annals of Statistics 29, 1165-1188.

    Examples
    --------
    >>> benjamini_yekutieli([0.01, 0.04, 0.03]).round(12).tolist()
    [0.055, 0.073333333333, 0.073333333333]
    """

    def raised(p: Floats, m: int) -> Floats:
        harmonic = float((1.0 / np.arange(1.0, m + 1)).sum())
        return _step_up(harmonic * m / np.arange(1.0, p.size + 1) * p)

    return _in_place(pvalues, m, raised)


_METHODS: dict[str, Callable[[ArrayLike, int | None], Floats]] = {
    "bonferroni": bonferroni,
    "holm": holm,
    "hochberg": hochberg,
    "benjamini-hochberg": benjamini_hochberg,
    "benjamini-yekutieli": benjamini_yekutieli,
}


def _in_place(pvalues: ArrayLike, m: int | None, method: Callable[[Floats, int], Floats]) -> Floats:
    """Adjust the p-values that are there in ascending order, and put them back."""
    p = _checked(pvalues)
    there = np.flatnonzero(~np.isnan(p))
    order = there[np.argsort(p[there], kind="stable")]
    adjusted = np.full(p.size, np.nan)
    adjusted[order] = np.minimum(method(p[order], _size(p, m)), 1.0)
    return adjusted


def _step_up(raised: Floats) -> Floats:
    """Give each the least of those from it upwards."""
    return np.minimum.accumulate(raised[::-1])[::-1]


def _checked(pvalues: ArrayLike) -> Floats:
    try:
        p = np.array(pvalues, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("pvalues", "numbers from 0 to 1", repr(pvalues)) from None
    if p.ndim != 1:
        raise InputError("pvalues", "a list", f"{p.ndim} dimensions")
    wrong = np.flatnonzero(~np.isnan(p) & ~((p >= 0.0) & (p <= 1.0)))
    if wrong.size:
        raise InputError("pvalues", "from 0 to 1", p[wrong[0]], where=f"position {wrong[0] + 1}")
    p.flags.writeable = False
    return p


def _size(p: Floats, declared: int | None) -> int:
    there = int((~np.isnan(p)).sum())
    if declared is None:
        return there
    if integer("family", declared, 0) < there:
        raise InputError("family", f"at least the {there} p-values that it holds", declared)
    return int(declared)


def _labels(family: int | Sequence[str] | None, size: int) -> tuple[str, ...]:
    if family is None or isinstance(family, int):
        return ("all",) * size
    if isinstance(family, str) or len(family) != size:
        raise InputError("family", f"a number, or a label for each of {size} p-values", family)
    return tuple(map(str, family))


def _names(names: Sequence[str] | None, size: int) -> tuple[str, ...]:
    if names is None:
        return tuple(str(k + 1) for k in range(size))
    if isinstance(names, str) or len(names) != size:
        raise InputError("names", f"a name for each of {size} p-values", names)
    if len(set(names)) != size:
        raise InputError("names", "different", ", ".join(names))
    return tuple(map(str, names))


def _none_if_nan(p: float) -> float | None:
    return None if math.isnan(p) else p


METHODS = (
    Method(
        "bonferroni", "multiplicity",
        "Family-wise error of a declared family, under any dependence.",
        "Many hypotheses: holm is never worse.",
        "closed-form", "finite-sample", "Dunn 1961",
    ),
    Method(
        "holm", "multiplicity",
        "Family-wise error of a declared family, under any dependence.",
        "Contrasts over the same clusters that go together: max-t gives more.",
        "closed-form", "finite-sample", "Holm 1979",
    ),
    Method(
        "hochberg", "multiplicity",
        "Family-wise error, if the tests are independent or positively dependent.",
        "Negative dependence, as between contrasts that share an arm with opposite signs.",
        "closed-form", "finite-sample", "Hochberg 1988; Sarkar 1998",
    ),
    Method(
        "benjamini-hochberg", "multiplicity",
        "False discovery rate, if the tests are independent or positively dependent.",
        "Claims that must each hold: it bounds the share of false ones, not the chance of any.",
        "closed-form", "finite-sample", "Benjamini & Hochberg 1995",
    ),
    Method(
        "benjamini-yekutieli", "multiplicity",
        "False discovery rate under any dependence.",
        "Small families: it pays the harmonic sum for its generality.",
        "closed-form", "finite-sample", "Benjamini & Yekutieli 2001",
    ),
)  # fmt: skip
