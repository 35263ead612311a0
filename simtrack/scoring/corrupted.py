"""The corruptions that every scheme of checkers can be put to: silence, and foreign words."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from simtrack.counts import Factor
from simtrack.records import Replies

__all__ = ["FOREIGN", "blank_and_foreign"]

#: What answers no task and follows no rule that anybody would declare.
FOREIGN = "simtrack-corrupted"


def blank_and_foreign(
    replies: Replies, columns: Collection[str] = (), exempt: Mapping[str, str] | None = None
) -> list[tuple[str, Replies, Mapping[str, str]]]:
    """Give the replies blanked, and each with the same foreign word in its place.

    Parameters
    ----------
    replies : Replies
    columns : names
        Recorded verdicts; they were given on other words and are taken away.
    exempt : mapping of column to label
        Rows in which silence is right; foreign words are not.
    """
    gone = Factor((), np.full(len(replies), -1, dtype=np.int32))
    held = {name: gone for name in columns if name in replies.records.factors}
    records = replies.records.with_factors(**held) if held else replies.records
    quiet = [None if call is None else () for call in replies.calls]

    def said(word: str) -> Replies:
        texts = [None if text is None else word for text in replies.texts]
        return Replies(records, texts, quiet, replies.verdicts)

    return [
        ("blank replies", said(""), exempt or {}),
        ("foreign replies", said(FOREIGN), exempt or {}),
    ]
