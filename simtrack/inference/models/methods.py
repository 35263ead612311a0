"""Models on clustered scores by name: one contrast of means or log odds, and the fit behind it.

The estimate is the contrast of means (linear) or of pooled rates (logistic), which other methods
estimate too; the p is that of the model's own contrast, on log odds for a logistic one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.answer import Answer
from simtrack.inference.differences.two_rates import one_sided
from simtrack.inference.models.firth import firth
from simtrack.inference.models.gee import gee
from simtrack.inference.models.linear_mixed import linear_mixed
from simtrack.inference.models.logistic_mixed import logistic_mixed
from simtrack.inference.models.many import (
    ManyFits,
    gee_many,
    linear_mixed_many,
    logistic_mixed_many,
)
from simtrack.inference.models.table import ModelTable
from simtrack.inference.studies import t_pvalues
from simtrack.method import Ask, Layout, Method
from simtrack.note import Note
from simtrack.options import Alternative, ModelName
from simtrack.results import Results

__all__ = ["FITTED", "METHODS"]

Floats = NDArray[np.float64]
_ANSWERED = ("converged", "singular")
#: The model that `fit` fits for a name, what the name fixes, and the option that it cannot do
#: without.
FITTED: dict[str, tuple[ModelName, dict[str, str | None], str]] = {
    "linear-mixed": ("lmm", {"slope": None}, ""),
    "linear-mixed-slope": ("lmm", {}, "slope"),
    "gee": ("gee", {}, ""),
    "gee-exchangeable": ("gee", {"correlation": "exchangeable"}, ""),
    "gee-independence": ("gee", {"correlation": "independence"}, ""),
    "gee-mancl-derouen": ("gee", {"covariance": "mancl-derouen"}, ""),
    "gee-kauermann-carroll": ("gee", {"covariance": "kauermann-carroll"}, ""),
    "gee-fay-graubard": ("gee", {"covariance": "fay-graubard"}, ""),
    "logistic-mixed": ("glmm", {"slope": None, "crossed": None}, ""),
    "logistic-mixed-slope": ("glmm", {"crossed": None}, "slope"),
    "logistic-mixed-crossed": ("glmm", {"slope": None}, "crossed"),
    "firth": ("firth", {}, ""),
    "two-way": ("two-way", {}, "crossed"),
}


def _answer_of(
    fit: Callable[..., Any], *, has_slope: bool = False, **fixed: Any
) -> Callable[[Layout, Ask], Answer]:
    """Give the answer of a model with one mean a term, and a random intercept (and slope)."""

    def answer(layout: Layout, ask: Ask) -> Answer:
        totals, weights = layout.totals, np.array(layout.weights)
        design, asked = np.eye(weights.size), weights
        if fit is gee:  # the contrast as a coefficient of its own, so that it has its own df
            design, asked = _contrast_design(weights), np.eye(weights.size)[0]
        table = ModelTable.from_arrays(
            totals.denominator, totals.numerator, design, squares=totals.square,
            clusters=totals.clusters,
        )  # fmt: skip
        slope = {"slope": weights} if has_slope else {}
        found = fit(table, level=ask.level, **fixed | slope | dict(ask.options))
        contrast = found.coefficients.contrast(asked)
        se = _number(contrast.standard_error[0])
        own = _number(contrast.estimate[0])
        is_linear = contrast.scale == "difference"
        pooled = totals.numerator.sum(axis=0) / totals.denominator.sum(axis=0)
        shown = own if is_linear else _number((pooled * weights).sum())
        p = one_sided(_number(contrast.pvalue[0]), own, ask.alternative)
        ends = (_number(contrast.low[0]), _number(contrast.high[0]))
        low, high = ends if is_linear else (None, None)
        refused = ""
        if found.status not in _ANSWERED or se is None:
            refused = f"the fit is {found.status}" if se is not None else "no standard error"
            p = low = high = None
        odds = {} if is_linear else {"log_odds_ratio": own, "log_odds_low": ends[0],
                                     "log_odds_high": ends[1]}  # fmt: skip
        return Answer(
            shown, low, high, p, refused=refused, n=round(found.n), clusters=len(table.clusters),
            computation=found.computation, guarantee=found.guarantee,
            notes=tuple(Note.of(line) for line in found.notes),
            extra={"interval": "" if low is None else f"{fit.__name__}, t", "se": se,
                   "status": found.status} | odds,
        )  # fmt: skip

    return answer


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


# The same for many studies at once, compiled.
def _linear_mixed(numerator: Any, denominator: Any, weights: Floats, ask: Ask) -> Results:
    """The contrast of means in a linear model with a random intercept; see `linear_mixed`.

    Shapes (R, G, T), (R, G, T), (T,): one fixed mean a term.
    """
    n, total = np.asarray(denominator, np.float64), np.asarray(numerator, np.float64)
    fits = linear_mixed_many(n, total, np.eye(n.shape[2]), **ask.options)
    value, _, low, high, _ = fits.contrast(weights, ask.level)
    return Results.of(value, low=low, high=high, pvalue=_pvalues(fits, weights, ask.alternative),
                      refused=_refused(fits, n, weights))  # fmt: skip


def _gee(numerator: Any, denominator: Any, weights: Floats, ask: Ask, **fixed: Any) -> Results:
    """The contrast of log odds by estimating equations, with a p-value and no interval.

    The estimate given is the contrast of pooled rates, which other analyses estimate too.
    """
    n, total = np.asarray(denominator, np.float64), np.asarray(numerator, np.float64)
    how = {"correlation": "exchangeable", "covariance": "kauermann-carroll"} | fixed
    design, first = _contrast_design(weights), np.eye(n.shape[2])[0]
    fits = gee_many(n, total, design, **how | dict(ask.options))
    return Results.of(_pooled(n, total, weights), pvalue=_pvalues(fits, first, ask.alternative),
                      refused=_refused(fits, n, first))  # fmt: skip


def _logistic_mixed(numerator: Any, denominator: Any, weights: Floats, ask: Ask) -> Results:
    """The contrast of log odds within clusters, with a p-value and no interval.

    The estimate given is the contrast of pooled rates, which other analyses estimate too.
    """
    n, total = np.asarray(denominator, np.float64), np.asarray(numerator, np.float64)
    fits = logistic_mixed_many(n, total, np.eye(n.shape[2]), nodes=ask.options.get("nodes", 7))
    return Results.of(_pooled(n, total, weights), pvalue=_pvalues(fits, weights, ask.alternative),
                      refused=_refused(fits, n, weights))  # fmt: skip


def _contrast_design(weights: Floats) -> Floats:
    """Give a design of the terms whose first coefficient is the contrast, so that it has its df."""
    w = np.asarray(weights, dtype=np.float64)
    place = int(np.abs(w).argmax())
    turn = np.delete(np.eye(w.size), place, axis=0)
    design = np.insert(turn.T, 0, 0.0, axis=1)
    design[place] = np.append(1.0, -np.delete(w, place)) / w[place]
    return design


def _pooled(n: Floats, total: Floats, weights: Floats) -> Floats:
    top, bottom = total.sum(axis=1), n.sum(axis=1)
    rates = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
    found: Floats = (rates * weights).sum(axis=1)
    return found


def _pvalues(fits: ManyFits, weights: Floats, alternative: Alternative) -> Floats:
    value, error, *_ = fits.contrast(weights)
    df = fits.df[:, np.asarray(weights) != 0.0].min(axis=1)
    return t_pvalues(value / error, df, alternative)


def _refused(fits: ManyFits, n: Floats, weights: Floats) -> dict[str, NDArray[np.bool_]]:
    return {
        "a term without trials": (n.sum(axis=1) <= 0).any(axis=1),
        "fewer than two clusters": (n.sum(axis=2) > 0).sum(axis=1) < 2,
        "no spread between clusters": fits.answered & np.isnan(fits.contrast(weights)[1]),
        "the method refused": ~fits.answered,
    }


METHODS = (
    Method(
        "linear-mixed", "model",
        "Differences of rates or mean scores, one random intercept a cluster; REML or ML.",
        "Effects that vary by cluster: intervals are too short (use the slope).",
        "optimisation", "asymptotic", "Laird & Ware 1982; Bates et al. 2015",
        answer=_answer_of(linear_mixed), many=_linear_mixed, terms=0, options=("criterion",),
        has_pvalue=True,
    ),
    Method(
        "linear-mixed-slope", "model",
        "As linear-mixed, where the effect of a contrast differs by cluster too (slope=).",
        "Few clusters: the variances are ill known; a singular fit is said.",
        "optimisation", "asymptotic", "Laird & Ware 1982; Barr et al. 2013",
        answer=_answer_of(linear_mixed, has_slope=True), terms=0, options=("criterion",),
        has_pvalue=True,
    ),
    Method(
        "gee", "model",
        "Odds averaged over clusters; correlation and covariance are options, for few clusters "
        "first.",
        "Rates near 0 or 1 in few clusters: it rejects too often; one cluster that decides (said).",
        "optimisation", "asymptotic", "Liang & Zeger 1986; Kauermann & Carroll 2001",
        answer=_answer_of(gee), many=_gee, terms=0, options=("correlation", "covariance"),
        has_pvalue=True,
    ),
    Method(
        "gee-exchangeable", "model",
        "Odds averaged over clusters, whatever the correlation within them; ten clusters or more.",
        "Rates near 0 or 1 in few clusters: it rejects too often; one cluster that decides (said).",
        "optimisation", "asymptotic", "Liang & Zeger 1986",
        answer=_answer_of(gee, correlation="exchangeable"),
        many=partial(_gee, correlation="exchangeable"), terms=0, options=("covariance",),
        has_pvalue=True,
    ),
    Method(
        "gee-independence", "model",
        "As gee-exchangeable, with trials weighted alike (correlation='independence').",
        "Very unequal clusters with strong correlation: it is less precise.",
        "optimisation", "asymptotic", "Liang & Zeger 1986",
        answer=_answer_of(gee, correlation="independence"),
        many=partial(_gee, correlation="independence"), terms=0, options=("covariance",),
        has_pvalue=True,
    ),
    Method(
        "gee-mancl-derouen", "model",
        "A larger correction for few clusters, with t(G-1): the safer side, of unequal ones too.",
        "Clusters of one size: it covers a little more than it says; one that has most trials.",
        "optimisation", "asymptotic", "Mancl & DeRouen 2001",
        answer=_answer_of(gee, covariance="mancl-derouen"),
        many=partial(_gee, covariance="mancl-derouen"), terms=0, options=("correlation",),
        has_pvalue=True,
    ),
    Method(
        "gee-kauermann-carroll", "model",
        "For few clusters, with t(G-1): the default of gee, nominal at 12 clusters of one size.",
        "Rates near 0 or 1; very unequal clusters: it covers too little; mancl-derouen is safer.",
        "optimisation", "asymptotic", "Kauermann & Carroll 2001",
        answer=_answer_of(gee, covariance="kauermann-carroll"),
        many=partial(_gee, covariance="kauermann-carroll"), terms=0, options=("correlation",),
        has_pvalue=True,
    ),
    Method(
        "gee-fay-graubard", "model",
        "As gee-kauermann-carroll, with the correction bounded cluster by cluster.",
        "Very unequal clusters: it covers too little.",
        "optimisation", "asymptotic", "Fay & Graubard 2001",
        answer=_answer_of(gee, covariance="fay-graubard"),
        many=partial(_gee, covariance="fay-graubard"), terms=0, options=("correlation",),
        has_pvalue=True,
    ),
    Method(
        "logistic-mixed", "model",
        "Odds within a cluster by adaptive Gauss-Hermite; averaged ones beside them.",
        "Effects that vary by cluster: intervals are too short (use the slope).",
        "quadrature", "asymptotic", "Pinheiro & Bates 1995",
        answer=_answer_of(logistic_mixed, nodes=7), many=_logistic_mixed, terms=0,
        options=("nodes",), has_pvalue=True,
    ),
    Method(
        "logistic-mixed-slope", "model",
        "As logistic-mixed, where the effect of a contrast differs by cluster too (slope=).",
        "Few clusters or rates near 0 or 1: the variances run to 0 or away (said).",
        "quadrature", "asymptotic", "Pinheiro & Bates 1995",
        answer=_answer_of(logistic_mixed, has_slope=True), terms=0, options=("nodes",),
        has_pvalue=True,
    ),
    Method(
        "logistic-mixed-crossed", "model",
        "Clusters crossed with another factor of random effects: model by scenario.",
        "Few trials a cell: Laplace's approximation shrinks the variances.",
        "optimisation", "asymptotic", "Breslow & Clayton 1993",
    ),
    Method(
        "firth", "model",
        "Separated patterns, where odds ratios have no finite estimate without a penalty.",
        "Clusters: it takes trials as independent; `clustered` has a clustered error beside.",
        "optimisation", "asymptotic", "Firth 1993; Heinze & Schemper 2002",
        answer=_answer_of(firth), terms=0, has_pvalue=True,
    ),
    Method(
        "two-way", "model",
        "Errors for crossed designs, clustered by scenario and by model at once.",
        "Few levels in either direction: the variance can come out negative (said).",
        "closed-form", "asymptotic", "Cameron, Gelbach & Miller 2011",
    ),
    Method(
        "leave-one-out", "model",
        "Does one cluster carry the result? Refits of any model without each of them.",
        "It is no interval: a range of refits has no level.",
        "optimisation", "descriptive", "Cook & Weisberg 1982; StageIF appendix",
        verb="fit --leave-one-out",
    ),
    Method(
        "separation", "model",
        "Which coefficients are infinite, before any logistic model is fitted.",
        "It says nothing of near separation, which a model's standard errors show.",
        "enumeration", "finite-sample", "Albert & Anderson 1984",
        verb="fit",
    ),
)  # fmt: skip
