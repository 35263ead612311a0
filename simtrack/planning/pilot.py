"""Agents fitted to the trials of a pilot or an interim, and what such trials leave unsaid."""

from __future__ import annotations

import numpy as np

from simtrack.agents import fit_clustered, fit_paired
from simtrack.agents.pilot import FittedAgent
from simtrack.analysis.named import Analysis
from simtrack.counts import Counts, Totals
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import Contrast, Estimand
from simtrack.note import Note
from simtrack.taxonomy import PLAIN

__all__ = ["fit_pilot", "pilot_cautions", "selected_levels"]

_PAIR = 2


def fit_pilot(analysis: Analysis, design: Design, counts: Counts) -> FittedAgent:
    """Which agents of one rate, or of two arms, could have made these trials?

    Parameters
    ----------
    analysis : Analysis
        Of one rate, or of the difference of the two levels of the design's one condition.
    design : Design
    counts : Counts
        The trials, by cluster and by the columns that the analysis asks for.

    Raises
    ------
    InputError
        An analysis or a design of another kind; levels in another order; too few clusters.
    """
    what = analysis.what
    terms = [what] if isinstance(what, Estimand) else [e for _, e in what.terms]
    schemes = sorted({e.taxonomy.name for e in terms} - {PLAIN.name})
    if schemes:
        cure = "Fit other agents in Python: simtrack.agents.fit_stage."
        raise InputError("pilot", "of plain passes and failures", ", ".join(schemes), cure=cure)
    totals, weights = analysis.totals(counts)
    conditions = design.conditions
    if len(weights) == 1 and not conditions:
        return fit_clustered(totals)
    if weights.tolist() == [1.0, -1.0] and [len(v) for _, v in conditions] == [_PAIR]:
        ((factor, levels),) = conditions
        if selected_levels(what, factor) != list(levels):
            raise InputError(f"conditions.{factor}", "in the order first, second of [analysis]",
                             ", ".join(levels))  # fmt: skip
        return fit_paired(totals, factor=factor)
    rule = "of one rate without conditions, or of two levels of the design's one condition"
    raise InputError("pilot", rule, what.name,
                     cure="Fit other agents in Python: simtrack.agents.fit_stage.")  # fmt: skip


def selected_levels(what: Estimand | Contrast, factor: str) -> list[str]:
    """List the level of a factor that each term of a contrast is about."""
    found: list[str] = []
    for estimand in [what] if isinstance(what, Estimand) else [e for _, e in what.terms]:
        for condition in estimand.where:
            if condition.factors == (factor,) and len(condition.levels) == 1:
                ((level,),) = condition.levels
                found.append(level)
    return found


def pilot_cautions(analysis: Analysis, counts: Counts) -> tuple[Note, ...]:
    """Say in plain sentences what trials that are all alike cannot tell: the prior tells it then.

    Examples
    --------
    >>> from simtrack.analysis import analyses
    >>> won = Counts.from_cells([[0, 2]] * 6, outcomes=("FAIL", "PASS"),
    ...                         cluster=[f"q{k // 2}" for k in range(6)],
    ...                         conditions={"arm": ["a", "b"] * 3})
    >>> print(*pilot_cautions(analyses.sign_flip("rate", "arm", "a", "b"), won))
    Every trial of the pilot passed: it shows no difference, and how large one may be, and in \
which direction, comes from the prior alone.
    """
    totals, _ = analysis.totals(counts)
    rates = _rates(totals)
    what = analysis.what
    levels = selected_levels(what, analysis.factors[0]) if len(analysis.factors) == 1 else []
    if len(rates) == 1:
        return _of_one_rate(rates[0])
    ends = ("failed", "passed")
    if len(set(rates)) == 1:
        if rates[0] in {0.0, 1.0}:
            text = (
                f"Every trial of the pilot {ends[int(rates[0])]}: it shows no difference, and how "
                "large one may be, and in which direction, comes from the prior alone."
            )
            return (Note("pilot-separated", text),)
        text = (
            f"Both arms of the pilot have the rate {rates[0]:.4g}: it shows no effect and no "
            "direction, so that power at its estimate is the size of the test."
        )
        return (Note("pilot-no-effect", text),) if len(rates) == _PAIR else ()
    terms = [e.name for _, e in what.terms] if isinstance(what, Contrast) else [what.name]
    names = levels if len(levels) == len(rates) else terms
    return tuple(
        Note("pilot-separated", f"Every trial of {name} {ends[int(rate)]}: how far from "
             f"{rate:g} its rate may be, and so how large the effect, comes from the prior.", name)
        for name, rate in zip(names, rates, strict=True) if rate in {0.0, 1.0}
    )  # fmt: skip


def _of_one_rate(rate: float) -> tuple[Note, ...]:
    if rate not in {0.0, 1.0}:
        return ()
    text = (
        f"Every trial of the pilot {'passed' if rate else 'failed'}: how far from {rate:g} the "
        "rate may be, and how much clusters differ, comes from the prior."
    )
    return (Note("pilot-separated", text),)


def _rates(totals: Totals) -> list[float]:
    """Give the pooled rate of each term; NaN without trials."""
    top, bottom = totals.numerator.sum(axis=0), totals.denominator.sum(axis=0)
    with np.errstate(invalid="ignore"):
        found: list[float] = np.asarray(top / bottom).tolist()
    return found
