"""Is a sigil, a sentence or a stage marker in a reply, in its exact form or leniently?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simtrack.options import ObligationKind, ObligationView
from simtrack.scoring.markers import Report
from simtrack.scoring.obligations_protocol import (
    COMPLETED,
    IN_PROGRESS,
    ObligationProtocol,
    bare_text,
    spaced,
)
from simtrack.scoring.protocol import StageProtocol

__all__ = ["Reader", "TagReader", "TextReader", "reader"]

#: From the words of a reply and the states that it may name to what it reports, and whether right.
Reader = Callable[[str, frozenset[str]], tuple[Report, bool]]
_SILENT = Report(False, False, None)


def reader(kind: ObligationKind, protocol: ObligationProtocol, view: ObligationView) -> Reader:
    """Give a function from (words, wanted states) to what they report and whether it is right."""
    if kind == "tag":
        return TagReader(protocol.stage, view)
    said = {COMPLETED: protocol.sigil if kind == "sigil" else protocol.complete}
    if kind == "sentence":
        said[IN_PROGRESS] = protocol.in_progress
    return TextReader(said, view)


class TextReader:
    """Reads one of a few fixed texts."""

    def __init__(self, said: Mapping[str, str], view: ObligationView) -> None:
        self.exact = view == "exact"
        self.said = {state: said[state].strip() for state in said}
        self.bare = {state: bare_text(said[state]) for state in said}

    def __call__(self, words: str, wanted: frozenset[str]) -> tuple[Report, bool]:
        """Say what a reply reports, and whether that is one of the wanted states."""
        plain = spaced(words)
        there = [state for state, bare in self.bare.items() if bare in plain]
        if not there:
            return _SILENT, False
        one = there[0] if len(there) == 1 else None
        if self.exact:
            formed = one is not None and self._ends_with(words, plain, one)
            return Report(True, formed, one), one in wanted
        right = next((state for state in there if state in wanted), None)
        return Report(True, True, right or one), right is not None

    def _ends_with(self, words: str, plain: str, state: str) -> bool:
        return words.rstrip().endswith(self.said[state]) and plain.count(self.bare[state]) == 1


class TagReader:
    """Reads a stage marker, by Algorithm 1's parser or wherever it stands."""

    def __init__(self, stage: StageProtocol, view: ObligationView) -> None:
        self.exact = view == "exact"
        self.read = stage.marker().read
        self.values = stage.marker().values
        self.stage_of = {value: name for name, value in stage.values.items()}

    def __call__(self, words: str, wanted: frozenset[str]) -> tuple[Report, bool]:
        """Say what a reply reports, and whether that is one of the wanted states."""
        found = self.read(words)
        name = self.stage_of.get(found.value or "", found.value)
        report = Report(found.emitted, found.well_formed, name)
        if self.exact or not found.emitted:
            return report, name in wanted
        there = [self.stage_of.get(value, value) for value in self.values(words)]
        right = next((state for state in there if state in wanted), None)
        one = right or name or (there[0] if there else None)
        return Report(True, bool(there), one), right is not None
