"""Posteriors and Bayes factors by name: what was observed, with a credible interval."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from simtrack.answer import Answer
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.bayes.bayes_factor import (
    BayesFactor,
    bayes_factor_difference,
    bayes_factor_rate,
    bayes_factor_sensitivity,
)
from simtrack.inference.bayes.beta_binomial import beta_difference, beta_rate, beta_rates
from simtrack.inference.bayes.hierarchical import Hierarchical
from simtrack.inference.bayes.hierarchical_beta import hierarchical_beta
from simtrack.inference.bayes.hierarchical_logit import hierarchical_logit
from simtrack.inference.bayes.hierarchical_slope import hierarchical_slope
from simtrack.inference.bayes.posterior import Posterior
from simtrack.inference.differences.two_rates import two_columns
from simtrack.inference.rates.answers import studies_of
from simtrack.inference.rates.pooled import independence_notes
from simtrack.method import Ask, Layout, Method
from simtrack.note import Note

__all__ = ["METHODS"]


def _beta_binomial(layout: Layout, ask: Ask) -> Answer:
    return _of_rate(beta_rate(layout.totals, level=ask.level, **ask.options), layout)


def _hierarchical_of(model: Callable[..., Hierarchical]) -> Callable[[Layout, Ask], Answer]:
    """Give the answer of a model of clusters: the mean rate of their population."""

    def answer(layout: Layout, ask: Ask) -> Answer:
        found = model(layout.totals, level=ask.level, **ask.options)
        spread = found.spread
        line = (f"{spread.name} {spread.mean:.4f}, {spread.level:.0%} {spread.low:.4f} to "
                f"{spread.high:.4f}")  # fmt: skip
        told = (Note("posterior", line), *(Note.of(n) for n in found.notes))
        factor = {} if found.bayes_factor is None else {"bf10": _plain(found.bayes_factor)}
        more = {"spread": spread.name, "spread_mean": spread.mean, "spread_low": spread.low,
                "spread_high": spread.high} | factor  # fmt: skip
        return _of_rate(found.rate, layout, told, more)

    return answer


def _of_rate(
    found: Posterior,
    layout: Layout,
    notes: tuple[Note, ...] = (),
    more: dict[str, object] | None = None,
) -> Answer:
    top, bottom = layout.totals.numerator.sum(), layout.totals.denominator.sum()
    seen = float(top / bottom) if bottom > 0 else None
    return _answer(found, seen, round(float(bottom)), layout, notes, more)


def _beta_difference(layout: Layout, ask: Ask) -> Answer:
    found = beta_difference(layout.totals, level=ask.level, **ask.options)
    return _answer(found, _gap(layout.totals), 0, layout, (), _sign(found))


def _slope(layout: Layout, ask: Ask) -> Answer:
    found = hierarchical_slope(layout.totals, level=ask.level, **ask.options)
    more = _sign(found.difference) | {"bf10": _plain(found.bayes_factor)}
    notes = tuple(Note.of(line) for line in found.notes)
    return _answer(found.difference, _gap(layout.totals), 0, layout, notes, more)


def _answer(
    found: Posterior,
    seen: float | None,
    n: int,
    layout: Layout,
    notes: tuple[Note, ...],
    more: dict[str, object] | None,
) -> Answer:
    line = f"posterior mean {found.mean:.4f}, sd {found.sd:.4f}; prior {found.prior}"
    own = (Note("posterior", line), *(Note.of(note) for note in found.notes))
    shares = {"posterior_mean": found.mean, "posterior_sd": found.sd, "prior": found.prior}
    return Answer(
        seen, found.low, found.high, n=n, clusters=layout.clusters,
        computation=found.computation, guarantee=found.guarantee, notes=(*own, *notes),
        extra={"interval": "credible, equal tails"} | shares | (more or {}),
    )  # fmt: skip


def _sign(found: Posterior) -> dict[str, object]:
    return {"probability_above_0": found.probability(low=0.0)}


def _gap(totals: Totals) -> float | None:
    rates = totals.rates()
    return None if np.isnan(rates).any() else float(rates[0] - rates[1])


# Bayes factors: no interval, and a factor in the place of a p.
def _factor_of_rate(layout: Layout, ask: Ask) -> Answer:
    totals, options = layout.totals, dict(ask.options)
    hits, n = float(totals.numerator.sum()), float(totals.denominator.sum())
    null = options.pop("null", 0.5)
    found = bayes_factor_rate(hits, n, null, alternative=ask.alternative, **options)
    notes = independence_notes(totals, 0)
    return _of_factor(found, hits / n if n else None, round(n), layout, notes)


def _factor_of_difference(layout: Layout, ask: Ask) -> Answer:
    two = two_columns(layout.totals, 0, 1)
    hits, n = (two.hits[0], two.hits[1]), (two.n[0], two.n[1])
    found = bayes_factor_difference(hits, n, alternative=ask.alternative, **ask.options)
    return _of_factor(found, _gap(layout.totals), 0, layout, two.independence_notes())


def _of_factor(
    found: BayesFactor, seen: float | None, n: int, layout: Layout, notes: tuple[str, ...]
) -> Answer:
    line = f"Bayes factor {found.bf10:.4g} for {found.alternative}, against {found.null}"
    return Answer(
        seen, n=n, clusters=layout.clusters, computation=found.computation,
        guarantee=found.guarantee,
        notes=(Note("bayes-factor", line), *(Note.of(x) for x in (*found.notes, *notes))),
        extra={"interval": "", "bf10": _plain(found), "log_bf10": found.log_bf10},
    )  # fmt: skip


def _plain(found: BayesFactor) -> float | str:
    return found.bf10 if math.isfinite(found.bf10) else "inf"


def _sensitivity(layout: Layout, ask: Ask) -> Answer:
    """The Bayes factor of one rate, or of two, under priors of every width."""
    totals, options = layout.totals, dict(ask.options)
    hits, n = totals.numerator.sum(axis=0).tolist(), totals.denominator.sum(axis=0).tolist()
    if len(layout.weights) == 1:
        options.setdefault("null", 0.5)
        curve = bayes_factor_sensitivity(hits[0], n[0], alternative=ask.alternative, **options)
        seen = hits[0] / n[0] if n[0] else None
    elif layout.is_difference:
        curve = bayes_factor_sensitivity(tuple(hits), tuple(n), alternative=ask.alternative,
                                         **options)  # fmt: skip
        seen = _gap(totals)
    else:
        raise InputError("what", "one rate, or first minus second", "a contrast of more terms")
    low, high = np.exp(np.clip([curve.log_bf10.min(), curve.log_bf10.max()], -700.0, 700.0))
    line = (f"Bayes factor {low:.4g} to {high:.4g} for {curve.alternative}, against {curve.null}, "
            f"by the width of the prior (worth {curve.concentration[0]:g} to "
            f"{curve.concentration[-1]:g} trials)")  # fmt: skip
    return Answer(
        seen, clusters=layout.clusters, computation=curve.computation, guarantee=curve.guarantee,
        notes=(Note("bayes-factor", line), *(Note.of(x) for x in curve.notes)),
        extra={"interval": "", "concentration": curve.concentration.tolist(),
               "log_bf10": curve.log_bf10.tolist()},
    )  # fmt: skip


METHODS = (
    Method(
        "beta-binomial", "bayes",
        "One rate of independent trials, with a Beta prior that is stated.",
        "Repeated trials of one task: the interval is too narrow (use a hierarchical one).",
        "closed-form", "bayesian", "Gelman et al. 2013, section 2.4",
        answer=_beta_binomial, many=studies_of(beta_rates), options=("prior",),
        verb="score --method",
    ),
    Method(
        "beta-difference", "bayes",
        "The difference of two independent rates: zones, which is larger, intervals.",
        "Pairs, or repeated trials of one task.",
        "quadrature", "bayesian", "Pham-Gia, Turkkan & Eng 1993",
        answer=_beta_difference, terms=2, options=("prior_first", "prior_second"),
    ),
    Method(
        "bayes-factor-rate", "bayes",
        "One rate against one value, with a prior under the alternative that is stated.",
        "Wide priors, which favour the null however large the rate (see the sensitivity).",
        "closed-form", "bayesian", "Kass & Raftery 1995",
        answer=_factor_of_rate, options=("null", "prior", "alternative"), verb="score --method",
    ),
    Method(
        "bayes-factor-difference", "bayes",
        "Two independent rates: one rate for both against two.",
        "Pairs, or repeated trials of one task.",
        "closed-form", "bayesian", "Gunel & Dickey 1974",
        answer=_factor_of_difference, terms=2, options=("prior", "prior_common", "alternative"),
    ),
    Method(
        "bayes-factor-sensitivity", "bayes",
        "How a Bayes factor moves with the width of its prior: print it beside every factor.",
        "It is no licence to choose the width after seeing the data.",
        "closed-form", "bayesian", "Sinharay & Stern 2002",
        answer=_sensitivity, terms=0, options=("null", "centre", "concentrations", "alternative"),
    ),
    Method(
        "hierarchical-beta", "bayes",
        "Rates of clusters and of their population, and the ICC, few clusters included.",
        "Few clusters, above all near 0 or 1: the prior on the ICC decides (another is beside it).",
        "quadrature", "bayesian", "Gelman et al. 2013, section 5.3",
        answer=_hierarchical_of(hierarchical_beta),
        options=("prior", "icc_prior", "other_icc_prior"), verb="score --method",
    ),
    Method(
        "hierarchical-logit", "bayes",
        "As hierarchical-beta, with normal logits of clusters.",
        "As hierarchical-beta; it takes seconds.",
        "quadrature", "bayesian", "Agresti & Hitchcock 2005",
        answer=_hierarchical_of(hierarchical_logit),
        options=("prior", "sd_scale", "other_sd_scale"), verb="score --method",
    ),
    Method(
        "hierarchical-slope", "bayes",
        "A paired contrast whose effect differs by cluster: its average and its spread.",
        "Few clusters: the priors on both spreads matter (said).",
        "quadrature", "bayesian", "Gelman et al. 2013, chapter 15",
        answer=_slope, terms=2,
        options=("prior", "sd_scale", "contrast_sd", "slope_scale", "other_slope_scale"),
    ),
)  # fmt: skip
