"""What a statistical method is: its text in the catalogue, what it needs, and how it is run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.answer import Answer
from simtrack.counts import Totals
from simtrack.errors import InputError, SimtrackError
from simtrack.note import Note
from simtrack.options import Alternative, Computation, Guarantee
from simtrack.results import FAILED, OK, REASONS, REFUSED, Results

__all__ = ["Ask", "Lattice", "Layout", "Method", "Pairing", "Topic", "one_by_one"]

#: What a method is about; the verb that offers it by name follows from it.
Topic = Literal["rate", "difference", "contrast", "test", "multiplicity", "missingness",
                "agreement", "rank", "sequential", "model", "bayes"]  # fmt: skip
#: What is matched between two levels: clusters, single trials, or nothing.
Pairing = Literal["clusters", "trials", "none"]
#: What an exact enumeration of studies can make use of: the signs and sizes of whole cluster
#: differences, their signs alone, or the pooled number of passes alone.
Lattice = Literal["none", "sign-flip", "signs", "pooled"]
Floats = NDArray[np.float64]

#: The command that asks for a method of a topic by its name.
_ASKED_BY: dict[Topic, str] = {
    "rate": "score --method", "difference": "test --method", "contrast": "test --method",
    "test": "test --method", "agreement": "test --method", "rank": "test --method",
    "bayes": "test --method", "multiplicity": "test --adjust", "model": "fit --model",
    "sequential": "monitor", "missingness": "score --sensitivity",
}  # fmt: skip
#: Of the methods that are asymptotic in the number of clusters; below it exact ones are named.
_FEW_CLUSTERS = 12
_REFUSAL, _BREAKDOWN = REASONS.index("the method refused"), REASONS.index("the method broke down")


@dataclass(frozen=True, slots=True)
class Ask:
    """How a question is put to a method.

    Parameters
    ----------
    level : float
        Confidence level; a test rejects at 1 - level.
    alternative : str
    factor : str
        The column whose levels are compared; empty for one rate, and for a contrast of an estimand.
    options : mapping of str to value
        Further options that the method names in `Method.options`.
    interval : bool
        Whether a test is to give its interval too, which may take longer than its p.
    """

    level: float = 0.95
    alternative: Alternative = "two-sided"
    factor: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    interval: bool = True

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
    groups : tuple of str or None
        The cluster of each row, where rows are pairs of trials.
    """

    totals: Totals
    weights: tuple[float, ...] = (1.0,)
    pairing: Pairing = "none"
    clusters: int = 0
    trials: tuple[int, ...] = (0,)
    unpaired: int = 0
    bounded: bool = False
    strata: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None

    @classmethod
    def of_totals(
        cls, totals: Totals, weights: tuple[float, ...] = (1.0,), pairing: Pairing = "none"
    ) -> Layout:
        """Lay out totals whose rows are clusters (or pairs), with scores in [0, 1]."""
        here = totals.denominator > 0
        kept = here.any(axis=1) if pairing == "none" else here.all(axis=1)
        trials = tuple(round(float(n)) for n in totals.denominator[kept].sum(axis=0))
        unpaired = round(float(totals.denominator[~kept].sum()))
        return cls(totals, weights, pairing, int(kept.sum()), trials, unpaired, True)

    @property
    def is_difference(self) -> bool:
        """Whether the question is the first term minus the second."""
        return self.weights == (1.0, -1.0)


