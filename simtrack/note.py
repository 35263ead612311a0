"""What a reader of a number should be told, as text that carries its code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["ROUTINE", "Note", "plain_notes"]

#: Codes of notes that say what always holds for such data; `-q` leaves them out.
ROUTINE: Final = frozenset(
    {"columns-guessed", "default-interval", "assumed-icc", "clusters-are-units"}
)


class Note(str):
    """One line for the reader, and a code for code: no program has to parse the text.

    A note is a string, so it prints, sorts and compares as its text.

    Parameters
    ----------
    code : str
        What kind of note it is, in lower case with hyphens, such as "unpaired".
    text : str
        One line; white space is folded.
    where : str
        What it speaks of: a metric, a group, a file; empty for everything.
    n : int
        How many trials, clusters or files it counts; 0 where it counts none.

    Examples
    --------
    >>> note = Note("unpaired", "3 clusters have one arm only", n=3)
    >>> print(note, note.code, note.n)
    3 clusters have one arm only unpaired 3
    """

    code: str
    where: str
    n: int

    def __new__(cls, code: str, text: str, where: str = "", n: int = 0) -> Note:
        """Fold white space, and keep the code beside the text."""
        self = super().__new__(cls, " ".join(text.split()))
        self.code, self.where, self.n = code, where, n
        return self

    def __getnewargs__(self) -> tuple[str, str, str, int]:  # type: ignore[override]
        return self.code, str(self), self.where, self.n

    @classmethod
    def of(cls, text: str, code: str = "") -> Note:
        """Give the note itself, or a text as a note."""
        return text if isinstance(text, Note) else cls(code, text)

    def at(self, label: str) -> Note:
        """Give the note with the file (or group) that it is about before its text.

        Examples
        --------
        >>> Note("salvaged", "line 3 is torn").at("a.jsonl")
        'a.jsonl: line 3 is torn'
        """
        return Note(self.code, f"{label}: {self}", self.where or label, self.n)

    def bare(self, label: str) -> Note:
        """Give the note without the label that `at` put before it."""
        where = "" if self.where == label else self.where
        return Note(self.code, self.removeprefix(f"{label}: "), where, self.n)

    @property
    def is_routine(self) -> bool:
        """Whether it says only what always holds for such data."""
        return self.code in ROUTINE

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        found: dict[str, object] = {"code": self.code, "text": str(self)}
        return (
            found
            | ({"where": self.where} if self.where else {})
            | ({"n": self.n} if self.n else {})
        )


def plain_notes(notes: Iterable[str]) -> list[dict[str, object]]:
    """Give notes as objects for JSON; a text without a code has an empty one."""
    return [Note.of(note).to_dict() for note in notes]
