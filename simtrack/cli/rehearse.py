"""What simulate, power and plan share: a TOML file, or two arms described by options."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from simtrack.errors import InputError
from simtrack.validate import open_unit

if TYPE_CHECKING:
    from simtrack.planning import Goal
    from simtrack.runs.rehearsal import Rehearsal

__all__ = ["described", "goal_of", "progress_line", "rehearsal_of"]

_QUICK = ("clusters", "repetitions", "rate", "drop", "icc", "slope_sd", "method")


def described(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the FILE argument and the options that describe two arms without one."""
    options = (
        click.argument("file", required=False, metavar="[STUDY.toml]"),
        click.option("--clusters", type=int, help="Scenarios or tasks, run in both arms [12]."),
        click.option("--repetitions", type=int, help="Trials of a cluster in an arm [5]."),
        click.option("--rate", type=float, help="Success rate of the first arm [0.85]."),
        click.option("--drop", type=float, help="How much lower the second arm is [0.15]."),
        click.option("--icc", type=float, help="Intracluster correlation of an arm [0.2]."),
        click.option("--slope-sd", type=float,
                     help="SD of the effect over clusters, on the logit scale [0.5]."),
        click.option("--method", help="Analysis by name: see simtrack methods [sign-flip]."),
        click.option("--seed", type=int, default=0, help="Seed of what is simulated [0]."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def rehearsal_of(given: dict[str, Any]) -> Rehearsal:
    """Read the study file, or make a study of two arms from the options."""
    from simtrack.runs.rehearsal import load_rehearsal, parse_rehearsal

    asked = [name for name in _QUICK if given[name] is not None]
    if given["file"] is not None:
        if set(asked) - {"clusters", "repetitions"}:
            raise InputError("options", "left to the study file, but for --clusters and "
                             "--repetitions", ", ".join(asked))  # fmt: skip
        found = load_rehearsal(given["file"])
        changes = {n: given[n] for n in ("clusters", "repetitions") if given[n] is not None}
        return replace(found, design=found.design.with_(**changes))
    rate = open_unit("rate", 0.85 if given["rate"] is None else given["rate"])
    drop = 0.15 if given["drop"] is None else given["drop"]
    if not 0.0 < rate - drop < 1.0:
        rule = "such that the second arm's rate lies between 0 and 1"
        raise InputError("drop", rule, drop, where=f"first arm {rate:g}")
    return parse_rehearsal(
        {
            "design": {
                "clusters": 12 if given["clusters"] is None else given["clusters"],
                "repetitions": 5 if given["repetitions"] is None else given["repetitions"],
                "conditions": {"arm": ["first", "second"]},
            },
            "agent": {
                "kind": "arms",
                "first": rate,
                "second": rate - drop,
                "icc": 0.2 if given["icc"] is None else given["icc"],
                "slope_sd": 0.5 if given["slope_sd"] is None else given["slope_sd"],
            },
            "analysis": {
                "method": given["method"] or "sign-flip",
                "factor": "arm", "first": "first", "second": "second",
            },
        },
        "options",
    )  # fmt: skip


def goal_of(study: Rehearsal, asked: dict[str, Any]) -> Goal:
    """Take the study's goal, or a difference shown at the level and side that are asked for."""
    from simtrack.planning import Differs

    level = {k: asked.pop(k) for k in ("alpha", "alternative") if k in asked}
    if study.goal is None:
        return Differs(**level)
    if level:
        raise InputError(" and ".join(level), "left to [goal], where the study file has one")
    return study.goal


def progress_line(label: str) -> Callable[[int, int, float], None] | None:
    """Give a progress callback for a terminal: one line, rewritten; None in a pipe."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int, left_s: float) -> None:
        end = "\n" if done >= total else ""
        print(f"\r{label}: {done:,} of about {total:,} studies, {left_s:.0f} s left   ",
              end=end, file=sys.stderr, flush=True)  # fmt: skip

    return show
