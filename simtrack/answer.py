"""The one form in which a method answers: a number, its interval, its p, and what they rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from simtrack.note import Note
from simtrack.options import Computation, Guarantee

__all__ = ["Answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What does one method say of one question?

    A value that is None is not defined, was refused, or is not what the method gives; `refused` or
    a note says why.

    Attributes
    ----------
    estimate : float or None
        A rate, a mean, a difference (first minus second), a ratio or a coefficient.
    low, high : float or None
        Ends of the interval.
    pvalue : float or None
    exact : Fraction or None
        The p-value as a fraction, where it was counted.
    refused : str
        Why there is no answer, or no p-value; empty where nothing was refused.
    n : int
        Trials that count; pairs of trials for methods that pair them.
    clusters : int
        Independent units behind the number.
    method : str
        The name in the catalogue.
    computation, guarantee : str
        How the number comes about, and what it promises.
    notes : tuple of Note
    extra : mapping of str to plain values
        What only this method gives: `interval` (which one), `floor` (the least possible p), `se`,
        `naive_se`, `design_effect`, `effective_n`, `icc`, `mcse`, ...
    """

    estimate: float | None
    low: float | None = None
    high: float | None = None
    pvalue: float | None = None
    exact: Fraction | None = None
    refused: str = ""
    n: int = 0
    clusters: int = 0
    method: str = ""
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"
    notes: tuple[Note, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON: fractions as text, notes as objects."""
        head = {n: getattr(self, n) for n in ("estimate", "low", "high", "pvalue")}
        rest = {n: getattr(self, n) for n in ("refused", "n", "clusters", "method", "computation",
                                              "guarantee")}  # fmt: skip
        more = {k: float(v) if isinstance(v, Fraction) else v for k, v in self.extra.items()}
        exact = None if self.exact is None else str(self.exact)
        return head | {"exact": exact} | rest | more | {"notes": [n.to_dict() for n in self.notes]}
