"""What was left out, how many, and why: nothing leaves a table without an entry here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

__all__ = ["Loss", "Losses"]

_MOST_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Loss:
    """How many opportunities were lost to one cause?

    Parameters
    ----------
    kind : str
        A `Status` other than "scored", or what a reduction left out: "unpaired", "unlabelled",
        "undefined", "duplicate".
    n : int
        How many opportunities (planned trials, or rows of the table that was reduced).
    reason : str
        One line that a reader of the report can act on.
    where : tuple of (factor, level) pairs
        The group it happened in, sorted; empty when it cannot be said.
    examples : tuple of str
        Up to five ids.
    """

    kind: str
    n: int
    reason: str
    where: tuple[tuple[str, str], ...] = ()
    examples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "where", tuple(sorted(self.where)))
        object.__setattr__(self, "examples", tuple(self.examples)[:_MOST_EXAMPLES])


@dataclass(frozen=True, slots=True)
class Losses:
    """What was left out so far, entry by entry?

    Examples
    --------
    >>> lost = Losses((Loss("errored", 2, "upstream 502"),)) + Losses((Loss("missing", 1, "cut"),))
    >>> lost.by_kind(), lost.total()
    ({'errored': 2, 'missing': 1}, 3)
    """

    entries: tuple[Loss, ...] = field(default=())

    def __add__(self, other: Losses) -> Losses:
        return Losses(self.entries + other.entries)

    def __bool__(self) -> bool:
        return bool(self.entries)

    @classmethod
    def of(cls, entries: Iterable[Loss]) -> Losses:
        """Collect entries, dropping those that lost nothing."""
        return cls(tuple(entry for entry in entries if entry.n))

    def total(self, kind: str | None = None) -> int:
        """Count the opportunities lost, of one kind or of all."""
        return sum(entry.n for entry in self.entries if kind is None or entry.kind == kind)

    def by_kind(self) -> dict[str, int]:
        """Count the opportunities lost by kind, kinds in alphabetical order."""
        found: dict[str, int] = {}
        for entry in self.entries:
            found[entry.kind] = found.get(entry.kind, 0) + entry.n
        return dict(sorted(found.items()))

    def within(self, labels: Mapping[str, str]) -> Losses:
        """Keep the entries that are known to lie in the group `labels`."""
        wanted = set(labels.items())
        return Losses(tuple(entry for entry in self.entries if wanted <= set(entry.where)))
