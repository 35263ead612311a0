"""Named analyses: what will be done with the data of a study, stated before there are any."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from simtrack.analysis.methods import find_method
from simtrack.analysis.named_arms import cluster_t_arms, permutation_arms
from simtrack.analysis.named_bootstrap import bootstrap_percentile
from simtrack.analysis.named_loop import loop_over
from simtrack.analysis.named_models import (
    gee_clusters,
    linear_mixed_clusters,
    logistic_mixed_clusters,
)
from simtrack.analysis.named_paired import (
    mcnemar_pairs,
    paired_cluster_t,
    sign_flip_clusters,
    sign_test_clusters,
)
from simtrack.analysis.named_rates import binomial_exact, rate_interval
from simtrack.analysis.named_results import Results
from simtrack.counts import Counts, CountsBatch, Totals
from simtrack.errors import InputError
from simtrack.estimands import Condition, Contrast, Estimand
from simtrack.options import Alternative
from simtrack.validate import confidence_level

__all__ = ["ANALYSES", "Analysis", "Lattice", "NamedAnalysis", "register_analysis"]

#: What an exact enumeration of the studies can make use of: the signs and sizes of whole cluster
#: differences, their signs alone, or the pooled number of passes alone.
Lattice = Literal["none", "sign-flip", "signs", "pooled"]
_TWO = 2


@dataclass(frozen=True, slots=True)
class NamedAnalysis:
    """How is an analysis of this name run on many studies?

    Parameters
    ----------
    name : str
    function : callable
        (numerator (R, G, T), denominator (R, G, T), weights (T,), level, *, alternative,
        **options) to `Results`.
    takes : "rate", "difference" or "contrast"
        One rate, two terms, or any number of them.
    has_pvalue : bool
        Otherwise it decides by its interval.
    lattice : Lattice
    """

    name: str
    function: Callable[..., Results] = field(compare=False)
    takes: Literal["rate", "difference", "contrast"]
    has_pvalue: bool = True
    lattice: Lattice = "none"


#: Every analysis with a quick form, by name; all other methods of the catalogue run in a loop.
ANALYSES: dict[str, NamedAnalysis] = {}


def register_analysis(*analyses: NamedAnalysis) -> None:
    """Give analyses a quick form; a name stands for one analysis only."""
    for analysis in analyses:
        if ANALYSES.get(analysis.name, analysis) != analysis:
            raise InputError("analysis", "named otherwise: there is one", analysis.name)
        ANALYSES[analysis.name] = analysis


register_analysis(
    NamedAnalysis("paired-cluster-t", paired_cluster_t, "contrast"),
    NamedAnalysis("sign-flip", sign_flip_clusters, "contrast", lattice="sign-flip"),
    NamedAnalysis("sign-test", sign_test_clusters, "contrast", lattice="signs"),
    NamedAnalysis("mcnemar", mcnemar_pairs, "difference", lattice="signs"),
    NamedAnalysis("cluster-t-difference", cluster_t_arms, "difference"),
    NamedAnalysis("permutation", permutation_arms, "difference"),
    NamedAnalysis("linear-mixed", linear_mixed_clusters, "contrast"),
    NamedAnalysis("gee", gee_clusters, "contrast"),
    NamedAnalysis("logistic-mixed", logistic_mixed_clusters, "contrast"),
    NamedAnalysis("bootstrap-percentile", bootstrap_percentile, "contrast", has_pvalue=False),
    NamedAnalysis("bounded-mean", rate_interval("bounded-mean"), "rate", has_pvalue=False),
    NamedAnalysis("wilson-guarded", rate_interval("wilson-guarded"), "rate", has_pvalue=False),
    NamedAnalysis("binomial-exact", binomial_exact, "rate", lattice="pooled"),
    NamedAnalysis(
        "clopper-pearson", rate_interval("clopper-pearson"), "rate", has_pvalue=False,
        lattice="pooled",
    ),
    NamedAnalysis("wilson", rate_interval("wilson"), "rate", has_pvalue=False, lattice="pooled"),
    NamedAnalysis(
        "jeffreys", rate_interval("jeffreys"), "rate", has_pvalue=False, lattice="pooled"
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Analysis:
    """Which method answers which question, at which level?

    Parameters
    ----------
    name : str
        A key of `ANALYSES`, or any method of the catalogue whose topic is rate, difference,
        contrast or test.
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
        takes = self.named.takes
        if (takes == "rate" and terms != 1) or (takes == "difference" and terms != _TWO):
            wanted = "one rate" if takes == "rate" else "a contrast of two terms"
            raise InputError("what", f"{wanted} for {self.name}", self.what.name)
        self._refuse_unknown_options()

    def _refuse_unknown_options(self) -> None:
        known = self.option_names if self.options else ()
        for name, _ in self.options:
            if name not in known:
                rule = f"one that {self.name} takes ({', '.join(known) or 'it takes none'})"
                raise InputError("option", rule, repr(name))

    @property
    def named(self) -> NamedAnalysis:
        """How it is run: the quick form, or the loop over the catalogue's method."""
        if self.name in ANALYSES:
            return ANALYSES[self.name]
        method = find_method(self.name, "rate", "difference", "contrast", "test")
        takes: Any = {"test": "contrast"}.get(method.topic, method.topic)

        def looped(numerator: Any, denominator: Any, weights: Any, level: float, *,
                   alternative: Alternative = "two-sided", **options: Any) -> Results:  # fmt: skip
            return loop_over(
                self.name, numerator, denominator, weights=weights, level=level,
                alternative=alternative, options=options,
            )  # fmt: skip

        return NamedAnalysis(self.name, looped, takes, method.topic == "test")

    @property
    def option_names(self) -> tuple[str, ...]:
        """The options that its method takes."""
        known = _keywords(self.named.function)
        if known is None:
            method = find_method(self.name, "rate", "difference", "contrast", "test")
            known = _keywords(method.load()) or ()
        return known

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
        used = self.level if level is None else level
        return self.named.function(
            numerator, denominator, weights, used, alternative=alternative, **dict(self.options)
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain data that tells this analysis from every other."""
        head = {"schema": "simtrack.analysis/1", "name": self.name, "level": self.level}
        return head | {"options": dict(self.options), "what": _plain(self.what)}


def _keywords(function: Callable[..., Any]) -> tuple[str, ...] | None:
    """Which options has a function? None where it passes on whatever it is given."""
    found = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in found):
        return None
    given = ("level", "alternative", "weights")
    return tuple(p.name for p in found if p.kind is p.KEYWORD_ONLY and p.name not in given)


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
