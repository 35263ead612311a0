"""Published numbers of StageIF that the presets stand on, in percent, by table."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.heterogeneity import logit_mean
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
    "stage_assumptions",
    "stage_preset",
]


#: stageif/table2_theta.csv: adherence at wait, ready, step, done (NEEDS_INFO, READY, POST_OBS,
#: COMPLETED); baseline arm, both encodings, 478-480 records a cell.
THETA: dict[str, tuple[float, float, float, float]] = {
    "deepseek-v4-flash": (31.5, 18.8, 15.6, 66.2),
    "deepseek-v4-pro": (81.9, 5.8, 14.0, 75.0),
    "glm-5.1": (62.5, 4.2, 6.7, 59.0),
    "gpt-5.5": (57.7, 58.2, 34.5, 54.4),
    "qwen3.5-122b-a10b": (83.5, 0.0, 0.0, 66.2),
    "qwen3.5-35b-a3b": (21.7, 1.2, 2.9, 97.9),
    "qwen3.6-27b": (70.2, 0.8, 4.6, 54.6),
}
#: stageif/table2_delta.csv: stage gap and its 95 % scenario-cluster bootstrap interval, in points;
#: 12 clusters.
DELTA: dict[str, tuple[float, float, float]] = {
    "deepseek-v4-flash": (-44.3, -61.7, -25.5),
    "deepseek-v4-pro": (-41.1, -51.6, -29.9),
    "glm-5.1": (-34.5, -43.3, -25.6),
    "gpt-5.5": (-4.2, -11.5, 2.6),
    "qwen3.5-122b-a10b": (-38.4, -49.4, -27.9),
    "qwen3.5-35b-a3b": (-89.3, -93.8, -83.9),
    "qwen3.6-27b": (-29.4, -38.6, -21.7),
}
#: stageif/table11_metrics.csv: theta_int, theta_term, phi_int, phi_term, emission_int; all arms.
METRICS: dict[str, tuple[float, float, float, float, float]] = {
    "deepseek-v4-flash": (16.7, 64.0, 22.8, 64.0, 27.8),
    "deepseek-v4-pro": (24.1, 65.6, 32.5, 65.6, 34.5),
    "glm-5.1": (17.3, 60.1, 23.6, 60.1, 28.7),
    "gpt-5.5": (43.3, 58.4, 48.0, 58.4, 80.2),
    "qwen3.5-122b-a10b": (28.6, 61.3, 59.5, 61.3, 43.8),
    "qwen3.5-35b-a3b": (8.2, 97.4, 14.3, 97.7, 11.5),
    "qwen3.6-27b": (21.1, 54.6, 49.0, 54.6, 33.2),
}
#: stageif/table13_false_alarm.csv: pre_tool, post_confirmation, mid_chain, post_done.
FALSE_ALARM: dict[str, tuple[float, float, float, float]] = {
    "deepseek-v4-flash": (54.2, 0.0, 0.0, 100.0),
    "deepseek-v4-pro": (86.7, 0.0, 0.0, 100.0),
    "glm-5.1": (98.8, 0.0, 0.0, 90.4),
    "gpt-5.5": (100.0, 0.0, 25.2, 79.9),
    "qwen3.5-122b-a10b": (49.6, 1.2, 0.0, 100.0),
    "qwen3.5-35b-a3b": (0.0, 0.0, 0.0, 100.0),
    "qwen3.6-27b": (41.7, 0.0, 0.0, 100.0),
}
#: stageif/text_claims.csv SI115: wrong values in points of all rows, at POST_OBS, over deployments;
#: below 2 points elsewhere.
WRONG_VALUE_POINTS = 13.6
#: stageif/design.csv, mixed model rows: transport failures of 6,720 planned.
TRANSPORT_LOST = (2, 6720)
#: stageif/five_arm_mix.csv: omission, divergence, malformed, clean at READY and POST_OBS together.
FIVE_ARM: dict[str, tuple[float, float, float, float]] = {
    "baseline": (25.4, 48.1, 10.7, 11.4),
    "reminder": (16.6, 49.7, 14.4, 14.0),
}
#: stageif/text_claims.csv SI261, SI262, SI264, SI265: emission and false completion at POST_OBS.
BUNDLE: dict[str, tuple[float, float]] = {"control": (30.7, 6.2), "bundle": (75.8, 64.4)}


# Stage agents at the published operating points of StageIF, and what had to be assumed.
#: Deployments of the main study, and two contrasts that are published over deployments only.
STAGE_PRESETS = (*THETA, "reminder", "withdraw-and-delegate")

_CLUSTERS, _TRIALS = 12, 40  # a scenario's records of a stage: 20 repetitions in two encodings
_Z = 1.959963984540054
_LARGEST_SPREAD = 8.0
#: Of well-formed wrong values; stageif/text_claims.csv SI015-SI018 print 82-90 % for stages passed
#: and 10-18 % for COMPLETED, on τ²-bench.
_CONFUSION = {
    "NEEDS_INFO": {"READY": 1.0},
    "READY": {"NEEDS_INFO": 1.0},
    "POST_OBS": {"READY": 0.86, "COMPLETED": 0.14},
    "COMPLETED": {"POST_OBS": 1.0},
}
#: Wrong values among reports that are not CLEAN, away from POST_OBS: keeps them below 2 points.
_WRONG_ELSEWHERE = 0.1


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
    if name == "reminder":
        return (
            "input: outcome mix of both arms (stageif/five_arm_mix.csv); wrong values are the rest",
            "assumed: READY and POST_OBS alike; no report on a tool call; clusters do not differ",
        )
    if name == "withdraw-and-delegate":
        return (
            "input: emission and false completion (stageif/text_claims.csv SI261-SI265)",
            "assumed: no tool calls, no malformed report, every wrong value is COMPLETED; clusters "
            "do not differ",
        )
    return (
        "input: adherence by stage (stageif/table2_theta.csv)",
        "input: theta_int, phi_int, emission_int, theta_term, phi_term "
        "(stageif/table11_metrics.csv), which cover all arms: only the mix of failures is taken",
        "input: false alarms by position (stageif/table13_false_alarm.csv)",
        "input: width of the interval of the stage gap (stageif/table2_delta.csv); its centre "
        "follows from the adherences and is a check",
        "input: 13.6 points of wrong values at POST_OBS (stageif/text_claims.csv SI115), one share "
        "for all deployments; transport failures 2 of 6,720 (stageif/design.csv)",
        "assumed: the mix of failures is the same at the three stages before completion; tool "
        "calls carry no report; a report at completion that fails is malformed; wrong values "
        "elsewhere are a tenth of reports that are not clean",
        "assumed: what wrong values name (τ²-bench, stageif/text_claims.csv SI015-SI018), and that "
        "a false alarm names the stage the task is at",
        "assumed: level SD and slope SD on COMPLETED are equal: the interval's width gives one "
        "number; clusters differ in adherence, not in their mix of failures",
    )


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
