"""One entry of the catalogue of statistical methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, Literal

from simtrack.options import Computation, Guarantee

__all__ = ["Method", "Topic"]

#: What a method is about; the verb that offers it by name follows from it.
Topic = Literal[
    "rate",
    "difference",
    "contrast",
    "test",
    "multiplicity",
    "missingness",
    "agreement",
    "rank",
    "sequential",
    "model",
    "bayes",
]


@dataclass(frozen=True, slots=True)
class Method:
    """When does a method hold, when not, and what kind of number does it give?

    Parameters
    ----------
    name : str
        The name by which `score`, `test` and the library offer it.
    topic : Topic
    home : str
        "module:function", imported when it is called.
    holds, fails : str
        When to use it, and when not, in one sentence each.
    computation, guarantee : str
        How the number comes about, and what it promises.
    source : str
        Where it is defined.
    """

    name: str
    topic: Topic
    home: str
    holds: str
    fails: str
    computation: Computation
    guarantee: Guarantee
    source: str

    def load(self) -> Callable[..., Any]:
        """Import the function."""
        module, _, function = self.home.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), function)
        return found

    def to_dict(self) -> dict[str, str]:
        """Give the entry as plain data."""
        return asdict(self)
