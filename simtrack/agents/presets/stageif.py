"""Stage agents at the published operating points of StageIF, and what had to be assumed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.heterogeneity import logit_mean
from simtrack.agents.presets.cited import About, block
from simtrack.agents.stage.agent import StageAgent
from simtrack.agents.stage.effects import ClusterEffect
from simtrack.agents.stage.tables import POSITIONS, chain_nodes
from simtrack.errors import InputError
from simtrack.taxonomy import STAGES
from simtrack.validate import real

__all__ = [
    "BUNDLE",
    "DELTA",
    "FALSE_ALARM",
    "FIVE_ARM",
    "METRICS",
    "STAGE_PRESETS",
    "THETA",
    "TRANSPORT_LOST",
    "WRONG_VALUE_POINTS",
    "gap_spread",
    "spread_from_interval",
    "stage_about",
    "stage_assumptions",
    "stage_preset",
]


Four = tuple[float, float, float, float]
_FOUND: Final = block("stageif")
#: Adherence at wait, ready, step, done (NEEDS_INFO, READY, POST_OBS, COMPLETED), in percent.
THETA: Final[Mapping[str, Four]] = _FOUND.rows("theta")
#: Stage gap and its 95 % interval, in points.
DELTA: Final[Mapping[str, tuple[float, float, float]]] = _FOUND.rows("delta")
#: theta_int, theta_term, phi_int, phi_term, emission_int, in percent.
METRICS: Final[Mapping[str, tuple[float, float, float, float, float]]] = _FOUND.rows("metrics")
#: pre_tool, post_confirmation, mid_chain, post_done, in percent.
FALSE_ALARM: Final[Mapping[str, Four]] = _FOUND.rows("false_alarm")
#: Wrong values in points of all rows, at POST_OBS, over deployments.
WRONG_VALUE_POINTS: Final[float] = _FOUND.rows("wrong_value_points")["POST_OBS"]
#: Transport failures of planned.
TRANSPORT_LOST: Final[tuple[int, int]] = _FOUND.rows("transport_lost")["all"]
#: Omission, divergence, malformed, clean at READY and POST_OBS together, in percent.
FIVE_ARM: Final[Mapping[str, Four]] = _FOUND.rows("five_arm")
#: Emission and false completion at POST_OBS, in percent.
BUNDLE: Final[Mapping[str, tuple[float, float]]] = _FOUND.rows("bundle")
_CONFUSION: Final[Mapping[str, Mapping[str, float]]] = _FOUND.rows("confusion")
_WRONG_ELSEWHERE: Final[float] = _FOUND.rows("wrong_elsewhere")["all"]
_CLUSTERS: Final[int] = _FOUND.rows("design")["clusters"]
_TRIALS: Final[int] = _FOUND.rows("design")["records"]

#: Deployments of the main study, and two contrasts that are published over deployments only.
STAGE_PRESETS = (*THETA, "reminder", "withdraw-and-delegate")

_Z = 1.959963984540054
_LARGEST_SPREAD = 8.0


def stage_preset(
    name: str, *, spread: float | Literal["published", "none"] = "published"
) -> StageAgent:
    """Which stage agent reproduces a deployment's published numbers?

    Parameters
    ----------
    name : one of `STAGE_PRESETS`
        A deployment (baseline arm; designs with `stage`, `position` or `checkpoint`), "reminder"
        (arms baseline and reminder at READY and POST_OBS) or "withdraw-and-delegate" (arms
        control and bundle at POST_OBS), the last two over deployments and without cluster effects.
    spread : "published", "none" or float
        SD on the logit of adherence, of level and of a slope on COMPLETED alike: by default the
        one that gives the published interval of the stage gap its width; or this one.

    Notes
    -----
    `stage_assumptions(name)` says which numbers went in, from where, and what is assumed.

    Examples
    --------
    >>> from simtrack.design import Design
    >>> from simtrack.estimands import estimand
    >>> agent = stage_preset("glm-5.1")
    >>> round(100 * agent.expectation(estimand("stage_gap"), Design(12, 40, {"stage": STAGES})), 1)
    -34.5
    """
    if name not in STAGE_PRESETS:
        raise InputError("preset", f"one of {', '.join(STAGE_PRESETS)}", repr(name))
    if name == "reminder":
        return _reminder()
    if name == "withdraw-and-delegate":
        return _bundle()
    if spread == "published":
        sd = spread_from_interval(THETA[name], DELTA[name][1:])
    else:
        sd = 0.0 if spread == "none" else real("spread", spread, 0.0, _LARGEST_SPREAD)
    return _deployment(name, sd)


def stage_assumptions(name: str) -> tuple[str, ...]:
    """What went into a preset, from which published table, and what is assumed?"""
    if name not in STAGE_PRESETS:
        raise InputError("preset", f"one of {', '.join(STAGE_PRESETS)}", repr(name))
    return stage_about(name).lines()


def stage_about(name: str) -> About:
    """Give the same as inputs and assumptions."""
    return _FOUND.about.get(name, _FOUND.about["deployment"])


@lru_cache(maxsize=64)
def spread_from_interval(
    theta_percent: tuple[float, ...], interval_points: tuple[float, float]
) -> float:
    """Which SD of level and slope gives the stage gap's bootstrap interval its width?

    The interval is read as ±1.96 bootstrap standard errors, (G - 1) / G² times the variance of a
    cluster's gap, G = 12 with 40 records a cell: between clusters by quadrature, within as
    binomial.

    Parameters
    ----------
    theta_percent : tuple of float
        Adherence at the four stages.
    interval_points : (low, high)
        Its ends, in points.

    Returns
    -------
    float
        On the logit scale; 0 where chance alone makes the interval wider.
    """
    low, high = interval_points
    error = (high - low) / 100.0 / (2.0 * _Z)
    shares = tuple(t / 100.0 for t in theta_percent)
    below, above = 0.0, _LARGEST_SPREAD
    if gap_spread(shares, above) < error:
        rule = f"one that a spread of at most {_LARGEST_SPREAD:g} gives"
        raise InputError("interval", rule, interval_points)
    while above - below > 1e-6:
        middle = 0.5 * (below + above)
        if gap_spread(shares, middle) < error:
            below = middle
        else:
            above = middle
    return round(0.5 * (below + above), 6)


def gap_spread(theta: tuple[float, ...], sd: float) -> float:
    """What is the bootstrap standard error of the stage gap over 12 clusters, on average?

    Parameters
    ----------
    theta : tuple of float
        Adherence at the four stages, shares.
    sd : float
        Of level and of the slope on COMPLETED, on the logit scale.
    """
    z = np.arange(-24, 25) * 0.25
    weight = np.exp(-0.5 * z * z)
    weight /= weight.sum()
    u, v = z[:, None], z[None, :]
    both = weight[:, None] * weight[None, :]
    stages = [_share(t, sd, sd * u + 0.0 * v) for t in theta[:-1]]
    last = _share(theta[-1], math.sqrt(2.0) * sd, sd * u + sd * v)
    gap = sum(stages) / len(stages) - last
    mean = float((both * gap).sum())
    between = float((both * (gap - mean) ** 2).sum())
    within = sum(float((both * p * (1.0 - p)).sum()) for p in stages) / len(stages) ** 2
    within += float((both * last * (1.0 - last)).sum())
    total = between + within / _TRIALS
    return math.sqrt(total * (_CLUSTERS - 1)) / _CLUSTERS


def _share(rate: float, sd: float, deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    if rate in (0.0, 1.0):
        return np.full(deviation.shape, rate)
    shares: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-(logit_mean(rate, sd) + deviation)))
    return shares


def _deployment(name: str, sd: float) -> StageAgent:
    acted, said = _failures(name)
    wrong_here = _wrong_share()
    nodes: dict[str, dict[str, float]] = {
        n: {} for n in ("speaks", "emits", "well_formed", "right")
    }
    for stage, percent in zip(STAGES[:-1], THETA[name][:-1], strict=True):
        wrong = wrong_here if stage == "POST_OBS" else _WRONG_ELSEWHERE
        rest = 1.0 - percent / 100.0
        shares = (rest * acted, rest * (1.0 - acted - said), rest * said * (1.0 - wrong))
        _chain(nodes, stage, shares, percent / 100.0)
    theta_term, phi_term = METRICS[name][1], METRICS[name][3]
    done = THETA[name][-1] / 100.0
    lost = 1.0 - theta_term / phi_term
    _chain(nodes, "COMPLETED", (lost, 0.0, max(0.0, 1.0 - done - lost)), done)
    alarms = {p: a / 100.0 for p, a in zip(POSITIONS, FALSE_ALARM[name], strict=True)}
    effect = ClusterEffect("adherence", sd=sd, slope_sd=sd, slope_on=("stage", "COMPLETED"))
    return StageAgent(
        **nodes,  # type: ignore[arg-type]
        false_alarm=alarms,
        transport=TRANSPORT_LOST[0] / TRANSPORT_LOST[1],
        confusion=_CONFUSION,
        effects=[effect] if sd > 0.0 else [],
    )


def _failures(name: str) -> tuple[float, float]:
    """Among failures before completion: the shares that act instead, and that report all the same.

    Speech is θ/φ, so 1 - θ/φ act; emission less adherence is what is reported and not clean.
    """
    theta, _, phi, _, emission = (m / 100.0 for m in METRICS[name])
    return (1.0 - theta / phi) / (1.0 - theta), (emission - theta) / (1.0 - theta)


def _wrong_share() -> float:
    """The share of wrong values among unclean reports at POST_OBS that gives SI115's mean."""
    unclean = [(1.0 - THETA[name][2] / 100.0) * _failures(name)[1] for name in THETA]
    return WRONG_VALUE_POINTS / 100.0 * len(unclean) / sum(unclean)


def _chain(
    nodes: dict[str, dict[str, float]], place: str, lost: tuple[float, float, float], clean: float
) -> None:
    """Write the nodes of a place from its shares of divergence, omission, malformed and CLEAN."""
    for node, rate in chain_nodes(lost, clean).items():
        nodes[node][place] = rate


def _reminder() -> StageAgent:
    nodes: dict[str, dict[str, float]] = {
        n: {} for n in ("speaks", "emits", "well_formed", "right")
    }
    for arm, (missed, acted, ill, clean) in FIVE_ARM.items():
        shares = (acted / 100.0, missed / 100.0, ill / 100.0)
        _chain(nodes, f"arm={arm}", shares, clean / 100.0)
    return StageAgent(**nodes, confusion=_CONFUSION)  # type: ignore[arg-type]


def _bundle() -> StageAgent:
    emits = {f"arm={arm}": emitted / 100.0 for arm, (emitted, _) in BUNDLE.items()}
    right = {f"arm={arm}": 1.0 - early / emitted for arm, (emitted, early) in BUNDLE.items()}
    return StageAgent(emits=emits, right=right, confusion={"POST_OBS": {"COMPLETED": 1.0}})
