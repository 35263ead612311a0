"""The replies of an Inspect log: the last one of each sample, or every turn of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from simtrack.logs import transcripts
from simtrack.logs.inspect.fields import Header, Sample
from simtrack.logs.inspect.source import InspectLog
from simtrack.logs.inspect.table import to_records
from simtrack.options import Turns
from simtrack.records import Replies

__all__ = ["JsonReplyLog", "ReplySample", "to_replies"]

_ATTACHED = "attachment://"


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
    return transcripts.to_replies(table, [_dialogue(s, turns) for s in log.samples], turns)


def _dialogue(sample: Any, turns: Turns) -> transcripts.Dialogue:
    name = f"{sample.id}/{sample.epoch}"
    if turns == "all":
        found = getattr(sample, "messages", None) or ()
        messages = [transcripts.Said(m.role, _said(m, sample), _called(m)) for m in found]
        return transcripts.Dialogue(name, messages)
    return transcripts.Dialogue(name, last=_last(sample))


def _last(sample: Any) -> transcripts.Said | None:
    """Give the last reply of a sample; a summary has none."""
    output = getattr(sample, "output", None)
    if output is None:
        return None
    if not output.choices:
        text = output.completion
        said = None if text is None else _whole(text, sample)
        return None if said is None else transcripts.Said("assistant", said, None)
    message = output.choices[0].message
    if message is None:
        return None
    return transcripts.Said("assistant", _said(message, sample), _called(message))


def _said(message: Message, sample: Any) -> str:
    content = message.content
    if isinstance(content, str):
        return _whole(content, sample)
    parts = content if isinstance(content, list) else []
    return "\n".join(_whole(text, sample) for text in transcripts.text_parts(parts))


def _whole(text: str, sample: Any) -> str:
    """Put an attached text in the place of its address."""
    if not text.startswith(_ATTACHED):
        return text
    found: dict[str, str] = sample.attachments or {}
    return found.get(text[len(_ATTACHED) :], text)


def _called(message: Message) -> tuple[str, ...]:
    return tuple(call.function for call in message.tool_calls or ())
