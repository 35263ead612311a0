"""Trajectory agents at the published operating points of StageIF on τ²-bench telecom."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from simtrack.agents.trajectory.agent import TrajectoryAgent
from simtrack.agents.trajectory.laws import all_alike, count_law
from simtrack.errors import InputError

__all__ = [
    "TRAJECTORY_PRESETS",
    "spread_from_alike",
    "trajectory_assumptions",
    "trajectory_preset",
]

#: stageif/table6_counts.csv: correct and total before acting, in five mid-task bins, at completion.
TABLE6: dict[str, tuple[tuple[int, int], ...]] = {
    "claude-sonnet-5": ((410, 516), (54, 177), (21, 123), (15, 139), (19, 122), (9, 175),
                        (190, 226)),
    "gpt-4.1": ((393, 434), (25, 202), (3, 136), (5, 114), (2, 123), (8, 170), (32, 36)),
    "gpt-5.5": ((469, 472), (34, 157), (10, 111), (8, 105), (9, 92), (12, 165), (96, 110)),
    "grok-4.6": ((271, 281), (101, 181), (45, 99), (55, 100), (52, 96), (84, 145), (130, 140)),
    "gemini-3.8-flash": ((219, 222), (121, 180), (91, 117), (86, 114), (90, 118), (133, 171),
                         (60, 94)),
    "gpt-5.6-sol": ((234, 245), (79, 160), (39, 109), (33, 107), (45, 103), (73, 155), (52, 77)),
    "gpt-6-astra": ((229, 230), (173, 173), (108, 108), (120, 120), (132, 132), (187, 187),
                    (65, 135)),
}  # fmt: skip
#: stageif/text_claims.csv SI050-SI052, SI054: dialogues of two or more mid-task reports with every
#: one wrong, and how many such dialogues there are.
ALL_WRONG: dict[str, tuple[float, int]] = {
    "gpt-4.1": (73 / 109, 109),
    "gpt-5.5": (64 / 95, 95),
    "claude-sonnet-5": (43 / 98, 98),
}
#: stageif/text_claims.csv SI053: with every one right. No logit-normal law gives its 18 % all wrong
#: (SI054) as well: 5 % are predicted.
ALL_RIGHT = {"gemini-3.8-flash": 0.41}
#: stageif/text_claims.csv SI036, SI037: replies in a JSON envelope.
ENVELOPE = {"gpt-5.6-sol": 332 / 958, "gpt-6-astra": 1.0}
#: stageif/text_claims.csv SI035; elsewhere the middle of 82-90 % (SI015, SI016).
STALE = {"gemini-3.8-flash": 0.78}
_STALE_ELSEWHERE = 0.86
#: stageif/text_claims.csv SI077, SI078: 94.0-99.6 % of mid-task errors are well formed and wrong.
_OMITTED = 0.032
_TASKS = 114
_SPREAD_ELSEWHERE = 1.5
_DIALOGUES_ELSEWHERE = 105

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
    spread = _SPREAD_ELSEWHERE
    if name in ALL_WRONG:
        spread = spread_from_alike(law, mid, ALL_WRONG[name][0], "wrong")
    elif name in ALL_RIGHT:
        spread = spread_from_alike(law, mid, ALL_RIGHT[name], "right")
    return TrajectoryAgent(
        before[0] / before[1],
        mid,
        completed[0] / completed[1],
        trajectory_sd=spread,
        before_law=count_law(before[1] / _TASKS),
        mid_law=law,
        completed_law=count_law(completed[1] / _TASKS),
        stale=STALE.get(name, _STALE_ELSEWHERE),
        omitted=_OMITTED,
        envelope=ENVELOPE.get(name, 0.0),
    )


def trajectory_assumptions(name: str) -> tuple[str, ...]:
    """What went into a preset, from which published table, and what is assumed?"""
    if name not in TRAJECTORY_PRESETS:
        raise InputError("preset", f"one of {', '.join(TRAJECTORY_PRESETS)}", repr(name))
    spread = (
        f"assumed: an SD over dialogues of {_SPREAD_ELSEWHERE:g}: no share of dialogues with every "
        "report wrong is printed"
    )
    if name in ALL_WRONG:
        spread = (
            "input: share of dialogues with every mid-task report wrong gives the SD over "
            "dialogues (stageif/text_claims.csv SI050-SI052); every one right is a check"
        )
    if name in ALL_RIGHT:
        spread = (
            "input: share of dialogues with every mid-task report right gives the SD over "
            "dialogues (stageif/text_claims.csv SI053); the 18 % all wrong (SI054) are then "
            "predicted as 5 %: some dialogues are lost as a whole, which no logit-normal law gives"
        )
    return (
        "input: accuracy before acting, by mid-task bin and at completion, and their numbers of "
        "checkpoints over 114 tasks (stageif/table6_counts.csv)",
        spread,
        "input: envelopes (stageif/text_claims.csv SI036, SI037), stale share (SI015-SI018, SI035)",
        "assumed: Poisson numbers before acting and at completion; mid-task, two plus a geometric "
        "number, or none or one; bins' denominators are then a check",
        "assumed: 3.2 % of failures carry no report (the middle of SI077-SI078), none is malformed",
        "assumed: tasks differ by chance and by dialogue only",
    )


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
    several = ALL_WRONG[name][1] if name in ALL_WRONG else _DIALOGUES_ELSEWHERE
    long = count_law(reports / several, size=1.0, least=2)
    share = several / _TASKS
    rest = 0.5 * (1.0 - share)
    return (rest, rest, *(share * p for p in long[2:]))
