"""What does an Inspect file hold? Its header and samples, from an archive or one JSON object."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from msgspec import Struct

from simtrack.counts import natural_order
from simtrack.logs.columns import label as as_label
from simtrack.logs.content import UnknownFormat
from simtrack.logs.decode import Decoded, decode
from simtrack.logs.inspect.changes import version_of
from simtrack.logs.inspect.fields import Header, JsonLog, Sample
from simtrack.logs.salvage import SalvagedArchive
from simtrack.logs.zips import Archive, shown
from simtrack.note import Note
from simtrack.options import Detail

__all__ = ["InspectLog", "open_archive", "open_object"]

_START, _HEADER, _SUMMARIES = "_journal/start.json", "header.json", "summaries.json"
_JOURNAL = re.compile(r"_journal/summaries/([0-9]+)\.json")
_KNOWN_VERSION = 2
_LAST_SUMMARIZED = (0, 3, 178)
DETAILS: tuple[str, ...] = get_args(Detail)


class _Summaries(Struct):
    """A list of summaries, put in an object so that every document decodes alike."""

    samples: list[Sample]


@dataclass(frozen=True, slots=True)
class InspectLog:
    """What one Inspect log holds, before it becomes a table.

    `label` names the file in messages; `status` is started, success, cancelled or error; each
    (id, epoch) occurs once in `samples`, in file order.
    """

    label: str
    header: Header
    samples: tuple[Sample, ...]
    notes: tuple[str, ...]

    @property
    def status(self) -> str:
        """The status of the run; a log without one was still being written."""
        return self.header.status or "started"


def open_archive(
    path: Path,
    label: str,
    detail: Detail = "samples",
    *,
    salvage: bool = False,
    kind: type[Sample] = Sample,
) -> InspectLog:
    """Read an `.eval` archive, whatever its name: header, then samples or their summaries.

    With detail "summaries" the members with the samples are not touched: much faster, but
    Inspect cuts long metadata there and, in some versions, leaves stale rows behind. With
    `salvage`, a zip without a usable directory is read by its local headers, sample by sample.
    `kind` names the fields that are read of each sample.
    """
    seen = Decoded()
    with path.open("rb") as file:
        archive = SalvagedArchive(file, label) if salvage else Archive(file, label)
        lost: list[str] = archive.notes() if isinstance(archive, SalvagedArchive) else []
        detail = "samples" if lost else detail
        name = next((n for n in (_HEADER, _START) if n in archive.members), None)
        if name is None:
            held = ", ".join(map(shown, list(archive.members)[:3])) or "nothing"
            raise UnknownFormat(
                f"{label}: a zip archive, but not an Inspect log: it holds {held} and no "
                "header.json. Give a .eval file, or unpack the tables in it."
            )
        header = decode(archive.read(name), Header, f"{label}: {name}", seen)
        samples, notes = _samples(archive, label, detail, name == _HEADER, seen, kind)
        if detail == "summaries" and (0,) < version_of(header) < _LAST_SUMMARIZED:
            notes.append("this version of Inspect may leave the last sample out of the summaries")
        if header.invalidated and notes:  # some samples are known from summaries
            notes.append("summaries do not say which samples were invalidated; read the samples")
        notes += lost
    if archive.repeated:
        notes.append(f"{archive.repeated} members occur more than once; the last one counts")
    return _log(label, header, samples, notes, seen)


def open_object(data: bytes, label: str, kind: type[Header] = JsonLog) -> InspectLog:
    """Read a log that is one JSON object, of which `kind` names the fields."""
    seen = Decoded()
    found = decode(data, kind, label, seen)
    samples: list[Sample] | None = getattr(found, "samples", None)
    notes = []
    if samples is None:
        notes.append("the file holds no samples, only the header")
    return _log(label, found, samples or [], notes, seen)


def _samples(
    archive: Archive,
    label: str,
    detail: Detail,
    finished: bool,
    seen: Decoded,
    kind: type[Sample],
) -> tuple[list[Sample], list[str]]:
    names = [n for n in archive.members if n.startswith("samples/") and n.endswith(".json")]
    if detail == "summaries":
        return _summaries(archive, label, finished, seen), [
            "read from the summaries, where Inspect may cut long metadata or leave stale rows"
        ]
    samples = [decode(archive.read(n), kind, f"{label}: {shown(n)}", seen) for n in names]
    if finished and samples and not isinstance(archive, SalvagedArchive):
        return samples, []
    have = {(s.id, s.epoch) for s in samples}
    only = [s for s in _summaries(archive, label, finished, seen) if (s.id, s.epoch) not in have]
    notes = [f"{len(only)} samples are known from the summaries alone"] if only else []
    return samples + only, notes


def _summaries(archive: Archive, label: str, finished: bool, seen: Decoded) -> list[Sample]:
    if finished and _SUMMARIES in archive.members:
        names = [_SUMMARIES]
    else:
        names = natural_order(n for n in archive.members if _JOURNAL.fullmatch(n))
    rows: list[Sample] = []
    for name in names:
        wrapped = b'{"samples":' + archive.read(name) + b"}"
        rows += decode(wrapped, _Summaries, f"{label}: {name}", seen).samples
    return rows


def _log(
    label: str, header: Header, samples: Iterable[Sample], notes: list[str], seen: Decoded
) -> InspectLog:
    listed = list(samples)
    # Ids are told apart as they are written: those that NFC makes equal are two samples still.
    last = {(s.id if isinstance(s.id, str) else as_label(s.id), s.epoch): s for s in listed}
    if len(last) < len(listed):
        older = len(listed) - len(last)
        told = f"{older} older readings of a sample were superseded"
        notes.append(Note("superseded", told, n=older))
    kinds = {type(s.id) for s in listed}
    if len(kinds) > 1:
        notes.append("sample ids are partly numbers and partly text; both become text")
    if (header.version or 0) > _KNOWN_VERSION:
        notes.append(f"log version {header.version} is newer than this reader knows (2)")
    return InspectLog(label, header, tuple(last.values()), (*notes, *seen.notes()))
