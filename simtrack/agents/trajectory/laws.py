"""Exact laws of a dialogue: how many reports, in which bin, how accurate, all wrong or right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.heterogeneity import logit_mean
from simtrack.errors import InputError
from simtrack.plain import Document
from simtrack.validate import integer, real

__all__ = [
    "BINS",
    "KINDS_OF_REPORT",
    "DialogueLaws",
    "all_alike",
    "bin_counts",
    "bin_of",
    "count_law",
    "logit_means",
]

#: Checkpoints of a dialogue, in their order.
KINDS_OF_REPORT = ("before", "mid", "completed")
_RATES = ("before", "completed", "stale", "omitted", "malformed", "envelope")
_LAWS = ("before_law", "mid_law", "completed_law")
#: Equal-width bins of a mid-task report's position between the first and the last of its dialogue.
BINS = ("q1", "q2", "q3", "q4", "q5")
_STEP, _REACH = 1 / 16, 10.0
Floats = NDArray[np.float64]


def count_law(
    mean: float, *, size: float | None = None, least: int = 0, most: int = 60
) -> tuple[float, ...]:
    """With which probability does a dialogue have 0, 1, 2, … checkpoints of a kind?

    `least` plus a Poisson number, or with `size` a negative binomial one (variance
    m + m²/size), cut at `most` and scaled to add up to 1.

    Examples
    --------
    >>> law = count_law(3.0, least=2)
    >>> law[:2], round(sum(k * p for k, p in enumerate(law)), 9)
    ((0.0, 0.0), 3.0)
    """
    low = integer("least", least, 0, 1000)
    high = integer("most", most, low, 1000)
    rest = real("mean", mean, low) - low
    log = []
    for k in range(high - low + 1):
        if size is None:
            log.append(k * math.log(rest) - math.lgamma(k + 1) if rest > 0 else -k * 1e9)
        else:
            r = real("size", size, 1e-3, 1e6)
            log.append(
                math.lgamma(k + r) - math.lgamma(k + 1) + k * math.log(rest / (rest + r))
                if rest > 0
                else -k * 1e9
            )
    weights = [math.exp(value - max(log)) for value in log]
    total = sum(weights)
    return (0.0,) * low + tuple(w / total for w in weights)


def bin_of(place: int, reports: int) -> int:
    """In which of the five bins is report `place` (from 0) of a dialogue with so many, two or more?

    Examples
    --------
    >>> [bin_of(i, 6) for i in range(6)]
    [0, 1, 2, 3, 4, 4]
    """
    return min(len(BINS) - 1, len(BINS) * place // (reports - 1))


def bin_counts(most: int) -> NDArray[np.int64]:
    """How many reports of a dialogue with n of them lie in each bin? int64, (most + 1, bins)."""
    found = np.zeros((most + 1, len(BINS)), dtype=np.int64)
    for n in range(2, most + 1):
        for place in range(n):
            found[n, bin_of(place, n)] += 1
    return found


def logit_means(rates: Sequence[float], sd: float) -> Floats:
    """Give the logit mean for each rate; ±inf stands for rates of 0 and 1, which do not vary."""
    ends = {0.0: -math.inf, 1.0: math.inf}
    return np.array([ends[r] if r in ends else logit_mean(r, sd) for r in rates])


def all_alike(
    law: Sequence[float], mid: Sequence[float], sd: float, kept: float
) -> tuple[float, float, float]:
    """How likely are all mid-task reports wrong, all right, and are there two or more at all?

    Parameters
    ----------
    law : sequence of float
        Probability of 0, 1, 2, … mid-task reports.
    mid : sequence of float
        Mean accuracy in each bin.
    sd : float
        SD over dialogues, on the logit scale.
    kept : float
        Share of right reports that the view can read.

    Returns
    -------
    wrong, right, two : float
        Probabilities over all dialogues; the first two include two or more reports.
    """
    if sum(law[2:]) == 0.0:
        raise InputError("mid_law", "with two or more reports at times", tuple(law))
    z = np.arange(-_REACH, _REACH + _STEP / 2, _STEP) if sd > 0 else np.zeros(1)
    weight = np.exp(-0.5 * z * z)
    weight /= weight.sum()
    with np.errstate(over="ignore"):
        shares = kept / (1.0 + np.exp(-(logit_means(mid, sd)[:, None] + sd * z)))
    times = bin_counts(len(law) - 1)
    wrong = right = 0.0
    for n, chance in enumerate(law):
        if n >= 2 and chance > 0.0:
            power = times[n][:, None]
            wrong += chance * float((weight * np.prod((1.0 - shares) ** power, axis=0)).sum())
            right += chance * float((weight * np.prod(shares**power, axis=0)).sum())
    return wrong, right, float(sum(law[2:]))


@dataclass(frozen=True, slots=True)
class DialogueLaws(Document, schema="simtrack.agent/1", kind="trajectory"):
    """The parameters of a `TrajectoryAgent`, which says what each means, and laws read off them."""

    before: float
    mid: tuple[float, ...]
    completed: float
    trajectory_sd: float = 0.0
    task_sd: float = 0.0
    before_law: tuple[float, ...] = count_law(4.0)
    mid_law: tuple[float, ...] = count_law(6.0)
    completed_law: tuple[float, ...] = count_law(1.0)
    stale: float = 0.86
    omitted: float = 0.0
    malformed: float = 0.0
    envelope: float = 0.0

    def __post_init__(self) -> None:
        for name in _RATES:
            object.__setattr__(self, name, real(name, getattr(self, name), 0.0, 1.0))
        for name in ("trajectory_sd", "task_sd"):
            object.__setattr__(self, name, real(name, getattr(self, name), 0.0, 8.0))
        if len(self.mid) != len(BINS):
            raise InputError("mid", f"of {len(BINS)} accuracies", len(self.mid))
        object.__setattr__(self, "mid", tuple(real("mid", m, 0.0, 1.0) for m in self.mid))
        for name in _LAWS:
            law = tuple(real(name, p, 0.0, 1.0) for p in getattr(self, name))
            if not law or abs(sum(law) - 1.0) > 1e-9:
                raise InputError(name, "probabilities that add up to 1", sum(law))
            object.__setattr__(self, name, law)
        if self.omitted + self.malformed > 1.0 + 1e-12:
            rule = "at most 1 together with malformed"
            raise InputError("omitted", rule, self.omitted + self.malformed)

    @property
    def sd(self) -> float:
        """The SD of a dialogue's mid-task accuracy, on the logit scale."""
        return math.sqrt(self.trajectory_sd**2 + self.task_sd**2)

    def law(self, kind: str) -> tuple[float, ...]:
        """Give the law of the number of checkpoints: kind before, mid or completed."""
        laws = (self.before_law, self.mid_law, self.completed_law)
        return dict(zip(KINDS_OF_REPORT, laws, strict=True))[kind]

    def wrong_values(self, kind: str) -> tuple[tuple[str, float], ...]:
        """Give what a wrong report names, with shares."""
        if kind == "mid":
            return (("READY", self.stale), ("COMPLETED", 1.0 - self.stale))
        return (("POST_OBS", 1.0),)