@dataclass(frozen=True, slots=True)
class Method:
    """When does a method hold, when not, what does it need, and how is it run?

    Parameters
    ----------
    name : str
        The name by which verbs and library offer it.
    topic : Topic
    holds, fails : str
        When to use it, and when not, in one sentence each.
    computation, guarantee : str
        How the number comes about, and what it promises.
    source : str
        Where it is defined.
    answer : callable, optional
        (Layout, Ask) to `Answer`; `one` asks it, and keeps what every method has to keep. None
        where more is needed than a table of clusters, as for a family's adjustment.
    many : callable, optional
        (numerator (R, G, T), denominator (R, G, T), weights (T,), Ask) to `Results`: the same for
        R studies at once; None for studies that it has no quick form for. Without it `studies`
        asks `one` in a loop.
    pairing : str
        What it matches between two levels.
    strata : "no", "may" or "must"
    terms : int
        How many terms it takes; 0 for any number.
    options : tuple of str
        The names that it reads from `Ask.options`; "alternative" stands for a method without a
        p-value that has sides all the same.
    has_pvalue : bool
        Otherwise it decides by its interval.
    lattice : str
        What an exact enumeration of studies can make use of.
    quantity : str
        What the estimate is, where it is not a rate or a difference: "ratio", "median", "kappa".
    verb : str
        The command that asks for it, where it is not that of its topic.
    unasked : str
        Why no verb asks for it; empty where one does.
    """

    name: str
    topic: Topic
    holds: str
    fails: str
    computation: Computation
    guarantee: Guarantee
    source: str
    answer: Callable[[Layout, Ask], Answer] | None = None
    many: Callable[[Any, Any, Floats, Ask], Results | None] | None = None
    pairing: Pairing = "none"
    strata: Literal["no", "may", "must"] = "no"
    terms: int = 1
    options: tuple[str, ...] = ()
    has_pvalue: bool = False
    lattice: Lattice = "none"
    quantity: str = ""
    verb: str = ""
    unasked: str = ""

    @property
    def command(self) -> str:
        """The command and option that ask for it, such as "score --method"; empty if none does."""
        return "" if self.unasked else self.verb or _ASKED_BY[self.topic]

    def one(self, layout: Layout, ask: Ask) -> Answer:
        """What does it say of this layout?

        Raises
        ------
        InputError
            An option that it does not take, sides without a p-value, strata that it needs, another
            number of terms, or what the method itself refuses.
        """
        self.check(ask)
        if self.strata == "must" and layout.strata is None:
            raise InputError("strata", f"named for {self.name}", cure="Use --strata COLUMN.")
        self.check_weights(layout.weights)
        assert self.answer is not None  # as checked
        found = _without_width(self.answer(layout, ask))
        notes = (*found.notes, *self._of_design(layout, found))
        return replace(found, method=self.name, notes=tuple(dict.fromkeys(notes)))

    def studies(self, numerator: Any, denominator: Any, weights: Floats, ask: Ask) -> Results:
        """What does it say of each of R studies?

        Shapes (R, G, T), (R, G, T), (T,). A `SimtrackError` of one study is a refusal; any other
        exception is counted as a failure, never raised.
        """
        if not self.has_pvalue and "alternative" not in self.options:
            ask = replace(ask, alternative="two-sided")
        self.check(ask)
        self.check_weights(tuple(float(w) for w in weights))
        found = self.many and self.many(numerator, denominator, weights, ask)
        if found is not None:
            return found
        ask = replace(ask, interval=self.topic != "test")
        return one_by_one(self.one, numerator, denominator, weights, ask, self.pairing)

    def check_weights(self, weights: tuple[float, ...]) -> None:
        """Refuse terms that it cannot take: one, two as first minus second, or any number."""
        wanted = {1: (1.0,), 2: (1.0, -1.0)}.get(self.terms, weights)
        if weights != wanted:
            rule = "one rate" if self.terms == 1 else "a contrast of two terms, first minus second,"
            raise InputError("what", f"{rule} for {self.name}", f"weights {weights}")

    def to_dict(self) -> dict[str, str]:
        """Give the catalogue's text as plain data."""
        names = ("name", "topic", "holds", "fails", "computation", "guarantee", "source")
        asked = {"asked_by": self.command} | ({"unasked": self.unasked} if self.unasked else {})
        return {name: getattr(self, name) for name in names} | asked

    def check(self, ask: Ask) -> None:
        """Refuse a table that it cannot answer for, unknown options, and sides without a p."""
        if self.answer is None:
            cure = f"Use simtrack {self.command}." if self.command else self.unasked
            raise InputError("method", "one that answers for a table of clusters", self.name,
                             cure=cure)  # fmt: skip
        for name in ask.options:
            if name not in self.options:
                known = ", ".join(self.options) or "it takes none"
                raise InputError("option", f"one that {self.name} takes ({known})", repr(name))
        has_sides = self.has_pvalue or "alternative" in self.options
        if ask.alternative != "two-sided" and not has_sides:
            rule = f"two-sided for {self.name}, which has no p-value"
            raise InputError("alternative", rule, ask.alternative)

    def _of_design(self, layout: Layout, found: Answer) -> tuple[Note, ...]:
        """Say what the design does to the method: pairs in clusters, few clusters."""
        if self.topic not in {"test", "difference"}:
            return ()
        if layout.pairing == "trials":
            if layout.trials[0] <= layout.clusters:
                return ()
            text = (f"{layout.trials[0]} pairs of {layout.clusters} clusters are taken as "
                    "independent: sign-flip keeps those of a cluster together")  # fmt: skip
            return (Note("pairs-in-clusters", text, n=layout.clusters),)
        few = layout.clusters < _FEW_CLUSTERS
        if found.guarantee == "asymptotic" and few and self.topic != "test":
            text = f"{layout.clusters} clusters are few for this method: sign-flip is exact"
            return (Note("few-clusters", text, n=layout.clusters),)
        return ()


def one_by_one(
    one: Callable[[Layout, Ask], Answer],
    numerator: Any,
    denominator: Any,
    weights: Floats,
    ask: Ask,
    pairing: Pairing = "none",
) -> Results:
    """Ask about R studies one by one; refusals and breakdowns are counted, never raised."""
    n, scale = len(numerator), tuple(float(w) for w in weights)
    table = np.full((4, n), np.nan)
    status, reason = np.zeros(n, np.int8), np.zeros(n, np.int8)
    for r in range(n):
        try:
            totals = Totals.from_arrays(numerator[r], denominator[r])
            found = one(Layout.of_totals(totals, scale, pairing), ask)
        except SimtrackError:
            status[r], reason[r] = REFUSED, _REFUSAL
        except (ArithmeticError, ValueError, TypeError, RuntimeError):
            status[r], reason[r] = FAILED, _BREAKDOWN
        else:
            numbers = (found.estimate, found.low, found.high, found.pvalue)
            table[:, r] = [math.nan if x is None else x for x in numbers]
            if found.refused:
                status[r], reason[r] = REFUSED, _REFUSAL
    silent = (status == OK) & np.isnan(table[1:]).all(axis=0)
    status[silent], reason[silent] = REFUSED, _REFUSAL
    return Results(table[0], table[1], table[2], table[3], status, reason)


def _without_width(found: Answer) -> Answer:
    """Withhold an interval without width, and tell a standard error of 0: neither is precise."""
    flat = [n for n in ("se", "naive_se", "log_se") if found.extra.get(n) == 0.0]
    if found.low is not None and found.low == found.high:
        text = f"no interval: both of its ends are {found.low:g}, which is no sign of precision"
        extra = {**found.extra, "interval": ""}
        found = replace(found, low=None, high=None, extra=extra,
                        notes=(*found.notes, Note("flat", text)))  # fmt: skip
    if flat and not any(note.code == "flat" for note in found.notes):
        text = "the standard error of 0 is no sign of precision"
        found = replace(found, notes=(*found.notes, Note("flat", text)))
    return found
