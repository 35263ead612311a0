"""What models said, reply by reply, with the labels of the trial table beside each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.records.records import Records

__all__ = ["Replies"]


@dataclass(frozen=True, slots=True, eq=False)
class Replies:
    """What did the model say, and what was said of it?

    Schemes read the texts; oracles see `records` alone, so that truth cannot depend on a reply.

    Parameters
    ----------
    records : Records
        One row a reply. Labels as in a trial table, without metric and score; `status` says
        whether there is a valid reply ("scored") or what became of it. Where every turn was read,
        `trajectory`, `turn` (from 0 within it) and `role` (user, assistant or tool) tell them
        apart.
    texts : sequence of str or None
        The words of each reply; None where there is none.
    calls : sequence of tuple of str, or None
        The names of the tools that each reply calls; None where the log does not say.
    verdicts : mapping of metric to float64 array, shape (rows,)
        The scores that the log holds; NaN where it holds none.

    Examples
    --------
    >>> rows = Records.from_columns({"unit": ["q1", "q2"], "arm": ["a", "b"]})
    >>> replies = Replies(rows, ["yes", None], [(), None])
    >>> replies.select(arm="a").texts
    ('yes',)
    """

    records: Records
    texts: Sequence[str | None]
    calls: Sequence[tuple[str, ...] | None]
    verdicts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lengths = {"records": len(self.records), "texts": len(self.texts), "calls": len(self.calls)}
        lengths |= {name: column.size for name, column in self.verdicts.items()}
        if len(set(lengths.values())) > 1:
            raise InputError("replies", "of one length", lengths)

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, index: NDArray[np.intp] | NDArray[np.bool_]) -> Replies:
        """Keep the rows that `index` (positions or a mask) selects."""
        rows = np.flatnonzero(index) if index.dtype == np.bool_ else index
        listed = rows.tolist()
        return Replies(
            self.records.take(rows),
            tuple(self.texts[row] for row in listed),
            tuple(self.calls[row] for row in listed),
            {name: column[rows] for name, column in self.verdicts.items()},
        )

    def select(self, **labels: str | Sequence[str]) -> Replies:
        """Keep the replies with these labels, and the losses that may have them."""
        position = np.arange(len(self), dtype=np.float64)
        marked = Records(
            self.records.factors,
            {"position": position},
            self.records.losses,
            self.records.parents,
            self.records.kind,
            self.records.notes,
        ).select(**labels)
        kept = self.take(marked.numbers["position"].astype(np.intp))
        records = self.records.select(**labels)
        return Replies(records, kept.texts, kept.calls, kept.verdicts)

    def with_texts(self, texts: Sequence[str | None]) -> Replies:
        """Put other words in place of each reply's."""
        return Replies(self.records, texts, self.calls, self.verdicts)

    @staticmethod
    def concatenate(parts: Sequence[Replies]) -> Replies:
        """Stack replies; a verdict that one of them lacks is missing in its rows."""
        if len(parts) == 1:
            return parts[0]
        names = dict.fromkeys(name for part in parts for name in part.verdicts)
        return Replies(
            Records.concatenate([part.records for part in parts]),
            tuple(text for part in parts for text in part.texts),
            tuple(call for part in parts for call in part.calls),
            {
                name: np.concatenate(
                    [part.verdicts.get(name, np.full(len(part), np.nan)) for part in parts]
                )
                for name in names
            },
        )

    def __repr__(self) -> str:
        return f"Replies({len(self)} rows: {', '.join(self.records.factors)})"
