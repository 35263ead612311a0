"""Statements that hold at many looks, by name: the sequences that `monitor` can be asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simtrack.answer import Answer
from simtrack.errors import InputError
from simtrack.inference.sequential.betting import betting_sequence, looks_at
from simtrack.inference.sequential.confidence_sequence import (
    ConfidenceSequence,
    bernoulli_interval,
    bernoulli_sequence,
    e_process,
    held_at_once,
)
from simtrack.inference.sequential.sequence import ordered_sequence
from simtrack.inference.sequential.uniform_bounds import normal_mixture_bound, stitched_bound
from simtrack.method import Ask, Layout, Method
from simtrack.note import Note
from simtrack.validate import real

__all__ = ["METHODS", "SEQUENCES"]

Floats = NDArray[np.float64]
#: Number of steps at which a bound is meant to be narrow, if nobody says.
_TUNED_AT: Final = 100.0
#: An end of the tuned sequence costs as much as this many of the others.
_DEAR: Final = 512
_INVERTED: Final = (
    "a bound on a sum of terms in [-g, h]: inverted for a rate it is confidence-sequence-tuned"
)


def _bernoulli(steps: Floats, low: float, high: float, alpha: float) -> ConfidenceSequence:
    return bernoulli_sequence(_rates(steps, low, "confidence-sequence"), alpha=alpha)


def _tuned(
    steps: Floats, low: float, high: float, alpha: float, tuned_at: float = _TUNED_AT
) -> ConfidenceSequence:
    """Invert, look by look, the mixture that is tuned around every rate."""
    x = ordered_sequence("outcomes", _rates(steps, low, "confidence-sequence-tuned"), binary=True)
    at = looks_at(x.size, _DEAR)
    hits = np.cumsum(x)[at - 1]
    ends = [
        bernoulli_interval(int(s), int(n), alpha=alpha, tuned_at=tuned_at)
        for s, n in zip(hits.tolist(), at.tolist(), strict=True)
    ]
    least, most = np.array(ends).reshape(-1, 2).T
    return held_at_once(at, least, most, hits / at, alpha, True)


def _betting(steps: Floats, low: float, high: float, alpha: float) -> ConfidenceSequence:
    return betting_sequence(steps, low=low, high=high, alpha=alpha)


def _by_bound(
    bound: Callable[[float, float, float], float],
) -> Callable[..., ConfidenceSequence]:
    """Give the sequence of the mean of bounded scores from a bound on their centred sum.

    Scores of width w are sub-Gaussian with variance w²/4 (Hoeffding 1963), so that n of them have
    the intrinsic time n/4 in units of w.
    """

    def sequence(
        steps: Floats, low: float, high: float, alpha: float, tuned_at: float = _TUNED_AT
    ) -> ConfidenceSequence:
        x = ordered_sequence("scores", steps, low=low, high=high)
        tuned = real("tuned_at", tuned_at, 1.0)
        at = looks_at(x.size, 2)
        mean = np.cumsum(x)[at - 1] / at
        far = np.array([bound(n / 4.0, alpha, tuned / 4.0) / n for n in at.tolist()])
        half = (high - low) * far
        least, most = np.maximum(mean - half, low), np.minimum(mean + half, high)
        return held_at_once(at, least, most, mean, alpha, True)

    return sequence


def _stitched(v: float, alpha: float, v_min: float) -> float:
    return stitched_bound(v, alpha / 2.0, v_min)


def _rates(steps: Floats, low: float, name: str) -> Floats:
    if low != 0.0 or not np.isin(steps, (0.0, 1.0)).all():
        cure = "Use betting-sequence."
        raise InputError("steps", f"single trials of 0 or 1 for {name}", "others", cure=cure)
    return steps


#: (steps in order, least, most, alpha, tuned_at= where the method takes it) to the sequence.
SEQUENCES: Final[dict[str, Callable[..., ConfidenceSequence]]] = {
    "confidence-sequence": _bernoulli,
    "confidence-sequence-tuned": _tuned,
    "betting-sequence": _betting,
    "normal-mixture-bound": _by_bound(normal_mixture_bound),
    "stitched-bound": _by_bound(_stitched),
}


def _last_look_of(name: str) -> Callable[[Layout, Ask], Answer]:
    """Give what a sequence says at its last look, its steps being the clusters in their order."""

    def answer(layout: Layout, ask: Ask) -> Answer:
        steps = _steps(layout)
        found = SEQUENCES[name](steps, 0.0, 1.0, ask.alpha, **ask.options)
        if not len(found):
            return Answer(None, refused="no step")
        return Answer(
            float(found.mean[-1]), float(found.low[-1]), float(found.high[-1]), n=steps.size,
            clusters=steps.size, computation=found.computation, guarantee=found.guarantee,
            notes=tuple(Note.of(line) for line in found.notes),
            extra={"interval": f"{name}, at all looks"},
        )  # fmt: skip

    return answer


def _e_process(layout: Layout, ask: Ask) -> Answer:
    steps = _steps(layout)
    found = e_process(steps, ask.options.get("null", 0.5), alternative=ask.alternative)
    last = float(found.log_e[-1])
    return Answer(
        float(steps.mean()), pvalue=float(found.pvalue[-1]), n=steps.size, clusters=steps.size,
        computation=found.computation, guarantee=found.guarantee,
        extra={"log_e": last, "e": math.exp(last) if last < 709.0 else "inf"},
    )  # fmt: skip


def _steps(layout: Layout) -> Floats:
    here = layout.totals.denominator[:, 0] > 0
    found: Floats = layout.totals.numerator[here, 0] / layout.totals.denominator[here, 0]
    return found


METHODS = (
    Method(
        "confidence-sequence", "sequential",
        "A rate of trials that come one by one, looked at whenever one likes.",
        "Trials of one cluster in a row, or a rate that drifts; without order it is refused.",
        "closed-form", "finite-sample", "Robbins 1970; Howard et al. 2021",
        answer=_last_look_of("confidence-sequence"), verb="monitor --method",
    ),
    Method(
        "confidence-sequence-tuned", "sequential",
        "As confidence-sequence, narrowest at a number of trials that is named in advance.",
        "Far from that number: confidence-sequence is narrower.",
        "closed-form", "finite-sample", "Howard et al. 2021, section 4.1",
        answer=_last_look_of("confidence-sequence-tuned"), verb="monitor --method",
        options=("tuned_at",),
    ),
    Method(
        "e-process", "sequential",
        "Evidence against one rate, at any look; e-values of independent studies multiply.",
        "As confidence-sequence; it needs more trials than a test at one planned look.",
        "closed-form", "finite-sample", "Ville 1939; Grünwald, de Heide & Koolen 2024",
        answer=_e_process, has_pvalue=True, options=("null",), verb="monitor --null",
    ),
    Method(
        "betting-sequence", "sequential",
        "The mean of scores in known bounds, cluster means and paired differences among them.",
        "Bounds taken from the scores themselves; steps of different means.",
        "closed-form", "finite-sample", "Waudby-Smith & Ramdas 2024, section 4",
        answer=_last_look_of("betting-sequence"), verb="monitor --method",
    ),
    Method(
        "normal-mixture-bound", "sequential",
        "A sum of centred sub-Gaussian terms; scores in [0, 1] with v = n/4.",
        "Rates near 0 or 1: betting-sequence is much narrower.",
        "closed-form", "finite-sample", "Howard et al. 2021, Propositions 5 and 6",
        answer=_last_look_of("normal-mixture-bound"), verb="monitor --method",
        options=("tuned_at",),
    ),
    Method(
        "beta-binomial-bound", "sequential",
        "A sum of centred terms in [-g, h].",
        "Terms out of these bounds.",
        "closed-form", "finite-sample", "Howard et al. 2021, Proposition 7",
        unasked=_INVERTED,
    ),
    Method(
        "stitched-bound", "sequential",
        "A sum of centred sub-gamma terms over very long times: it grows with log log v.",
        "Short studies: the mixtures are narrower.",
        "closed-form", "finite-sample", "Howard et al. 2021, Theorem 1",
        answer=_last_look_of("stitched-bound"), verb="monitor --method", options=("tuned_at",),
    ),
    Method(
        "group-sequential", "sequential",
        "A few looks planned in advance, at known shares of the clusters.",
        "Looks that were not planned; few clusters (use exact tests at the nominal levels).",
        "quadrature", "asymptotic", "Jennison & Turnbull 2000, chapters 2, 7 and 19",
        verb="monitor --planned",
    ),
    Method(
        "repeated-looks", "multiplicity",
        "The true error of any rule that looks again and again at one stream of passes.",
        "Streams in clusters; rules that look at more than the number of passes.",
        "enumeration", "finite-sample", "Armitage, McPherson & Rowe 1969",
        unasked="it is about a rule before there are data: simtrack.inference.repeated_looks",
    ),
)  # fmt: skip
