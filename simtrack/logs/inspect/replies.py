"""The replies of an Inspect log: the last one of each sample, or every turn of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.logs.inspect.fields import Header, Sample
from simtrack.logs.inspect.source import InspectLog
from simtrack.logs.inspect.table import to_records
from simtrack.options import Turns
from simtrack.records import Records, Replies

__all__ = ["JsonReplyLog", "ReplySample", "to_replies"]

_ATTACHED = "attachment://"
#: Columns of the trial table that belong to a reading of a trial, not to a reply.
_OF_READINGS = ("metric", "reason", "status")
#: What a log says of a trial that has a reply all the same.
_WITH_REPLY = frozenset({"scored", "unscored", "limited"})
_ROLES = ("user", "assistant", "tool")


class Call(Struct, gc=False):
    """One tool call of a reply."""

    function: str = ""


class Message(Struct, gc=False):
    """One message: content is text, or a list of parts of which those of type text are read."""

    role: str = "assistant"
    content: Any = None
    tool_calls: list[Call] | None = None


class Choice(Struct, gc=False):
    """One answer of the model."""

    message: Message | None = None


class Output(Struct, gc=False):
    """What the last call of the model gave."""

    choices: list[Choice] = []
    completion: str | None = None


class ReplySample(Sample, gc=False):
    """A sample with what the model said."""

    output: Output | None = None
    messages: list[Message] | None = None
    attachments: dict[str, str] | None = None


class JsonReplyLog(Header):
    """A whole log in one JSON object, with replies."""

    samples: list[ReplySample] | None = None


def to_replies(
    log: InspectLog, *, turns: Turns = "last", scores: Mapping[str, float | None] | None = None
) -> Replies:
    """Give one row a sample and epoch, or one a message, with the verdicts of the log beside it.

    A sample that errored or was invalidated has no valid reply, whatever its messages hold.
    """
    table = to_records(log, scores=scores, lenient=True)
    width = max(len(table.factors["metric"].levels), 1)
    rows = len(log.samples)
    first = np.arange(rows, dtype=np.intp) * width
    status, reason = table.factors["status"], table.factors["reason"]
    lost = [level not in _WITH_REPLY for level in status.levels]
    is_lost = np.array(lost, dtype=bool)[status.codes[first]]
    verdicts = {
        name: table.numbers["value"].reshape(rows, width)[:, k]
        for k, name in enumerate(table.factors["metric"].levels)
    }
    labels = {n: f.take(first) for n, f in table.factors.items() if n not in _OF_READINGS}
    scored = Factor.constant("scored", rows)
    labels["status"] = Factor.concatenate([status.take(first), scored]).take(
        np.where(is_lost, np.arange(rows), rows + np.arange(rows))
    )
    labels["reason"] = Factor(
        reason.levels, np.where(is_lost, reason.codes[first], np.int32(-1)).astype(np.int32)
    )
    numbers = {n: v[first] for n, v in table.numbers.items() if n != "value"}
    losses = _once(table)
    notes = tuple(dict.fromkeys(table.notes))
    base = Records(labels, numbers, losses, kind="reply", notes=notes)
    if turns == "all":
        return _every_turn(log, base, verdicts)
    said = [(None, None) if gone else _last(sample)
            for sample, gone in zip(log.samples, is_lost.tolist(), strict=True)]  # fmt: skip
    missing = np.array([text is None for text, _ in said]) & ~is_lost
    base = _without_reply(base, missing)
    return Replies(base, [text for text, _ in said], [call for _, call in said], verdicts)


def _once(table: Records) -> Any:
    """Keep the losses of one metric: they are counted once for each."""
    levels = table.factors["metric"].levels
    first = levels[0] if levels else None
    kept = [
        replace(loss, where=tuple(kv for kv in loss.where if kv[0] != "metric"))
        for loss in table.losses.entries
        if dict(loss.where).get("metric") in (first, None, "(none)")
    ]
    return type(table.losses).of(kept)


def _without_reply(base: Records, missing: NDArray[np.bool_]) -> Records:
    if not missing.any():
        return base
    status = Factor.concatenate([base.factors["status"], Factor.constant("missing", len(base))])
    reason = Factor.concatenate(
        [base.factors["reason"], Factor.constant("the sample holds no reply", len(base))]
    )
    rows = np.where(missing, len(base) + np.arange(len(base)), np.arange(len(base)))
    return base.with_factors(status=status.take(rows), reason=reason.take(rows))


def _last(sample: Any) -> tuple[str | None, tuple[str, ...] | None]:
    """Give the words and the tool calls of the last reply of a sample."""
    output = sample.output
    if output is None or not output.choices:
        text = output.completion if output is not None else None
        return (None if text is None else _whole(text, sample)), None
    message = output.choices[0].message
    if message is None:
        return None, None
    return _said(message, sample), _called(message)


def _said(message: Message, sample: Any) -> str:
    content = message.content
    if isinstance(content, str):
        return _whole(content, sample)
    parts = content if isinstance(content, list) else []
    texts = [
        part["text"]
        for part in parts
        if isinstance(part, dict) and part.get("type") == "text" and isinstance(part["text"], str)
    ]
    return "\n".join(_whole(text, sample) for text in texts)


def _whole(text: str, sample: Any) -> str:
    """Put an attached text in the place of its address."""
    if not text.startswith(_ATTACHED):
        return text
    found: dict[str, str] = sample.attachments or {}
    return found.get(text[len(_ATTACHED) :], text)


def _called(message: Message) -> tuple[str, ...]:
    return tuple(call.function for call in message.tool_calls or ())


def _every_turn(
    log: InspectLog, base: Records, verdicts: Mapping[str, NDArray[np.float64]]
) -> Replies:
    """Give one row a message; a sample without any keeps one row, and its status."""
    texts: list[str | None] = []
    calls: list[tuple[str, ...] | None] = []
    roles: list[str | None] = []
    row_of: list[int] = []
    turn_of: list[str] = []
    for row, sample in enumerate(log.samples):
        found: Sequence[Message] = getattr(sample, "messages", None) or ()
        messages = [m for m in found if m.role in _ROLES]
        for message in messages:
            texts.append(_said(message, sample))
            calls.append(_called(message))
            roles.append(message.role)
        if not messages:
            texts.append(None)
            calls.append(None)
            roles.append(None)
        row_of += [row] * max(len(messages), 1)
        turn_of += map(str, range(max(len(messages), 1)))
    index = np.array(row_of, dtype=np.intp)
    ids = Factor.from_values([f"{sample.id}/{sample.epoch}" for sample in log.samples])
    there = np.array([role is not None for role in roles])
    ended = base.factors["status"]
    missing = Factor.concatenate([Factor.constant("scored", len(base)), ended])
    records = base.take(index).with_factors(
        trajectory=ids.take(index),
        turn=Factor.from_values(turn_of),
        role=Factor.from_values(roles),
        ended=ended.take(index),
        status=missing.take(np.where(there, 0, len(base) + index)),
    )
    return Replies(records, texts, calls, {n: v[index] for n, v in verdicts.items()})
