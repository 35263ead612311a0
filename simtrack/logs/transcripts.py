"""A trial table and the messages of its trials as replies: the last of each, or every one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor, Losses
from simtrack.options import Turns
from simtrack.records import Records, Replies

__all__ = ["ROLES", "Dialogue", "Said", "text_parts", "to_replies"]

#: The roles whose messages are kept; a prompt of the system is no part of a dialogue.
ROLES = ("user", "assistant", "tool")
#: Columns of the trial table that belong to a reading of a trial, not to a reply.
_OF_READINGS = ("metric", "reason", "status")
#: What a log says of a trial that has a reply all the same.
_WITH_REPLY = frozenset({"scored", "unscored", "limited"})
_NO_LABEL = "(none)"


class Said(NamedTuple):
    """One message: who speaks, the words, and the names of the tools that are called."""

    role: str
    text: str | None
    calls: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The messages of one trial: its name, all in order, and the reply that was scored."""

    name: str
    messages: Sequence[Said] = ()
    last: Said | None = None


def text_parts(content: Sequence[object]) -> list[str]:
    """Give the words of a message logged as parts; images, reasoning and tool use are no words.

    Examples
    --------
    >>> text_parts([{"type": "text", "text": "Done."}, {"type": "image", "image": "a.png"}])
    ['Done.']
    """
    return [
        part["text"]
        for part in content
        if isinstance(part, dict)
        and part.get("type") == "text"
        and isinstance(part.get("text"), str)
    ]


def to_replies(table: Records, dialogues: Sequence[Dialogue], turns: Turns = "last") -> Replies:
    """Give one row a trial, or one a message, with the verdicts of the log beside it.

    A trial that errored or was invalidated has no valid last reply, whatever its messages hold.
    Its messages were said all the same; the column `ended` says what became of the trial.

    Parameters
    ----------
    table : Records
        The trial table: for each dialogue one row a metric, one after the other.
    dialogues : sequence of Dialogue
        In the order of the table.
    """
    base, verdicts = _by_trial(table, len(dialogues))
    if turns == "all":
        return _every_turn(base, verdicts, dialogues)
    status = base.factors["status"]
    lost = np.array([level != "scored" for level in status.levels], dtype=bool)[status.codes]
    said = [
        None if gone else _last(dialogue)
        for dialogue, gone in zip(dialogues, lost.tolist(), strict=True)
    ]
    missing = np.array([one is None or one.text is None for one in said], dtype=bool) & ~lost
    base = _without_reply(base, missing)
    texts = [None if one is None else one.text for one in said]
    return Replies(base, texts, [None if one is None else one.calls for one in said], verdicts)


def _last(dialogue: Dialogue) -> Said | None:
    if dialogue.last is not None:
        return dialogue.last
    return next((m for m in reversed(dialogue.messages) if m.role == "assistant"), None)


def _by_trial(table: Records, rows: int) -> tuple[Records, dict[str, NDArray[np.float64]]]:
    """Put the readings of a trial beside one another, and say which trials have a reply."""
    metrics = table.factors["metric"].levels
    width = max(len(table) // max(rows, 1), 1)
    first = np.arange(rows, dtype=np.intp) * width
    status, reason = table.factors["status"].take(first), table.factors["reason"].take(first)
    lost = np.array([level not in _WITH_REPLY for level in status.levels], dtype=bool)[status.codes]
    verdicts = {
        name: table.numbers["value"].reshape(rows, width)[:, k]
        for k, name in enumerate(metrics[:width])
    }
    labels = {n: f.take(first) for n, f in table.factors.items() if n not in _OF_READINGS}
    labels["status"] = _over(status, ~lost, "scored")
    why = np.where(lost, reason.codes, np.int32(-1)).astype(np.int32)
    labels["reason"] = Factor(reason.levels, why)
    numbers = {n: v[first] for n, v in table.numbers.items() if n != "value"}
    notes = tuple(dict.fromkeys(table.notes))
    return Records(labels, numbers, _once(table), kind="reply", notes=notes), verdicts


def _once(table: Records) -> Losses:
    """Keep the losses of one metric: they are counted once for each."""
    levels = table.factors["metric"].levels
    first = levels[0] if levels else None
    return Losses.of(
        replace(loss, where=tuple(kv for kv in loss.where if kv[0] != "metric"))
        for loss in table.losses.entries
        if dict(loss.where).get("metric") in (first, None, _NO_LABEL)
    )


def _without_reply(base: Records, missing: NDArray[np.bool_]) -> Records:
    return base.with_factors(
        status=_over(base.factors["status"], missing, "missing"),
        reason=_over(base.factors["reason"], missing, "the log holds no reply"),
    )


def _every_turn(
    base: Records, verdicts: Mapping[str, NDArray[np.float64]], dialogues: Sequence[Dialogue]
) -> Replies:
    """Give one row a message; a trial without any keeps one row, and its status."""
    nothing = (Said("", None, None),)
    kept = [[m for m in d.messages if m.role in ROLES] or nothing for d in dialogues]
    index = np.repeat(np.arange(len(kept), dtype=np.intp), [len(messages) for messages in kept])
    flat = [message for messages in kept for message in messages]
    there = np.array([bool(message.role) for message in flat], dtype=bool)
    ended = base.factors["status"].take(index)
    records = base.take(index).with_factors(
        trajectory=Factor.from_values([d.name for d in dialogues]).take(index),
        turn=Factor.from_values([str(k) for messages in kept for k in range(len(messages))]),
        role=Factor.from_values([message.role or None for message in flat]),
        ended=ended,
        status=_over(ended, there, "scored"),
    )
    return Replies(
        records,
        [message.text for message in flat],
        [message.calls for message in flat],
        {name: column[index] for name, column in verdicts.items()},
    )


def _over(factor: Factor, where: NDArray[np.bool_], level: str) -> Factor:
    """Put another label where a mask holds."""
    if not where.any():
        return factor
    rows = np.arange(len(factor))
    both = Factor.concatenate([factor, Factor.constant(level, len(factor))])
    return both.take(np.where(where, len(factor) + rows, rows)).compact()
