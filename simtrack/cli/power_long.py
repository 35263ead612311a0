"""`simtrack power` as a long run: kept in a folder, spread, stopped and gone on with, split."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simtrack.errors import InputError

if TYPE_CHECKING:
    from simtrack.counts import Counts
    from simtrack.planning import Goal, Power, Question
    from simtrack.runs.rehearsal import Rehearsal

__all__ = ["long_run"]


def long_run(
    study: Rehearsal,
    goal: Goal,
    asked: dict[str, Any],
    interim: Counts | None,
    given: dict[str, Any],
) -> tuple[Power | None, dict[str, Any]]:
    """Simulate in blocks: the power with what is known of the run, or None for one part of it."""
    from simtrack.planning import Question
    from simtrack.runs.blocks_power import merge_power, run_power

    exact = asked.pop("exact", "auto")
    asked.pop("threads", None)
    if study.analysis is None:
        raise InputError("[analysis]", "in the study file")
    question = Question(study.design, study.agent, study.analysis, goal,
                        seed=given["seed"], interim=interim, **asked)  # fmt: skip
    if given["merge"]:
        for name in ("folder", "executor", "workers", "dask", "max_seconds", "part"):
            if given[name] is not None:
                raise InputError(f"--{name.replace('_', '-')}", "left out with --merge")
        found, blocks = merge_power(question, given["merge"])
        return found, {"run": blocks.to_dict()}
    with ExitStack() as stack:
        executor = given["executor"]
        if given["dask"] is not None:
            from simtrack.runs.dask_executor import DaskExecutor

            executor = stack.enter_context(DaskExecutor(given["dask"]))
        how = {"folder": given["folder"], "executor": executor, "workers": given["workers"],
               "max_seconds": given["max_seconds"], "progress": "auto"}  # fmt: skip
        if given["part"] is not None:
            return None, _one_part(question, given["part"], how)
        answered, kept = run_power(question, exact=exact, **how)
    if kept is None:
        note = "exact: nothing was simulated, so nothing is kept or spread"
        return replace(answered, notes=(*answered.notes, note)), {}
    return answered, {"run": kept.to_dict()}


def _one_part(question: Question, text: str, how: dict[str, Any]) -> dict[str, Any]:
    from simtrack.runs.blocks_power import run_power_part

    part, sign, parts = text.partition("/")
    if not (sign and part.isdecimal() and parts.isdecimal()):
        raise InputError("--part", "of the form 2/3", repr(text))
    if how["folder"] is None:
        raise InputError("--folder", "given with --part", cure="Each part has a folder of its own.")
    blocks = run_power_part(question, int(part), int(parts), **how)
    told = (f"{how['folder']}: part {text}, {blocks.n_done:,} blocks kept, stopped: "
            f"{blocks.stopped}. With all parts: --merge FOLDER --merge FOLDER ...")  # fmt: skip
    return {"schema": "simtrack.planning-part/1", "told": told, "run": blocks.to_dict()}
