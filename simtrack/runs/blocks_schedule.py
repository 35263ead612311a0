"""The fixed schedule of a long run: which replicates stand in which block."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.options import Stopped
from simtrack.plain import Plain
from simtrack.validate import integer

__all__ = [
    "Arrays",
    "Blocks",
    "Columns",
    "Prefix",
    "assemble",
    "block_schedule",
    "canonical_arrays",
    "checked_schedule",
    "chosen_blocks",
    "digest_arrays",
    "in_words",
    "layout_of",
    "run_lengths",
    "schedule_from",
]


_SHOWN = 5


def block_schedule(
    n_replicates: int, block_size: int = 100, *, first_replicate: int = 0
) -> tuple[range, ...]:
    """Which blocks of equal size (the last may be shorter) cover so many replicates?

    Parameters
    ----------
    n_replicates, block_size : int, from 1
    first_replicate : int, from 0

    Examples
    --------
    >>> block_schedule(250, 100)
    (range(0, 100), range(100, 200), range(200, 250))
    """
    size = integer("block_size", block_size, 1)
    begin = integer("first_replicate", first_replicate, 0)
    end = begin + integer("n_replicates", n_replicates, 1)
    return tuple(range(start, min(start + size, end)) for start in range(begin, end, size))


def checked_schedule(blocks: Sequence[range]) -> tuple[range, ...]:
    """Return the blocks if each begins where the one before it ends, else refuse.

    Raises
    ------
    InputError
        For no block, an empty one, a step other than 1, a gap or an overlap.
    """
    found = tuple(blocks)
    if not found:
        raise InputError("blocks", "at least one range of replicates", "none")
    expected = found[0].start if isinstance(found[0], range) else 0
    for place, block in enumerate(found):
        where = f"block {place}"
        if not isinstance(block, range) or block.step != 1 or not len(block) or block.start < 0:
            raise InputError("blocks", "ranges of replicates, of step 1", block, where=where)
        if block.start != expected:
            rule = f"without gap or overlap: here from {expected}"
            raise InputError("blocks", rule, block, where=where, cure="Use block_schedule.")
        expected = block.stop
    return found


def chosen_blocks(schedule: Sequence[range], first: int, last: int | None) -> range:
    """Return the numbers of the blocks from `first` to `last`, both included; None is the end."""
    highest = len(schedule) - 1
    begin = integer("first", first, 0, highest)
    end = highest if last is None else integer("last", last, begin, highest)
    return range(begin, end + 1)


def run_lengths(schedule: Sequence[range]) -> dict[str, object]:
    """Give a schedule as plain data: its first replicate and [block size, how many] in order.

    Examples
    --------
    >>> run_lengths(block_schedule(250, 100))
    {'first_replicate': 0, 'sizes': [[100, 2], [50, 1]]}
    """
    sizes: list[list[int]] = []
    for block in schedule:
        if sizes and sizes[-1][0] == len(block):
            sizes[-1][1] += 1
        else:
            sizes.append([len(block), 1])
    return {"first_replicate": schedule[0].start, "sizes": sizes}


def schedule_from(data: Mapping[str, Any]) -> tuple[range, ...]:
    """Make the schedule that `run_lengths` described."""
    start = int(data["first_replicate"])
    found: list[range] = []
    for size, times in data["sizes"]:
        for _ in range(times):
            found.append(range(start, start + size))
            start += size
    return checked_schedule(found)


def in_words(numbers: Sequence[int], schedule: Sequence[range]) -> str:
    """Name blocks by number and replicates, runs of neighbours together, at most a few.

    Examples
    --------
    >>> in_words([1, 2, 5], block_schedule(60, 10))
    'blocks 1 to 2 (replicates 10 to 29), block 5 (replicates 50 to 59)'
    """
    groups: list[list[int]] = []
    for number in numbers:
        if groups and groups[-1][-1] == number - 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    texts = []
    for group in groups[:_SHOWN]:
        name = f"block {group[0]}" if len(group) == 1 else f"blocks {group[0]} to {group[-1]}"
        span = f"replicates {schedule[group[0]].start} to {schedule[group[-1]].stop - 1}"
        texts.append(f"{name} ({span})")
    rest = len(groups) - _SHOWN
    return ", ".join(texts) + (f" and {rest} more gaps" if rest > 0 else "")


# What a long run gives back: one array a quantity, one row a replicate, in index order.
#: Columns of rows by name, and those that are made here.
Arrays = Mapping[str, NDArray[Any]]
Columns = dict[str, NDArray[Any]]
_KINDS = "biuf"

_WRITTEN = (
    "n_replicates_done=n_done n_replicates_planned=n_planned n_blocks_done n_blocks_planned "
    "n_blocks_resumed=n_resumed stopped sha256 notes"
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Blocks(Plain, schema="simtrack.blocks/1", names=_WRITTEN):
    """Which replicates are done, and what did they give?

    Attributes
    ----------
    arrays : mapping of name to array, shape (n_done, ...)
        One row a replicate, in the order of `replicates`; empty if no block is done.
    schedule : tuple of range
        The blocks that were asked for.
    done : tuple of range
        Those whose replicates are in `arrays`, in index order.
    stopped : "finished", "enough" or "max-seconds"
    n_resumed : int
        How many of the done blocks were read from the folder.
    notes : tuple of str
        What a reader must know: damaged files that were computed anew, other library versions.
    """

    arrays: Arrays
    schedule: tuple[range, ...]
    done: tuple[range, ...]
    stopped: Stopped = "finished"
    n_resumed: int = 0
    notes: tuple[str, ...] = ()

    @property
    def n_done(self) -> int:
        """The number of replicates in `arrays`."""
        return sum(map(len, self.done))

    @property
    def n_planned(self) -> int:
        """The number of replicates that were asked for."""
        return sum(map(len, self.schedule))

    @property
    def n_blocks_done(self) -> int:
        """The number of blocks that are done."""
        return len(self.done)

    @property
    def n_blocks_planned(self) -> int:
        """The number of blocks that were asked for."""
        return len(self.schedule)

    @property
    def complete(self) -> bool:
        """Whether every block that was asked for is done."""
        return len(self.done) == len(self.schedule)

    @property
    def replicates(self) -> NDArray[np.int64]:
        """The numbers of the done replicates: int64, shape (n_done,), ascending."""
        parts = [np.arange(b.start, b.stop, dtype=np.int64) for b in self.done]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    @property
    def sha256(self) -> str:
        """SHA-256 of replicates and arrays: blind to block sizes, executors, kills and merges."""
        digest = hashlib.sha256(b"simtrack.blocks/1")
        digest_arrays(digest, {"replicates": self.replicates})
        digest_arrays(digest, self.arrays)
        return digest.hexdigest()

    def __repr__(self) -> str:
        names = ", ".join(sorted(self.arrays)) or "nothing"
        counts = f"{self.n_done} of {self.n_planned} replicates"
        return f"Blocks({counts}, {self.stopped}: {names})"


def canonical_arrays(found: object, block: range) -> Columns:
    """Return what a task gave for one block as contiguous little-endian arrays, sorted by name.

    Raises
    ------
    InputError
        Unless it is a mapping of names to arrays of numbers or booleans with one row a replicate.
    """
    where = f"replicates {block.start} to {block.stop - 1}"
    if not isinstance(found, Mapping) or not found:
        rule = "a function that gives named arrays"
        raise InputError("task", rule, type(found).__name__, where=where)
    arrays = {}
    for name in sorted(found):
        array = np.asarray(found[name])
        if array.ndim == 0 or array.shape[0] != len(block) or array.dtype.kind not in _KINDS:
            rule = f"a function that gives arrays of numbers with {len(block)} rows"
            got = f"{array.dtype} of shape {array.shape} as {name}"
            raise InputError("task", rule, got, where=where)
        arrays[str(name)] = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return arrays


def layout_of(arrays: Arrays) -> dict[str, str]:
    """Say which type and shape a row of each array has: equal for all blocks of one run."""
    return {name: f"{a.dtype.str} {list(a.shape[1:])}" for name, a in sorted(arrays.items())}


def assemble(parts: Sequence[Arrays]) -> Columns:
    """Stack blocks in the order given; no sum is taken, so no order of arrival can show."""
    if not parts:
        return {}
    return {name: np.concatenate([p[name] for p in parts]) for name in sorted(parts[0])}


class Prefix:
    """The rows of the first blocks, in index order, growing in place."""

    def __init__(self, n_rows: int) -> None:
        self._n_rows = n_rows
        self._n_done = 0
        self._rows: Columns = {}

    def grow(self, arrays: Arrays) -> Columns:
        """Append the next block; give all rows so far, read-only."""
        end = self._n_done + len(next(iter(arrays.values())))
        for name in sorted(arrays):
            array = arrays[name]
            if name not in self._rows:
                self._rows[name] = np.empty((self._n_rows, *array.shape[1:]), array.dtype)
            self._rows[name][self._n_done : end] = array
        self._n_done = end
        views = {name: rows[:end] for name, rows in self._rows.items()}
        for view in views.values():
            view.flags.writeable = False
        return views


def digest_arrays(digest: Any, arrays: Arrays) -> None:
    """Feed name, type, shape and bytes of every array, in the order of their names."""
    for name in sorted(arrays):
        array = arrays[name]
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        head = [name, little.dtype.str, list(little.shape)]
        digest.update(json.dumps(head, ensure_ascii=False).encode())
        digest.update(little.tobytes())
