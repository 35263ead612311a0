"""Put together the blocks that several machines, or several calls, left in their folders."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import DataError, InputError
from simtrack.runs.blocks_schedule import Blocks, Columns, assemble, in_words, layout_of
from simtrack.runs.checkpoint import Checkpoint, open_checkpoint
from simtrack.runs.checkpoint_manifest import Manifest, read_manifest

__all__ = ["merge_blocks"]


def merge_blocks(folders: Sequence[str | Path], *, into: str | Path | None = None) -> Blocks:
    """What did the parts of one run give together?

    Parameters
    ----------
    folders : sequence of paths
        Each with blocks of the same run: same task, schedule, code and stream scheme.
    into : path, optional
        A folder that is given all blocks, as if one machine had run them.

    Returns
    -------
    Blocks
        The same bytes as one uninterrupted run of the whole schedule.

    Raises
    ------
    DataError
        If a folder is of another run (what differs is named), if two folders disagree on a block,
        or if blocks are missing (they are named).
    """
    places = [Path(folder) for folder in folders]
    if not places:
        raise InputError("folders", "at least one folder of blocks", "none")
    manifest, notes = _common(places)
    sources = [Checkpoint(place, manifest) for place in places]
    with ExitStack() as stack:
        target = None
        if into is not None:
            target = stack.enter_context(open_checkpoint(into, manifest))
        found = [_agreed(sources, number) for number in range(len(manifest.schedule))]
        notes += [f"{s.folder}: {note}" for s in sources for note in s.notes]
        parts = [arrays for arrays in found if arrays is not None]
        if len(parts) < len(found):
            gaps = [number for number, arrays in enumerate(found) if arrays is None]
            raise DataError("; ".join([f"missing: {in_words(gaps, manifest.schedule)}", *notes])
                            + ". Run these blocks, then merge again.")  # fmt: skip
        for number, arrays in enumerate(parts):
            if target is not None:
                target.save(number, arrays)
    schedule = manifest.schedule
    return Blocks(assemble(parts), schedule, schedule, "finished", len(parts), tuple(notes))


def _common(places: Sequence[Path]) -> tuple[Manifest, list[str]]:
    """Give the one manifest of all folders, and notes on their environments."""
    manifests = []
    for place in places:
        found = read_manifest(place)
        if found is None:
            raise DataError(f"{place} holds no blocks: it has no manifest. Check the path.")
        manifests.append(found)
    notes = []
    for place, found in zip(places[1:], manifests[1:], strict=True):
        if changes := manifests[0].changes(found):
            raise DataError(
                f"{place} belongs to another run than {places[0]}; different: {changes}. Merge "
                "parts of one run."
            )
        if found.environment != manifests[0].environment:
            notes.append(
                f"{place} was computed by {dict(found.environment)}, {places[0]} by "
                f"{dict(manifests[0].environment)}: floats may differ by 1e-12"
            )
    return manifests[0], notes


def _agreed(sources: Sequence[Checkpoint], number: int) -> Columns | None:
    """Give a block from the folders that hold it, if they agree to the byte."""
    first: tuple[Path, Columns] | None = None
    for source in sources:
        arrays = source.load(number)
        if arrays is None:
            continue
        if first is None:
            first = (source.folder, arrays)
        elif name := _unequal(first[1], arrays):
            block = in_words([number], source.manifest.schedule)
            raise DataError(
                f"{block} differs between {first[0]} and {source.folder} in {name}. Find out which "
                "machine computes otherwise before you merge."
            )
    return None if first is None else first[1]


def _unequal(first: Columns, second: Columns) -> str:
    """Name the arrays whose bytes differ; NaN equals NaN of the same bits."""
    if layout_of(first) != layout_of(second):
        return "names, types or shapes"
    differ = [n for n in sorted(first) if not np.array_equal(_bits(first[n]), _bits(second[n]))]
    return ", ".join(differ)


def _bits(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.frombuffer(array.tobytes(), np.uint8)
