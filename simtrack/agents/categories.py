"""Tables of settings by labels, and trials that end in one of several categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.agent import DrawOptions
from simtrack.errors import InputError
from simtrack.plain import plain
from simtrack.rng import Stream

__all__ = ["Table", "categorise", "frozen_table", "look_up", "slices_of_draws"]

V = TypeVar("V")
Labels = tuple[tuple[str, str], ...]
_NUMBERS_A_CHUNK = 1 << 20


class Table(tuple[tuple[Labels, V], ...]):
    """Lines of (labels, value): the first line whose labels all agree with a cell holds for it."""

    __slots__ = ()

    def to_plain(self) -> list[list[Any]]:
        """Give the lines as lists and mappings, from which `frozen_table` makes an equal table."""
        return [[dict(labels), plain(value)] for labels, value in self]


def frozen_table(name: str, lines: object) -> Table[Any]:
    """Make a table from one value for all cells, or lines of (labels, value).

    Examples
    --------
    >>> frozen_table("rate", [({"arm": "bare", "load": "8"}, 0.4), ({}, 0.1)])
    (((('arm', 'bare'), ('load', '8')), 0.4), ((), 0.1))
    >>> frozen_table("rate", 0.25)
    (((), 0.25),)
    """
    if not isinstance(lines, (list, tuple)):
        return Table([((), lines)])
    found: list[tuple[Labels, Any]] = []
    for line in lines:
        if not isinstance(line, (list, tuple)) or len(line) != 2:
            raise InputError(name, "a value, or lines of (labels, value)", repr(line))
        labels, value = line
        pairs = labels.items() if isinstance(labels, Mapping) else labels
        frozen = tuple((str(n), str(level)) for n, level in pairs)
        found.append((frozen, tuple(value) if isinstance(value, list) else value))
    return Table(found)


def look_up(name: str, table: Table[V], cell: Mapping[str, str]) -> V:
    """Give the value of the first line that holds for a cell; a cell without one is refused.

    Examples
    --------
    >>> look_up("rate", ((((("load", "8"),)), 0.4), ((), 0.1)), {"load": "2"})
    0.1
    """
    for labels, value in table:
        if all(cell.get(n) == level for n, level in labels):
            return value
    shown = ", ".join(f"{n}={level}" for n, level in cell.items()) or "no conditions"
    known = "; ".join(" ".join(f"{n}={v}" for n, v in labels) for labels, _ in table)
    raise InputError(
        name, "given for every cell of the design", shown, cure=f"It is given for: {known}."
    )


def categorise(
    stream: Stream, trials: NDArray[np.int64], shares: NDArray[np.float64], how: DrawOptions
) -> NDArray[np.int64]:
    """Draw how many trials end in each category: multinomial, trial by trial.

    One word a trial decides among all categories, in their order, so more trials keep the old
    ones, and equal streams with other shares are common random numbers.

    Parameters
    ----------
    trials : int64 array, shape (clusters,)
    shares : float64 array, shape (categories,), (clusters, categories) or
        (draws, clusters, categories)
        Summing to 1.
    how : DrawOptions
        replicates, clusters, threads and chunk of the draw.

    Returns
    -------
    int64 array, shape (draws, clusters, categories)
    """
    reached = np.minimum(np.cumsum(shares, axis=-1), 1.0)
    below = [
        stream.trial_counts(trials, reached[..., k].copy(), **how)
        for k in range(shares.shape[-1] - 1)
    ]
    ends = [np.zeros_like(below[0]), *below, np.broadcast_to(trials, below[0].shape)]
    return np.diff(np.stack(ends, axis=-1), axis=-1)


def slices_of_draws(
    draws: int | range, numbers_a_draw: int, chunk: int | None
) -> tuple[Sequence[range], int]:
    """Cut draws into ranges that fit in memory; give them and how many draws there are."""
    wanted = draws if isinstance(draws, range) else range(draws)
    size = chunk or max(1, _NUMBERS_A_CHUNK // max(1, numbers_a_draw))
    starts = range(wanted.start, wanted.stop, size)
    return [range(s, min(s + size, wanted.stop)) for s in starts], len(wanted)
