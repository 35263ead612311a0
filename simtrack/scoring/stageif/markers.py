"""Does a reply carry a report, is it well formed, and what does it say? Equal rules for XML, JSON.

A marker is `<stage>VALUE</stage>` or `"stage": "VALUE"`, braces around it allowed. It counts as a
report where it is anchored: nothing but blanks follow it on its line ("end"), or it is alone on its
line ("line"). A report is well formed if exactly one marker is anchored and stands on the last line
that is not blank. A marker within a sentence is a mention of one, not a report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from simtrack.errors import InputError
from simtrack.options import Encoding, Placement, Uniqueness, choice

__all__ = ["Marker", "Report"]

_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


class Report(NamedTuple):
    """What a reply says of its stage.

    Attributes
    ----------
    emitted : bool
        Any trace of marker syntax, whole or broken.
    well_formed : bool
        One anchored marker, on the last line.
    value : str or None
        Its value; of an ill-formed report the only value that whole markers in it name, if there
        is just one.
    """

    emitted: bool
    well_formed: bool
    value: str | None


_SILENT = Report(False, False, None)


class Marker:
    """The reader of one kind of marker.

    Parameters
    ----------
    tag : str
        The name of the tag, or of the JSON key.
    encoding : {"xml", "json"}
    placement : {"end", "line"}
        Where in its line a report stands: at the end, or alone.
    unique : {"anchored", "anywhere"}
        Which markers there may be one of: those that are reports, or all, mentions included.

    Examples
    --------
    >>> read = Marker().read
    >>> read("Done.\\n<stage>completed</stage>")
    Report(emitted=True, well_formed=True, value='completed')
    >>> read("<stage>completed</stage>\\nAnything else?")
    Report(emitted=True, well_formed=False, value='completed')
    >>> read("Done.")
    Report(emitted=False, well_formed=False, value=None)
    """

    __slots__ = (
        "_after", "_alone", "_before", "_final", "_named", "_opening", "_quick", "_token",
        "_unique", "_whole", "encoding", "placement", "tag", "unique",
    )  # fmt: skip

    def __init__(
        self,
        tag: str = "stage",
        encoding: Encoding = "xml",
        placement: Placement = "end",
        unique: Uniqueness = "anchored",
    ) -> None:
        choice("encoding", encoding, Encoding)
        choice("placement", placement, Placement)
        choice("unique", unique, Uniqueness)
        if not _TAG.fullmatch(tag):
            raise InputError("tag", "a name of letters, digits, '_', '-' and '.'", repr(tag))
        name = re.escape(tag)
        # Possessive quantifiers: a thousand blanks in a reply must not cost a million steps.
        if encoding == "xml":
            self._whole = re.compile(rf"<{name}>([^<>\s](?:[^<>\n]*[^<>\s])?)</{name}>")
            self._named = self._whole
            self._token = re.compile(rf"<\s*+/?+\s*+{name}(?![\w.-])", re.IGNORECASE)
            after, before = r"[^\S\n]*+(?:\n|\Z)", r"[^\S\n]*+"
            self._opening, closing = f"<{tag}>", ""
        else:
            blank, value = r"[^\S\n]*+", r'([^"\\\s](?:[^"\\\n]*[^"\\\s])?)'
            self._whole = re.compile(rf'"{name}"{blank}:{blank}"{value}"')
            self._named = re.compile(rf'"{name}\\*+"{blank}:{blank}\\*+"{value}\\*+"')
            self._token = re.compile(rf"""["']{name}\\*+["']\s*+:""", re.IGNORECASE)
            after = r"[^\S\n]*+\}?[^\S\n]*+(?:\n|\Z)"
            before = r"[^\S\n]*+\{?[^\S\n]*+"
            self._opening, closing = f'"{tag}"', r"[^\S\n]*+\}?"
        self._final = re.compile(rf"{self._whole.pattern}{closing}\s*+\Z")
        self._after = re.compile(after)
        self._alone = placement == "line"
        self._before = re.compile(before) if self._alone else None
        self._unique = unique == "anywhere"
        self._quick = tag.lower()
        self.tag, self.encoding, self.placement, self.unique = tag, encoding, placement, unique

    def read(self, text: str) -> Report:
        """Read one reply."""
        at = text.find(self._opening)
        if at >= 0 and (at == 0 or not self._alone or text[at - 1] == "\n"):
            only = self._final.match(text, at)
            if only is not None and text.rfind(self._opening) == at:
                return Report(True, True, only.group(1))  # by far the usual case
        elif self._quick not in text and self._quick not in text.lower():
            return _SILENT
        if self._token.search(text) is None:
            return _SILENT
        found = list(self._whole.finditer(text))
        anchored = [m for m in found if self._after.match(text, m.end())]
        if self._before is not None:
            anchored = [m for m in anchored if self._is_alone(text, m.start())]
        of_these = found if self._unique else anchored
        if len(of_these) == 1 == len(anchored) and self._is_last(text, anchored[0].end()):
            return Report(True, True, anchored[0].group(1))
        values = set(self.values(text))
        return Report(True, False, values.pop() if len(values) == 1 else None)

    def read_all(self, texts: Iterable[str | None]) -> Sequence[Report]:
        """Read many replies; one that is None is silent."""
        read = self.read
        return [_SILENT if text is None else read(text) for text in texts]

    def values(self, text: str) -> list[str]:
        """Give the values of all whole markers of a reply, wherever they stand."""
        return [m.group(1) for m in self._named.finditer(text)]

    def replaced(self, text: str, value: str) -> str:
        """Put another value into every whole marker of a reply, wherever it stands."""
        parts, last = [], 0
        for m in self._named.finditer(text):
            parts += [text[last : m.start(1)], value]
            last = m.end(1)
        return "".join((*parts, text[last:]))

    def _is_alone(self, text: str, start: int) -> bool:
        line = text.rfind("\n", 0, start) + 1
        assert self._before is not None
        return self._before.fullmatch(text, line, start) is not None

    def _is_last(self, text: str, end: int) -> bool:
        rest = text[end:].strip()
        return not rest or (rest == "}" and "\n" not in text[end:].rstrip())
