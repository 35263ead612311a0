"""Published numbers and the presets made from them, as the TOML files beside this one hold them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

from simtrack.agents.agent import Agent
from simtrack.plain import Document

__all__ = ["About", "Block", "Input", "Numbers", "Parameters", "Preset", "block"]


@dataclass(frozen=True, slots=True)
class Input(Document):
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

    def __str__(self) -> str:
        return f"{self.quantity}: {self.value} ({self.source})"


@dataclass(frozen=True, slots=True)
class About(Document):
    """What went into a preset, each with its source, and what no published number settles."""

    inputs: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()

    def lines(self) -> tuple[str, ...]:
        """Give one line for each."""
        return (*(f"input: {x}" for x in self.inputs), *(f"assumed: {x}" for x in self.assumed))


@dataclass(frozen=True, slots=True)
class Preset:
    """Which agent stands for a published operating point, and what was put in?

    Attributes
    ----------
    name : str
    agent : Agent
    inputs : tuple of Input
        All published numbers that the agent was made from; every other one can be a check.
    assumed : tuple of str
        What no published number settles.
    """

    name: str
    agent: Agent
    inputs: tuple[Input, ...]
    assumed: tuple[str, ...] = ()

    @property
    def about(self) -> About:
        """The inputs as text, and what is assumed."""
        return About(tuple(map(str, self.inputs)), self.assumed)


@dataclass(frozen=True, slots=True)
class Numbers(Document):
    """One published table: what it shows, where, and its rows.

    Attributes
    ----------
    quantity : str
        What the numbers of a row are, and of what; "{}" stands for the row's name.
    source : str
        paper/file and the claim, or "assumed".
    rows : mapping of name to number or tuple of numbers
    value : str
        How a row is shown among a preset's inputs.
    """

    quantity: str
    source: str
    rows: Mapping[str, Any]
    value: str = ""

    def __post_init__(self) -> None:
        frozen = {name: _frozen(row) for name, row in self.rows.items()}
        object.__setattr__(self, "rows", frozen)

    def input(self, name: str = "all") -> Input:
        """Give a row as the input of a preset."""
        row = self.rows[name] if isinstance(self.rows[name], tuple) else (self.rows[name],)
        return Input(self.quantity.format(name), self.value.format(*row), self.source)


@dataclass(frozen=True, slots=True)
class Parameters(Document):
    """An agent's parameters as they stand, with the inputs that they come from."""

    agent: Mapping[str, Any]
    inputs: tuple[Input, ...]
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Block(Document):
    """One file of published numbers, and what its presets say of themselves."""

    title: str
    numbers: Mapping[str, Numbers] = field(default_factory=dict)
    about: Mapping[str, About] = field(default_factory=dict)
    common: Parameters | None = None
    presets: Mapping[str, Parameters] = field(default_factory=dict)

    def rows(self, name: str) -> Mapping[str, Any]:
        """Give the rows of a table."""
        return self.numbers[name].rows


@lru_cache(maxsize=8)
def block(name: str) -> Block:
    """Read a file of published numbers.

    Examples
    --------
    >>> block("gate").numbers["B1"].input("glm-5.1").value
    '52 ok, 0 dead end, 5 premature, 15 stall of 72'
    """
    text = (files("simtrack.agents.presets") / f"{name}.toml").read_text(encoding="utf-8")
    return Block.from_dict(tomllib.loads(text), f"{name}.toml")


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
