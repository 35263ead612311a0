"""A preset: an agent at a published operating point, with every number it was made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Input", "Preset"]


@dataclass(frozen=True, slots=True)
class Input:
    """Which published number went into a preset?

    Attributes
    ----------
    quantity : str
    value : str
        As printed, or as counted from what is printed.
    source : str
        The table that carries it: paper/file, and the row.
    """

    quantity: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Preset:
    """Which agent stands for a published operating point, and what was put in?

    Attributes
    ----------
    name : str
    agent : RecallAgent, RelapseAgent or GateAgent
    inputs : tuple of Input
        All published numbers that the agent was made from; every other one can be a check.
    assumed : tuple of str
        What no published number settles.
    """

    name: str
    agent: Any
    inputs: tuple[Input, ...]
    assumed: tuple[str, ...] = ()
