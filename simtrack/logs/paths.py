"""Which files do paths, folders and globs stand for, and what is each called?"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from simtrack.errors import DataError, InputError

__all__ = ["PathLike", "as_path", "expand", "source_labels"]

PathLike = str | os.PathLike[str]
#: Indexes that Inspect writes beside its logs; they hold no sample.
_INDEXES = frozenset({"logs.json", "eval-set.json"})


def as_path(path: object) -> Path:
    """Give a path; an empty one would mean the current folder, which nobody typed."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError("path", "the path of a file", type(path).__name__)
    text = os.fspath(path)
    if not isinstance(text, str) or not text or "\0" in text:
        raise InputError("path", "the path of a file", repr(text))
    return Path(text)


def expand(paths: PathLike | Iterable[PathLike]) -> tuple[list[tuple[Path, bool]], list[str]]:
    """List the files that paths, folders and globs stand for, which were named, and notes.

    Folders are walked in sorted order; hidden files and Inspect's own indexes are passed over. A
    file counts once, however it is spelt or linked to.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if not isinstance(given, Iterable):
        raise InputError("paths", "paths of files, folders or globs", type(given).__name__)
    found: dict[Path, tuple[Path, bool]] = {}
    again: list[str] = []
    for one in given:
        for file, named in _files(as_path(one)):
            place = _resolved(file)
            if place in found:
                first = found[place][0]
                other = "" if str(first) == str(file) else f", as {first}"
                again.append(f"{file} was given before{other}; it counts once")
            else:
                found[place] = (file, named)
    if not found:
        raise InputError("paths", "at least one file, folder or glob")
    return list(found.values()), again


def source_labels(paths: Sequence[Path]) -> list[str]:
    """Name every file as briefly as tells it from the others: its name, or more of its path.

    Examples
    --------
    >>> source_labels([Path("a/run.eval"), Path("b/run.eval"), Path("b/other.eval")])
    ['a/run.eval', 'b/run.eval', 'other.eval']
    """
    depth = [1] * len(paths)
    parts = [PurePath(path).parts for path in paths]
    while True:
        names = ["/".join(p[-d:]) for p, d in zip(parts, depth, strict=True)]
        again = [k for k, n in enumerate(names) if names.count(n) > 1 and depth[k] < len(parts[k])]
        if not again:
            return names
        for k in again:
            depth[k] += 1


def _files(path: Path) -> list[tuple[Path, bool]]:
    if path.is_dir():
        inside = sorted(p for p in path.rglob("*") if p.is_file() and _is_visible(p, path))
        if not inside:
            raise DataError(f"{path}: the folder holds no file.")
        return [(p, False) for p in inside]
    if path.exists() or not glob.has_magic(str(path)):
        return [(path, True)]
    matched = sorted(glob.glob(str(path), recursive=True))
    if not matched:
        raise DataError(f"{path}: no file matches.")
    return [(Path(p), True) for p in matched if Path(p).is_file()]


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a loop of links, which reading will refuse
        return path.absolute()


def _is_visible(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return not hidden and path.name not in _INDEXES
