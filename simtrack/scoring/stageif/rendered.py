"""The corruptions of stage reports: blank replies, inverted values, an injected marker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simtrack.errors import DataError
from simtrack.records import Records, Replies
from simtrack.scoring.stageif.protocol import StageProtocol
from simtrack.taxonomy import NO_REPORT, OUT_OF_VOCABULARY

__all__ = ["NOTHING", "corrupt_stageif", "render_stage_replies"]


#: A value that no protocol may have: it means nothing.
NOTHING = "simtrack-corrupted"


def corrupt_stageif(
    replies: Replies, protocol: StageProtocol
) -> list[tuple[str, Replies, Mapping[str, str]]]:
    """Give the corrupted replies by name, and the rows where a silent reply stays right.

    Blank replies and inverted values leave withholding as it is where no report is due; the
    injected marker is wrong in every reply.
    """
    texts = replies.texts
    blank = Replies(
        replies.records,
        [None if text is None else "" for text in texts],
        [None if call is None else () for call in replies.calls],
        replies.verdicts,
    )
    silence = {"duty": "0"}
    injected = [None if text is None else _with_marker(text, protocol) for text in texts]
    return [
        ("blank replies", blank, silence),
        ("inverted values", replies.with_texts(_inverted(replies, protocol)), silence),
        ("injected marker", replies.with_texts(injected), {}),
    ]


def _with_marker(text: str, protocol: StageProtocol) -> str:
    marker = (
        f"<{protocol.tag}>{NOTHING}</{protocol.tag}>"
        if protocol.encoding == "xml"
        else f'"{protocol.tag}": "{NOTHING}"'
    )
    return f"{text}\n{marker}"


def _inverted(replies: Replies, protocol: StageProtocol) -> list[str | None]:
    """Put, for every value of the vocabulary in a reply, one that is not expected of its row."""
    rows = replies.records
    truth, _ = protocol.oracle.truth(rows, protocol.values, protocol.expected, protocol.arm)
    vocabulary = list(dict.fromkeys((*protocol.values.values(), *protocol.expected.values())))
    wrong = [
        next((v for v in vocabulary if v not in level.split("|")), NOTHING)
        for level in truth.expected.levels
    ]
    wrong.append(NOTHING)
    marker = protocol.marker()
    return [
        None if text is None else marker.replaced(text, wrong[code])
        for text, code in zip(replies.texts, truth.expected.codes.tolist(), strict=True)
    ]


# Trial tables as text: what might the model have said, for the codes that an agent drew?
#: What no protocol's vocabulary holds.
_UNHEARD = "under_review"
_WORDS = (
    "Let me check that for you.",
    "The calendar shows a free slot at ten.\n\nShall I go on?",
    "Done so far: the event is there.\r\nThe invitations are next.",
    "At this stage I need one more detail.",
    "好的，请稍等。",
    "I will end with the stage tag once I know more.",
)
_BROKEN = (
    "{marker}\nAnything else?",
    "{open}{value}",
    "{marker}\n{marker}",
    "```\n{marker}\n```",
    "{open}{value}{open}",
)


def render_stage_replies(records: Records, protocol: StageProtocol | None = None) -> Replies:
    """Write a reply for every row of a drawn table of checkpoints.

    Parameters
    ----------
    records : Records
        As the stage agents give them: outcome, duty, gold or stage, reported, emitted.
    protocol : StageProtocol, optional
        The paper's if not given. Its markers are written, well or badly as the codes say.

    Returns
    -------
    Replies
        The labels of design (not of outcome) with the texts and tool calls; transport failures
        have no text. `score_stageif` gives back the outcomes.

    Raises
    ------
    DataError
        A table without outcomes.
    """
    if "outcome" not in records.factors:
        raise DataError("the table has no outcome to render. Draw one with an agent.")
    used = StageProtocol() if protocol is None else protocol
    outcome = records.factors["outcome"].values()
    reported = records.factors["reported"].values()
    emitted = records.factors["emitted"].values()
    texts: list[str | None] = []
    calls: list[tuple[str, ...] | None] = []
    for row, (code, value, has) in enumerate(zip(outcome, reported, emitted, strict=True)):
        if code == "TRANSPORT":
            texts.append(None)
            calls.append(None)
            continue
        acts = code == "APP_DIVERGENCE"
        calls.append(("create_event",) if acts else ())
        texts.append(_text(row, str(code), value, has == "1", used))
    kept = {n: f for n, f in records.factors.items() if n not in _OF_OUTCOME}
    kept["stage"] = records.factors["gold"]
    lost = [text is None for text in texts]
    return Replies(_with_status(Records(kept, kind="reply"), lost), texts, calls)


_OF_OUTCOME = frozenset({"outcome", "reported", "emitted", "spoke", "well_formed", "correct",
                         "error", "expected", "gold", "status", "reason"})  # fmt: skip


def _text(row: int, code: str, value: str | None, has: bool, protocol: StageProtocol) -> str:
    words = _WORDS[row % len(_WORDS)]
    if not has:
        return words
    said = protocol.values.get(value or "", _UNHEARD if value == OUT_OF_VOCABULARY else None)
    if value in (None, NO_REPORT):
        said = next(iter(protocol.values.values()))
        if code != "CLEAN":
            return f"{words}\n{_broken(row, said, protocol)}"
    ending = ("", "\n", "  \n\n")[row % 3]
    return f"{words}\n{_marker(said or str(value), protocol)}{ending}"


def _marker(value: str, protocol: StageProtocol) -> str:
    if protocol.encoding == "xml":
        return f"<{protocol.tag}>{value}</{protocol.tag}>"
    return f'"{protocol.tag}": "{value}"'


def _broken(row: int, value: str, protocol: StageProtocol) -> str:
    opening = f"<{protocol.tag}>" if protocol.encoding == "xml" else f'"{protocol.tag}": "'
    form = _BROKEN[row % len(_BROKEN)]
    return form.format(marker=_marker(value, protocol), open=opening, value=value)


def _with_status(records: Records, lost: Sequence[bool]) -> Records:
    from simtrack.counts import Factor

    status = Factor.from_values(["infrastructure" if gone else "scored" for gone in lost])
    reason = Factor.from_values(["transport" if gone else None for gone in lost])
    return records.with_factors(status=status, reason=reason)
