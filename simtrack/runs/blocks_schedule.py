"""The fixed schedule of a long run: which replicates stand in which block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simtrack.errors import InputError
from simtrack.validate import integer

__all__ = [
    "block_schedule",
    "checked_schedule",
    "chosen_blocks",
    "in_words",
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


def run_lengths(schedule: Sequence[range]) -> dict[str, Any]:
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
