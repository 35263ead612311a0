"""How well does a probe of the revoked clause tell slices that will relapse from the others?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.categories import look_up
from simtrack.agents.relapse.agent import RelapseAgent
from simtrack.agents.relapse.laws import SLICES, propensities
from simtrack.errors import InputError
from simtrack.options import Computation, Guarantee, choice
from simtrack.plain import Plain
from simtrack.probe import StoppingRule
from simtrack.probe.paths import stopping_states
from simtrack.validate import integer

__all__ = ["LabelRule", "ProbeDiscrimination", "probe_discrimination"]

Floats = NDArray[np.float64]
#: When a slice counts as relapsed, over its repetitions.
LabelRule = Literal["any", "majority", "all"]


@dataclass(frozen=True, slots=True)
class ProbeDiscrimination(Plain, schema="simtrack.probe-discrimination/1"):
    """How often has a slice that relapses a higher probe signal than one that does not?

    Attributes
    ----------
    auroc : float or None
        Ties half; None where no slice relapses, or all do.
    ceiling : float or None
        The same for a probe that knows the propensity.
    prevalence : float
        Share of slices that count as relapsed.
    mean_rounds : float
        Mean rounds of the probe.
    """

    auroc: float | None
    ceiling: float | None
    prevalence: float
    mean_rounds: float
    label: LabelRule
    repetitions: int
    computation: Computation = "enumeration"
    guarantee: Guarantee = "finite-sample"


def probe_discrimination(
    agent: RelapseAgent,
    cell: dict[str, str],
    probe: int | StoppingRule,
    *,
    label: LabelRule = "any",
    repetitions: int = 1,
) -> ProbeDiscrimination:
    """How well does the probe's signal predict relapse, given the law of propensities? Exactly.

    Given its slice's propensity p, a full-specification draw shows the revoked behaviour with
    chance p, an ablated one never; the signal is the share of full draws that do. Probe and
    episodes are independent given p.

    Parameters
    ----------
    cell : mapping
        The labels of the episodes (load, arm, …).
    probe : int or StoppingRule
        A fixed number of rounds, or a rule that stops.
    label, repetitions : LabelRule, int
        A slice counts as relapsed if any, most (more than half) or all of so many episodes do.

    Examples
    --------
    >>> found = probe_discrimination(RelapseAgent(0.25, icc=0.2), {}, 10)
    >>> round(found.auroc, 3), round(found.ceiling, 3)
    (0.739, 0.786)
    """
    n = integer("repetitions", repetitions, 1)
    choice("label", label, LabelRule)
    rate = look_up("rate", agent.rate, cell)
    kinds = propensities(rate, agent.icc)
    p = agent.ending(cell, kinds)[1]
    relapsed = _chance(p, n, label)
    value, law, rounds = _signal(kinds, probe)
    positive = np.einsum("ks,k->s", law, relapsed) / SLICES
    negative = np.einsum("ks,k->s", law, 1.0 - relapsed) / SLICES
    return ProbeDiscrimination(
        _area(value, positive, negative),
        _area(p, relapsed / SLICES, (1.0 - relapsed) / SLICES),
        float(relapsed.mean()),
        rounds,
        label,
        n,
    )


def _chance(p: Floats, n: int, label: LabelRule) -> Floats:
    """P(the slice counts as relapsed | its propensity)."""
    least = {"any": 1, "majority": n // 2 + 1, "all": n}[label]
    parts = [math.comb(n, k) * p**k * (1.0 - p) ** (n - k) for k in range(least, n + 1)]
    return np.asarray(sum(parts, np.zeros_like(p)))


def _signal(kinds: Floats, probe: int | StoppingRule) -> tuple[Floats, Floats, float]:
    """The values of the signal, P(value | kind) and the mean rounds."""
    if isinstance(probe, StoppingRule):
        states = stopping_states(probe)
        keep = states.j == 0  # the ablated form never shows the behaviour
        k, i, paths = states.k[keep], states.i[keep], states.paths[keep]
        p = kinds[:, None]
        law = paths * p**i * (1.0 - p) ** (k - i)
        return i / k, law, float(np.einsum("ks,s->", law, k) / SLICES)
    if isinstance(probe, bool) or not isinstance(probe, int):
        raise InputError("probe", "a number of rounds or a StoppingRule", repr(probe))
    n = integer("probe", probe, 1, 1000)
    i = np.arange(n + 1)
    ways = np.array([math.comb(n, int(m)) for m in i], dtype=np.float64)
    law = ways * kinds[:, None] ** i * (1.0 - kinds[:, None]) ** (n - i)
    return i / n, law, float(n)


def _area(value: Floats, positive: Floats, negative: Floats) -> float | None:
    """P(positive above negative) + P(tie) / 2, from two discrete measures."""
    if positive.sum() <= 0.0 or negative.sum() <= 0.0:
        return None
    levels, which = np.unique(value, return_inverse=True)
    up = np.bincount(which.ravel(), positive, levels.size)
    down = np.bincount(which.ravel(), negative, levels.size)
    below = np.cumsum(down) - down
    return float((up * (below + 0.5 * down)).sum() / (up.sum() * down.sum()))
