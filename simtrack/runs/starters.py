"""Starters: a commented study for each shape that the papers used, to change and run."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from simtrack.errors import InputError

__all__ = ["STARTERS", "starter_text"]

#: Shapes of studies, and what each asks.
STARTERS: Final = {
    "pair": "two arms on the same tasks: is the new one better?",
    "rate": "one success rate against a bar",
    "stageif": "StageIF: how far is adherence before completion from adherence at it?",
    "gates": "StageIF rollouts: gate on turns without tool calls against model-emitted marker",
    "tau2": "StageIF on tau2-bench: how well are reports inside dialogues known?",
    "statetrack": "StateTrack: how much of a rule is lost between two depths?",
    "rebind": "ReBIND: do revoked clauses return more often under load?",
}


def starter_text(shape: str) -> str:
    """Give the TOML of a starter.

    Examples
    --------
    >>> starter_text("pair").splitlines()[0]
    '# Two arms on the same tasks: is the new one better?'
    """
    if shape not in STARTERS:
        raise InputError("shape", f"one of {', '.join(STARTERS)}", repr(shape))
    return (files("simtrack.runs") / "data" / "starters" / f"{shape}.toml").read_text("utf-8")
