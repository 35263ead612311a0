"""Which files do paths, folders and globs stand for, and what is each called?"""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from simtrack.errors import DataError, InputError

__all__ = ["PathLike", "as_path", "expand", "source_labels"]

PathLike = str | os.PathLike[str]
#: Indexes that Inspect writes beside its logs; they hold no sample.
_INDEXES = frozenset({"logs.json", "eval-set.json"})
#: Endings that tell of logs in a hidden file, and hidden folders of tools, which hold none.
_LOGS = frozenset({".eval", ".json", ".jsonl", ".csv", ".parquet"})
_TOOLS = frozenset({".git", ".venv", ".cache", ".ipynb_checkpoints", ".idea", ".vscode"})
#: Files given again, and links not followed, that a note names one by one.
_MOST_TOLD = 4


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
    file counts once, however it is spelt or linked to. Links to nothing and folders that cannot be
    opened are listed too, so that reading them refuses; links to folders elsewhere are not
    followed, and a note says so.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if not isinstance(given, Iterable):
        raise InputError("paths", "paths of files, folders or globs", type(given).__name__)
    found: dict[Path, tuple[Path, bool]] = {}
    again: list[tuple[Path, Path]] = []
    aside: list[Path] = []
    for one in given:
        listing, left = _files(as_path(one))
        aside += left
        for file, named in listing:
            place = _resolved(file)
            if place in found:
                again.append((file, place))
            else:
                found[place] = (file, named)
    if not found:
        raise InputError("paths", "at least one file, folder or glob")
    notes = _again([(str(file), str(found[place][0])) for file, place in again])
    return list(found.values()), [*notes, *_aside(aside, set(found))]


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
        times = Counter(names)
        again = [k for k, n in enumerate(names) if times[n] > 1 and depth[k] < len(parts[k])]
        if not again:
            return names
        for k in again:
            depth[k] += 1


def _files(path: Path) -> tuple[list[tuple[Path, bool]], list[Path]]:
    """List the files behind one path, and what lies there but is not read."""
    if path.is_dir():
        inside, left = _walk(path)
        if not inside:
            hidden = f" that is not hidden ({', '.join(p.name for p in left)})" if left else ""
            raise DataError(f"{path}: the folder holds no file{hidden}.")
        return [(p, False) for p in inside], left
    if path.exists() or not glob.has_magic(str(path)):
        return [(path, True)], []
    matched = sorted(map(Path, glob.glob(str(path), recursive=True)))
    found = [(p, True) for p in matched if p.is_file() or _leads_nowhere(p)]
    found = [(p, True) for p in _plainest_first([p for p, _ in found])]
    aside: list[Path] = []
    for folder in (p for p in matched if p.is_dir() and "**" not in path.parts):
        inside, left = _walk(folder)  # as if the shell had named it
        found += [(p, False) for p in inside]
        aside += left
    if not found:
        raise DataError(f"{path}: no file matches.")
    return found, aside


def _walk(folder: Path) -> tuple[list[Path], list[Path]]:
    """List the visible files of a folder, and what is not read: links to folders, hidden logs."""
    shut: list[Path] = []
    files: list[Path] = []
    left: list[Path] = []
    for place, folders, names in os.walk(
        folder, onerror=lambda error: shut.append(Path(error.filename))
    ):
        here = Path(place)
        left += [here / name for name in folders if name.startswith(".") and name not in _TOOLS]
        left += [here / n for n in names if n.startswith(".") and Path(n).suffix in _LOGS]
        folders[:] = [name for name in folders if not name.startswith(".")]
        left += [here / name for name in folders if (here / name).is_symlink()]
        seen = (here / name for name in names if not name.startswith(".") and name not in _INDEXES)
        files += [p for p in seen if p.is_file() or _leads_nowhere(p)]
    return _plainest_first(sorted([*files, *shut])), sorted(left)


def _plainest_first(files: Sequence[Path]) -> list[Path]:
    """Keep the order, but put names of a file that go through links after all others."""
    chosen: dict[Path, Path] = {}
    for file in sorted(files, key=lambda p: (_links_in(p), len(p.parts), p)):
        chosen.setdefault(_resolved(file), file)
    own = set(chosen.values())
    return [*(p for p in files if p in own), *(p for p in files if p not in own)]


def _leads_nowhere(path: Path) -> bool:
    return path.is_symlink() and not path.exists()


def _links_in(path: Path) -> int:
    return sum(p.is_symlink() for p in (path, *path.parents))


def _again(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Say which files were given more than once: each while they are few, else how many."""
    if len(pairs) > _MOST_TOLD:
        shown = ", ".join(file for file, _ in pairs[:_MOST_TOLD])
        return [f"{len(pairs)} files were given before ({shown}, …); each counts once"]
    return [
        f"{file} was given before{f', as {first}' if file != first else ''}; it counts once"
        for file, first in pairs
    ]


def _aside(left: Sequence[Path], read: set[Path]) -> list[str]:
    """Name what is not read and not reached by another way: hidden logs, links to folders."""
    inside = {parent for file in read for parent in file.parents} | read
    gone = [path for path in dict.fromkeys(left) if _resolved(path) not in inside]
    hidden = [str(p) for p in gone if p.name.startswith(".")]
    links = [f"{p} -> {os.readlink(p)}" for p in gone if not p.name.startswith(".")]
    notes = []
    for why, names in (("hidden", hidden), ("links to folders", links)):
        if names:
            more = f" and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else ""
            shown = ", ".join(names[:_MOST_TOLD])
            notes.append(f"not read, being {why}: {shown}{more}. Name them to read them")
    return notes


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a loop of links, which reading will refuse
        return path.absolute()
