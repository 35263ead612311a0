"""Do the turns between a rule and its test give the rule away? Their words against the rule's."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.options import choice
from simtrack.records import Records, Replies
from simtrack.scoring.constraints.text import words
from simtrack.validate import integer, real

__all__ = [
    "FUNCTION_WORDS",
    "SIMILARITY_CEILING",
    "SIMILARITY_PRINTED",
    "TokenUnit",
    "jaccard",
    "score_distractors",
    "token_set",
]

TokenUnit = Literal["words", "pairs"]
#: Turns are to stay below this (StateTrack, section 4).
SIMILARITY_CEILING = 0.05
#: The mean similarity of each category, 25 scenarios each (StateTrack, Table 8).
SIMILARITY_PRINTED: Mapping[str, float] = {
    "numerical": 0.042,
    "persona": 0.038,
    "format": 0.035,
    "factual": 0.040,
    "logical": 0.044,
}
_ENGLISH = """
a an and are as at be been but by can could did do does for from had has have he her him his how i
if in into is it its may me might my no nor not of on or our shall she should so than that the their
them then there these they this those to us was we were what when where which who will with would
you your
"""
#: English words without much meaning. The paper leaves such words out and gives no list.
FUNCTION_WORDS = frozenset(_ENGLISH.split())


def token_set(
    text: str, unit: TokenUnit = "words", ignoring: Collection[str] = ()
) -> frozenset[str]:
    """Give the set of words of a text, or of neighbouring pairs of characters within its words.

    Words are runs of letters and digits (joined by hyphen, apostrophe, point or comma), compared
    without case and in Unicode's compatible form (NFKC). Pairs suit scripts that put no blanks
    between words.

    Examples
    --------
    >>> sorted(token_set("Use exactly three BULLET points; points!", ignoring=["use"]))
    ['bullet', 'exactly', 'points', 'three']
    >>> sorted(token_set("三つの点", "pairs"))
    ['つの', 'の点', '三つ']
    """
    choice("unit", unit, TokenUnit)
    plain = unicodedata.normalize("NFKC", text).casefold()
    found = {word for word in words(plain, "run") if word not in ignoring}
    if unit == "words":
        return frozenset(found)
    return frozenset(w[k : k + 2] for w in found for k in range(max(1, len(w) - 1)))


def jaccard(first: Collection[str], second: Collection[str]) -> float:
    """Give the share of all tokens that both sets have; NaN for two empty sets.

    Examples
    --------
    >>> jaccard({"a", "b", "c"}, {"b", "c", "d", "e"})
    0.4
    """
    one, two = frozenset(first), frozenset(second)
    either = len(one | two)
    return len(one & two) / either if either else float("nan")


def score_distractors(
    turns: Replies,
    rules: Mapping[str, str],
    *,
    key: str = "unit",
    unit: TokenUnit = "words",
    ignoring: Collection[str] = (),
    ceiling: float = SIMILARITY_CEILING,
    skip_first: int = 1,
    skip_last: int = 1,
) -> Records:
    """How similar is each distractor turn to the rule (or the task) that it stands behind?

    The score is a real number: take its mean by `records.sums(...)`. Equal weight for each turn is
    not equal weight for each dialogue: give `cluster="unit"` and a mean of dialogues, if that is
    meant. The paper prints means by category (`SIMILARITY_PRINTED`) and 0.040 over all dialogues;
    it does not print its tokens, so that only a log's own numbers can be compared with its ceiling.

    Parameters
    ----------
    turns : Replies
        Messages. Where roles are known (`read_replies(..., turns="all")`) those of the user count;
        of each `trajectory`, the first `skip_first` (the rule's) and the last `skip_last` (the
        test's) do not. Without roles every row is a distractor.
    rules : mapping of label in `key` to text
        The rule's words, or the task's.
    unit, ignoring
        See `token_set`; words to ignore are left out of both sides.
    ceiling : float in [0, 1]
        Turns below it are marked.

    Returns
    -------
    Records
        One row a turn, kind "turn": its labels, `below` ("1", "0"), and the number `value` in
        [0, 1]. A turn without a rule or without words on both sides is unscored.

    Examples
    --------
    >>> rows = Records.from_columns({"unit": ["q1", "q1"]})
    >>> turns = Replies(rows, ["What about hotels?", "Bullet points, three?"], [None] * 2)
    >>> found = score_distractors(turns, {"q1": "Always use three bullet points"})
    >>> found.numbers["value"].tolist(), found.factors["below"].values()
    ([0.0, 0.6], ['1', '0'])
    """
    real("ceiling", ceiling, 0.0, 1.0)
    integer("skip_first", skip_first, 0)
    integer("skip_last", skip_last, 0)
    rows = turns
    if "role" in turns.records.factors:
        rows = turns.select(role="user")
        rows = rows.take(_between(rows.records, skip_first, skip_last))
    if not len(rows):
        raise DataError("no distractor turn is left: read all turns, or skip fewer of them.")
    labels = rows.records.factor(key)
    unknown = sorted(set(rules) - set(labels.levels))
    if len(unknown) == len(rules):
        shown = f"none of {', '.join(unknown[:5]) or 'no rules'}"
        raise InputError("rules", f"of the labels in {key}", shown)
    theirs = {name: token_set(text, unit, ignoring) for name, text in rules.items()}
    value = np.full(len(rows), np.nan)
    for row, (name, text) in enumerate(zip(labels.values(), rows.texts, strict=True)):
        if name in theirs and text is not None:
            value[row] = jaccard(token_set(text, unit, ignoring), theirs[name])
    return _records(rows, value, ceiling, unit, ignoring)


def _records(
    rows: Replies,
    value: NDArray[np.float64],
    ceiling: float,
    unit: TokenUnit,
    ignoring: Collection[str],
) -> Records:
    gone = np.isnan(value)
    records = rows.records
    status = records.factors.get("status") or Factor.constant("scored", len(rows))
    reason = records.factors.get("reason")
    why = reason.values() if reason is not None else [None] * len(rows)
    untold = gone & np.array([s == "scored" for s in status.values()])
    factors = {n: f for n, f in records.factors.items() if n not in ("metric", "role")}
    factors |= {
        "status": Factor.from_values(
            ["unscored" if u else s for u, s in zip(untold, status.values(), strict=True)]
        ),
        "reason": Factor.from_values(
            ["no rule, or no words" if u else w for u, w in zip(untold, why, strict=True)]
        ),
        "below": Factor(("0", "1"), np.where(gone, -1, value < ceiling).astype(np.int32)),
    }
    numbers = {k: v for k, v in records.numbers.items() if k not in (*factors, "value")}
    told = f"Jaccard similarity of sets of {unit}"
    told += f", {len(ignoring)} words ignored" if ignoring else ", no word ignored"
    above = int((value >= ceiling).sum())
    notes = (*records.notes, told, f"{above} of {int((~gone).sum())} turns reach {ceiling:g}")
    return Records(factors, {"value": value, **numbers}, records.losses, records.parents,
                   "turn", notes)  # fmt: skip


def _between(records: Records, first: int, last: int) -> NDArray[np.intp]:
    """Give the rows that are neither among the first nor the last of their trajectory."""
    whose, turn = records.factor("trajectory"), records.factor("turn").values()
    order: dict[int, list[tuple[int, int]]] = {}
    for row, (code, at) in enumerate(zip(whose.codes.tolist(), turn, strict=True)):
        order.setdefault(code, []).append((int(at or 0), row))
    kept = []
    for found in order.values():
        found.sort()
        kept += [row for _, row in found[first : max(first, len(found) - last)]]
    return np.array(sorted(kept), dtype=np.intp)
