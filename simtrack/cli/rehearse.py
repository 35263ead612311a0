"""What simulate, power and plan share: a TOML file, or two arms described by options."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import click

from simtrack.errors import InputError
from simtrack.validate import open_unit

if TYPE_CHECKING:
    from simtrack.analysis import Analysis
    from simtrack.runs.rehearsal import Rehearsal

__all__ = ["Described", "analysis_of", "described", "grouped", "progress_line", "rehearsal_of"]


@dataclass(frozen=True, slots=True)
class Described:
    """A study as the command line describes it: a file, or two arms. None is the default."""

    file: str | None
    clusters: int | None
    repetitions: int | None
    rate: float | None
    drop: float | None
    icc: float | None
    slope_sd: float | None
    method: str | None
    seed: int

    def given(self) -> list[str]:
        """Name the options that were given, but for the file and the seed."""
        names = [f.name for f in fields(self) if f.name not in {"file", "seed"}]
        return [name for name in names if getattr(self, name) is not None]


Option = Callable[[Callable[..., None]], Callable[..., None]]


def grouped(
    name: str, kind: type, options: tuple[Option, ...]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options, and hand their values over as one `kind` called `name`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def collected(**given: Any) -> None:
            own = {field.name: given.pop(field.name) for field in fields(kind)}
            command(**given, **{name: kind(**own)})

        found: Callable[..., None] = collected
        for option in reversed(options):
            found = option(found)
        return found

    return decorate


#: The FILE argument and the options that describe two arms without one, as `what`.
described = grouped("what", Described, (
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
))  # fmt: skip


def rehearsal_of(what: Described) -> Rehearsal:
    """Read the study file, or make a study of two arms from the options."""
    from simtrack.runs.rehearsal import load_rehearsal, parse_rehearsal

    if what.file is not None:
        if set(what.given()) - {"clusters", "repetitions"}:
            raise InputError("options", "left to the study file, but for --clusters and "
                             "--repetitions", ", ".join(what.given()))  # fmt: skip
        found = load_rehearsal(what.file)
        sizes = {"clusters": what.clusters, "repetitions": what.repetitions}
        changes = {name: size for name, size in sizes.items() if size is not None}
        return replace(found, design=found.design.with_(**changes))
    rate = open_unit("rate", _or(what.rate, 0.85))
    drop = _or(what.drop, 0.15)
    if not 0.0 < rate - drop < 1.0:
        rule = "such that the second arm's rate lies between 0 and 1"
        raise InputError("drop", rule, drop, where=f"first arm {rate:g}")
    return parse_rehearsal(
        {
            "design": {
                "clusters": 12 if what.clusters is None else what.clusters,
                "repetitions": 5 if what.repetitions is None else what.repetitions,
                "conditions": {"arm": ["first", "second"]},
            },
            "agent": {
                "kind": "arms",
                "first": rate,
                "second": rate - drop,
                "icc": _or(what.icc, 0.2),
                "slope_sd": _or(what.slope_sd, 0.5),
            },
            "analysis": {
                "method": what.method or "sign-flip",
                "factor": "arm", "first": "first", "second": "second",
            },
        },
        "options",
    )  # fmt: skip


def analysis_of(study: Rehearsal) -> Analysis:
    """Give the analysis of a study, or refuse one that states none."""
    if study.analysis is None:
        raise InputError("[analysis]", "in the study file, to say how it will be analysed")
    return study.analysis


def progress_line(label: str) -> Callable[[int, int, float], None] | None:
    """Give a progress callback for a terminal: one line, rewritten; None in a pipe."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int, left_s: float) -> None:
        end = "\n" if done >= total else ""
        print(f"\r{label}: {done:,} of about {total:,} studies, {left_s:.0f} s left   ",
              end=end, file=sys.stderr, flush=True)  # fmt: skip

    return show


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
