"""Trajectory agents at the published operating points of StageIF on τ²-bench telecom."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal

from simtrack.agents.presets.cited import About, block
from simtrack.agents.trajectory.agent import TrajectoryAgent
from simtrack.agents.trajectory.laws import all_alike, count_law
from simtrack.errors import InputError

__all__ = [
    "TRAJECTORY_PRESETS",
    "spread_from_alike",
    "trajectory_about",
    "trajectory_assumptions",
    "trajectory_preset",
]

_FOUND: Final = block("tau2")
#: Correct and total before acting, in five mid-task bins, at completion.
TABLE6: Final[Mapping[str, tuple[tuple[int, int], ...]]] = _FOUND.rows("correct")
#: Share of dialogues of two or more mid-task reports with every one wrong, and how many such
#: dialogues there are.
ALL_WRONG: Final[dict[str, tuple[float, int]]] = {
    name: (wrong / n, n) for name, (wrong, n) in _FOUND.rows("all_wrong").items()
}
#: Share of them with every report right.
ALL_RIGHT: Final[Mapping[str, float]] = _FOUND.rows("all_right")
_TASKS: Final[int] = _FOUND.rows("tasks")["all"]

TRAJECTORY_PRESETS = tuple(TABLE6)


def trajectory_preset(name: str) -> TrajectoryAgent:
    """Which trajectory agent reproduces a deployment's published numbers on τ²-bench?

    Parameters
    ----------
    name : one of `TRAJECTORY_PRESETS`
        For gpt-5.6-sol and gpt-6-astra accuracies are those of the stripped reading, and the
        envelope makes the strict one.

    Examples
    --------
    >>> round(trajectory_preset("gpt-4.1").completed, 4)
    0.8889
    """
    if name not in TRAJECTORY_PRESETS:
        raise InputError("preset", f"one of {', '.join(TRAJECTORY_PRESETS)}", repr(name))
    before, *bins, completed = TABLE6[name]
    mid = tuple(k / n for k, n in bins)
    law = _mid_law(name)
    spread = _FOUND.rows("elsewhere")["spread"]
    if name in ALL_WRONG:
        spread = spread_from_alike(law, mid, ALL_WRONG[name][0], "wrong")
    elif name in ALL_RIGHT:
        spread = spread_from_alike(law, mid, ALL_RIGHT[name], "right")
    stale = _FOUND.rows("stale")
    wrapped, replies = _FOUND.rows("envelope").get(name, (0, 1))
    return TrajectoryAgent(
        before[0] / before[1],
        mid,
        completed[0] / completed[1],
        trajectory_sd=spread,
        before_law=count_law(before[1] / _TASKS),
        mid_law=law,
        completed_law=count_law(completed[1] / _TASKS),
        stale=stale.get(name, stale["elsewhere"]),
        omitted=_FOUND.rows("omitted")["all"],
        envelope=wrapped / replies,
    )


def trajectory_assumptions(name: str) -> tuple[str, ...]:
    """What went into a preset, from which published table, and what is assumed?"""
    if name not in TRAJECTORY_PRESETS:
        raise InputError("preset", f"one of {', '.join(TRAJECTORY_PRESETS)}", repr(name))
    return trajectory_about(name).lines()


def trajectory_about(name: str) -> About:
    """Give the same as inputs and assumptions."""
    known = ("wrong", ALL_WRONG), ("right", ALL_RIGHT)
    spread = next((which for which, shares in known if name in shares), "assumed")
    return _FOUND.about[f"spread_{spread}"]


@lru_cache(maxsize=64)
def spread_from_alike(
    law: tuple[float, ...], mid: tuple[float, ...], share: float, which: Literal["wrong", "right"]
) -> float:
    """Which SD over dialogues makes so many of those with two or more reports alike?

    Parameters
    ----------
    law, mid : tuple of float
        As `TrajectoryAgent` takes them.
    share : float
        Among dialogues with two or more mid-task reports, those that are all `which`.
    which : "wrong" or "right"

    Returns
    -------
    float
        0 where independent errors alone make as many dialogues all wrong (gpt-4.1: 69 % against 67
        published, so its dialogues need not differ).

    Raises
    ------
    InputError
        No SD up to 8 gives this share.
    """
    low, high = 0.0, 8.0
    least, most = (_alike(law, mid, sd, which) for sd in (low, high))
    if share <= least:
        return 0.0
    if share > most:
        raise InputError("share", f"at most {most:.3g}, which an SD of 8 gives", share)
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        if _alike(law, mid, middle, which) < share:
            low = middle
        else:
            high = middle
    return round(0.5 * (low + high), 6)


def _alike(law: tuple[float, ...], mid: tuple[float, ...], sd: float, which: str) -> float:
    wrong, right, several = all_alike(law, mid, sd, 1.0)
    return (wrong if which == "wrong" else right) / several


def _mid_law(name: str) -> tuple[float, ...]:
    """Dialogues with two or more reports by their published number; the rest have one or none."""
    reports = sum(n for _, n in TABLE6[name][1:6])
    several = ALL_WRONG[name][1] if name in ALL_WRONG else _FOUND.rows("elsewhere")["dialogues"]
    long = count_law(reports / several, size=1.0, least=2)
    share = several / _TASKS
    rest = 0.5 * (1.0 - share)
    return (rest, rest, *(share * p for p in long[2:]))
