"""What a statistical method is: its text in the catalogue, what it needs, and how it is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from simtrack.answer import Answer
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.options import Alternative, Computation, Guarantee

__all__ = ["Ask", "Layout", "Method", "Pairing", "Topic"]

#: What a method is about; the verb that offers it by name follows from it.
Topic = Literal["rate", "difference", "contrast", "test", "multiplicity", "missingness",
                "agreement", "rank", "sequential", "model", "bayes"]  # fmt: skip
#: What is matched between two levels: clusters, single trials, or nothing.
Pairing = Literal["clusters", "trials", "none"]


@dataclass(frozen=True, slots=True)
class Ask:
    """How a question is put to a method.

    Parameters
    ----------
    level : float
        Confidence level; a test rejects at 1 - level.
    alternative : str
    factor : str
        The column that is compared, for notes; empty for one rate.
    options : mapping of str to value
        Further options that the method names in `Method.options`.
    """

    level: float = 0.95
    alternative: Alternative = "two-sided"
    factor: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def alpha(self) -> float:
        """One minus the level, as typed."""
        return round(1.0 - self.level, 12)

    @property
    def sides(self) -> int:
        """Two, or one."""
        return 2 if self.alternative == "two-sided" else 1


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The data of one question, laid out for a method.

    Attributes
    ----------
    totals : Totals
        Shape (clusters, terms): one term for a rate, two for levels a and b; where single trials
        are paired, a row is one pair.
    weights : tuple of float
        One a term; (1.0, -1.0) for a difference.
    pairing : str
    clusters : int
        Independent clusters behind the rows.
    trials : tuple of int
        Trials of each term that count.
    unpaired : int
        Scored trials that found no partner.
    bounded : bool
        Every score lies in [0, 1].
    strata : tuple of str or None
        The stratum of each row.
    """

    totals: Totals
    weights: tuple[float, ...] = (1.0,)
    pairing: Pairing = "none"
    clusters: int = 0
    trials: tuple[int, ...] = (0,)
    unpaired: int = 0
    bounded: bool = False
    strata: tuple[str, ...] | None = None


def _not_asked(layout: Layout, ask: Ask) -> Answer:
    raise InputError("method", "one that answers for a layout", "one that does not")


@dataclass(frozen=True, slots=True)
class Method:
    """When does a method hold, when not, what does it need, and how is it run?

    Parameters
    ----------
    name : str
        The name by which `score`, `test`, `fit` and the library offer it.
    topic : Topic
    holds, fails : str
        When to use it, and when not, in one sentence each.
    computation, guarantee : str
        How the number comes about, and what it promises.
    source : str
        Where it is defined.
    one : callable
        (Layout, Ask) to `Answer`; it refuses for rows that no verb asks by name.
    many : callable, optional
        The same for many studies at once, from arrays; without it `one` is called in a loop.
    pairing : str
        What it matches between two levels.
    strata : "no", "may" or "must"
    terms : int
        How many terms it takes; 0 for any number.
    options : tuple of str
        The names that it reads from `Ask.options`.
    """

    name: str
    topic: Topic
    holds: str
    fails: str
    computation: Computation
    guarantee: Guarantee
    source: str
    one: Callable[[Layout, Ask], Answer] = _not_asked
    many: Callable[..., Any] | None = None
    pairing: Pairing = "none"
    strata: Literal["no", "may", "must"] = "no"
    terms: int = 1
    options: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, str]:
        """Give the catalogue's text as plain data."""
        names = ("name", "topic", "holds", "fails", "computation", "guarantee", "source")
        return {name: getattr(self, name) for name in names}
