"""What kind of file is this? Told from its content, never from its name."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from simtrack.errors import DataError
from simtrack.logs.decode import Decoded, decode_record
from simtrack.logs.salvage import salvaged_json
from simtrack.logs.source import MAPPED_BYTES, Source
from simtrack.note import Note

__all__ = ["Content", "Kind", "UnknownFormat", "is_called_a_log", "look_at"]

Kind = Literal["zip", "json-object", "json-array", "json-lines", "text", "parquet", "arrow"]

#: Files that are recognised in order to be refused by name.
_FOREIGN: Mapping[bytes, str] = {
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a Zstandard file",
    b"BZh": "a bzip2 file",
    b"\x89HDF": "an HDF5 or NetCDF file",
    b"SQLite": "an SQLite database",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"7z\xbc\xaf": "a 7z archive",
}
#: Blank lines may be as long as this before the second record.
_PEEK_BYTES = 1 << 16
_BINARY: Mapping[bytes, Kind] = {
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
}
_SALVAGE = "Copy it again, or read what is whole: --salvage (in Python salvage=True)."
_CURE = "Give an Inspect log, JSON lines, or CSV in UTF-8."
#: Endings of files that hold trials if they hold anything: not to be read is a loss there.
_LOG = ".eval"
_TABLES = frozenset({".json", ".jsonl", ".csv", ".tsv", ".parquet", ".arrow", ".feather"})
_EMPTY = Source(b"")


class UnknownFormat(DataError):
    """A file that is no log, as far as this version can tell; a folder may hold some."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds, as far as needed to choose its reader.

    Parameters
    ----------
    kind : Kind
        "zip", "parquet" and "arrow" are not read further; the others come with their bytes.
    source : Source
        The bytes behind a byte-order mark; empty for those.
    keys : frozenset of str
        The keys of a single JSON object, or of the first object of an array or of JSON lines.
    notes : tuple of str
        What was salvaged of a JSON document that ends too early.
    """

    kind: Kind
    source: Source = _EMPTY
    keys: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    @property
    def data(self) -> bytes:
        """Everything at once, for formats that are one document."""
        return self.source.whole()


def look_at(path: Path, label: str, *, salvage: bool = False) -> Content:
    """Tell what kind of content a file has; with `salvage`, JSON is cut to what is whole of it.

    Raises
    ------
    UnknownFormat
        A file of a kind that is not read, such as HDF5, or binary data.
    DataError
        The same of a file that is called a log; a file that is not there, cannot be opened or is
        empty.
    """
    _refuse_no_file(path, label)
    with path.open("rb") as file:
        head = file.read(8)
    foreign = next((what for magic, what in _FOREIGN.items() if head.startswith(magic)), None)
    if foreign is not None:
        message = f"{label}: {foreign}, which this version does not read. {_CURE}"
        raise DataError(message) if is_called_a_log(path) else UnknownFormat(message)
    for magic, kind in _BINARY.items():
        if head.startswith(magic):
            return Content(kind)
    source = Source.open(path)
    first = source.first_visible(source.start)
    if first == source.end:
        raise DataError(f"{label}: empty: there is nothing to read. Copy or run it again.")
    mark = source[first : first + 1]
    if mark == b"{":
        return _lines(source, first) or _object_or_lines(source, label, salvage)
    if mark == b"[":
        if salvage and not _is_whole(source.whole()):
            return _salvaged("json-array", source.whole(), label)
        return Content("json-array", source, _first_keys(source, first))
    if b"\x00" in source[source.start : source.start + 65536]:
        message = f"{label}: binary data of an unknown kind. {_CURE}"
        raise DataError(message) if is_called_a_log(path) else UnknownFormat(message)
    return Content("text", source)


def is_called_a_log(path: Path, *, content_known: bool = False) -> bool:
    """Say whether a file that is no log has the name of one, as `run.eval` or `run.json.gz`.

    A JSON file whose content is known to be something else (`package.json`) is no loss.

    Examples
    --------
    >>> is_called_a_log(Path("run.json.gz"))
    True
    >>> is_called_a_log(Path("package.json"), content_known=True)
    False
    """
    endings = {ending.lower() for ending in path.suffixes[-2:]}
    return _LOG in endings or (not content_known and bool(endings & _TABLES))


def _refuse_no_file(path: Path, label: str) -> None:
    """Refuse what is no file: nothing, a link to nothing, a folder, a pipe."""
    if path.is_file():
        return
    if path.is_symlink() and not path.exists():
        raise DataError(
            f"{label}: a link to {os.readlink(path)}, which is not there. Mend the link."
        )
    if path.is_dir() and not os.access(path, os.R_OK | os.X_OK):
        raise DataError(f"{label}: a folder that cannot be opened, with all files in it.")
    what = "does not exist"
    if path.is_dir():
        what = "is a folder: use read_logs"
    elif path.exists() or str(path) == "-":
        what = "is a pipe: save it as a file first"
    raise DataError(f"{path}: {what}.")


def _lines(source: Source, first: int) -> Content | None:
    """Recognise a large file with an object in its first line and more behind it.

    No such file is one object, so it need not be decoded whole in order to know.
    """
    end = source.find(b"\n", first) if len(source) >= MAPPED_BYTES else -1
    if end < 0 or source.first_visible(end) == source.end:
        return None
    line = source[first:end]
    keys = _keys(line)
    keys = _keys(line, forgiving=True) if keys is None else keys
    return None if keys is None else Content("json-lines", source, keys)


def _object_or_lines(source: Source, label: str, salvage: bool) -> Content:
    """Tell one object over the whole file from one object a line."""
    data = source.whole()
    whole = _keys(data)
    if whole is not None:
        return Content("json-object", source, whole)
    text = data.lstrip()
    end = text.find(b"\n")
    first, rest = (text[:end], text[end + 1 : end + _PEEK_BYTES]) if end >= 0 else (text, b"")
    keys = _keys(first)
    if keys is not None or rest.lstrip()[:1] == b"{":
        return Content("json-lines", source, keys or _keys(first, forgiving=True) or frozenset())
    whole = _keys(data, forgiving=True)
    if whole is not None:
        return Content("json-object", source, whole)
    keys = _keys(first, forgiving=True)
    if keys is not None:
        return Content("json-lines", source, keys)
    if salvage:
        return _salvaged("json-object", data, label)
    raise DataError(_broken(data, label))


def _breaks_at_end(data: bytes) -> bool:
    text = data.decode("utf-8", "replace").rstrip()
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos >= len(text)
    except (ValueError, RecursionError):
        return False
    return False


def _is_whole(data: bytes) -> bool:
    try:
        decode_record(data, "", Decoded())
    except DataError:
        return False
    return True


def _salvaged(kind: Kind, data: bytes, label: str) -> Content:
    """Write what is whole of a JSON document as a document of its own."""
    found, broken = salvaged_json(data, label)
    whole = json.dumps(found).encode()
    first = found if isinstance(found, dict) else found[0]
    keys = frozenset(first) if isinstance(first, dict) else frozenset()
    note = f"salvaged: the JSON breaks within {broken or 'what follows it'}; what is before is read"
    return Content(kind, Source(whole), keys, (Note("salvaged", note),))


def _first_keys(source: Source, first: int) -> frozenset[str]:
    """Give the keys of the first object of an array, reading no further than needed."""
    for size in (1 << 16, 1 << 22, 1 << 26):
        try:
            text = source[first + 1 : first + size].decode("utf-8", "replace").lstrip()
            found, _ = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            continue
        return frozenset(found) if isinstance(found, dict) else frozenset()
    return frozenset()


def _keys(data: bytes, *, forgiving: bool = False) -> frozenset[str] | None:
    found: Any
    try:
        found = decode_record(data, "", Decoded()) if forgiving else _RAW.decode(data)
    except (msgspec.MsgspecError, DataError, RecursionError):
        return None
    return frozenset(found) if isinstance(found, dict) else None


_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _broken(data: bytes, label: str) -> str:
    try:
        decode_record(data, label, Decoded())
    except DataError as error:
        why = str(error)
    else:
        why = f"{label} is not a JSON object."
    if data.rstrip()[-1:] != b"}" or _breaks_at_end(data):
        return f"{why} The file seems truncated. {_SALVAGE}"
    return f"{why} It is neither one JSON object nor JSON lines."
