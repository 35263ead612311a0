"""Append-only pools: names and texts drawn for a task, the same for ever once they are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from simtrack.errors import InputError
from simtrack.ledger.fields import a_label
from simtrack.validate import integer

__all__ = ["FILLERS", "MARKERS", "Pool"]


@dataclass(frozen=True, slots=True, init=False)
class Pool:
    """Which names can be drawn, and in which generation did each come in?

    A draw is an order of the first generation, then one of the second, and so on; of n names the
    first n of that order. So a longer draw begins with the shorter one, and a generation appended
    later leaves every draw that was possible before as it was, byte for byte: for this, the paper
    says that draws for lower loads are locked, and prints no method. Each task and generation has a
    random stream of its own (`simtrack.rng`), so more tasks change nothing either.

    Parameters
    ----------
    *generations : sequence of str
        Distinct names. Appending is another generation, never a longer old one.

    Examples
    --------
    >>> old = Pool(["ant", "bee", "cow"])
    >>> old.draw(2, seed=7, purpose="marker", task="t1")
    ('ant', 'cow')
    >>> new = old.extended(["dog", "eel"])
    >>> new.draw(5, seed=7, purpose="marker", task="t1")
    ('ant', 'cow', 'bee', 'dog', 'eel')
    """

    generations: tuple[tuple[str, ...], ...]

    def __init__(self, *generations: Iterable[str]) -> None:
        frozen = tuple(tuple(generation) for generation in generations)
        names = [name for generation in frozen for name in generation]
        for place, name in enumerate(names):
            a_label(f"pool[{place}]", name)
        if not names or not all(frozen):
            raise InputError("pool", "generations of at least one name", "an empty one")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError("pool", "made of distinct names", repr(twice))
        object.__setattr__(self, "generations", frozen)

    def to_plain(self) -> list[list[str]]:
        """The generations as lists."""
        return [list(generation) for generation in self.generations]

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order of the generations."""
        return tuple(name for generation in self.generations for name in generation)

    def extended(self, names: Iterable[str]) -> Pool:
        """Return the pool with one more generation."""
        return Pool(*self.generations, names)

    def extends(self, older: Pool) -> bool:
        """Does every draw from the older pool stand unchanged in this one?"""
        return self.generations[: len(older.generations)] == older.generations

    def draw(self, n: int, *, seed: int, purpose: str, task: str) -> tuple[str, ...]:
        """Draw n distinct names in random order: the first n of this task's order.

        Parameters
        ----------
        n : int, 0 to the number of names
        seed : int, 0 to 2^63 - 1
        purpose : str
            What is drawn; two purposes are independent.
        task : str
            Id of the task.
        """
        import numpy as np  # here, so that a ledger can be compiled without

        from simtrack.rng import Stream

        n = integer("n", n, 0, len(self.names))
        order: list[str] = []
        for place, generation in enumerate(self.generations):
            if len(order) >= n:
                break
            stream = Stream(seed, purpose, task=task, generation=place)
            keys = stream.uniform(replicates=1, clusters=1, draws_each=len(generation))[0, 0]
            order += [generation[k] for k in np.argsort(keys, kind="stable")]
        return tuple(order[:n])


#: The first five are the paper's; it extends them to eight for the highest load without printing
#: the three, so those are ours.
MARKERS: Final = Pool(
    ["audit_log", "sanitize_args", "verify_bounds", "helper_check", "validate_input"],
    ["trace_calls", "prepare_report", "restore_defaults"],
)
#: Requests that suit any task, mention nothing of it and have no checker. All but the first, which
#: is of the paper's kind, are ours.
FILLERS: Final = Pool(
    [
        "Please state the time complexity in the docstring.",
        "Keep every line shorter than 100 characters.",
        "Write the comments in plain English.",
        "Indent with four spaces.",
        "Prefer telling variable names to single letters.",
        "Add type hints to the signature.",
        "Mention one edge case in the docstring.",
        "Put texts in double quotes.",
        "Leave no debugging output behind.",
        "Sort the imports alphabetically.",
        "Avoid abbreviations in comments.",
        "End the file with a newline.",
    ]
)
