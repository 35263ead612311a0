"""Named analyses: what will be done with the data of a study, stated before there are any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simtrack.analysis.catalogue import find_method
from simtrack.counts import Counts, CountsBatch, Totals
from simtrack.errors import InputError
from simtrack.estimands import Condition, Contrast, Estimand
from simtrack.method import Ask, Method
from simtrack.options import Alternative
from simtrack.results import Results
from simtrack.validate import confidence_level

__all__ = ["Analysis"]


@dataclass(frozen=True, slots=True)
class Analysis:
    """Which method answers which question, at which level?

    Parameters
    ----------
    name : str
        A method of the catalogue that answers for a table of clusters.
    what : Estimand or Contrast
        A rate for methods of one rate; a contrast of two terms for differences.
    level : float
        Confidence level of intervals.
    options : tuple of (name, value)
        Further keyword arguments of the method, such as ("null", 0.05).

    Examples
    --------
    >>> from simtrack.analysis import analyses
    >>> test = analyses.sign_flip("adherence", "stage", "POST_OBS", "COMPLETED")
    >>> test.name, test.what.name
    ('sign-flip', 'adherence: stage POST_OBS - COMPLETED')
    """

    name: str
    what: Estimand | Contrast
    level: float = 0.95
    options: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        confidence_level("level", self.level)
        object.__setattr__(self, "options", tuple(sorted(dict(self.options).items())))
        terms = 1 if isinstance(self.what, Estimand) else len(self.what.terms)
        takes = self.method.terms
        if takes and terms != takes:
            wanted = "one rate" if takes == 1 else "a contrast of two terms"
            raise InputError("what", f"{wanted} for {self.name}", self.what.name)
        self.method.check(self._ask())

    def with_options(self, **options: object) -> Analysis:
        """Give the same analysis with these options of its method too."""
        return replace(self, options=tuple((dict(self.options) | options).items()))

    @property
    def method(self) -> Method:
        """The method of that name."""
        return find_method(self.name)

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors that the counts have to be grouped by."""
        terms = [self.what] if isinstance(self.what, Estimand) else [e for _, e in self.what.terms]
        used = (f for e in terms for c in (*e.where, *e.among) for f in c.factors)
        return tuple(dict.fromkeys(used))

    def arrays(self, batch: CountsBatch) -> tuple[Any, Any, Any]:
        """Reduce studies to numerators and denominators, (R, G, T) each, and weights (T,)."""
        if isinstance(self.what, Contrast):
            return self.what.batch(batch)
        top, bottom = self.what.batch(batch)
        return top[:, :, None], bottom[:, :, None], np.ones(1)

    def totals(self, counts: Counts) -> tuple[Totals, Any]:
        """Reduce one observed study in the same way: totals by cluster and term, and weights."""
        if isinstance(self.what, Contrast):
            return self.what.stacked(counts)
        return self.what.totals(counts), np.ones(1)

    def run(
        self,
        batch: CountsBatch,
        *,
        alternative: Alternative = "two-sided",
        level: float | None = None,
    ) -> Results:
        """Analyse all studies of a batch."""
        return self.run_arrays(*self.arrays(batch), alternative=alternative, level=level)

    def run_arrays(
        self,
        numerator: Any,
        denominator: Any,
        weights: Any,
        *,
        alternative: Alternative = "two-sided",
        level: float | None = None,
    ) -> Results:
        """Analyse studies given as arrays: (R, G, T), (R, G, T), (T,)."""
        return self.method.studies(
            numerator, denominator, weights, self._ask(alternative=alternative, level=level)
        )

    def _ask(self, alternative: Alternative = "two-sided", level: float | None = None) -> Ask:
        return Ask(self.level if level is None else level, alternative, options=dict(self.options))

    def to_dict(self) -> dict[str, Any]:
        """Give plain data that tells this analysis from every other."""
        head = {"schema": "simtrack.analysis/1", "name": self.name, "level": self.level}
        return head | {"options": dict(self.options), "what": _plain(self.what)}


def _plain(what: Estimand | Contrast) -> Mapping[str, Any]:
    if isinstance(what, Contrast):
        terms = [{"weight": str(w), "estimand": _plain(e)} for w, e in what.terms]
        return {"name": what.name, "terms": terms}
    return {
        "name": what.name,
        "numerator": sorted(what.numerator),
        "excluded": sorted(what.excluded),
        "where": [_plain_condition(c) for c in what.where],
        "among": [_plain_condition(c) for c in what.among],
        "taxonomy": what.taxonomy.name,
    }


def _plain_condition(condition: Condition) -> dict[str, Any]:
    levels = [list(level) for level in sorted(condition.levels)]
    return {"factors": list(condition.factors), "levels": levels, "negated": condition.negated}
