"""The corruptions of stage reports: blank replies, inverted values, an injected marker."""

from __future__ import annotations

from collections.abc import Mapping

from simtrack.records import Replies
from simtrack.scoring.protocol import StageProtocol

__all__ = ["NOTHING", "corrupt_stageif"]

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
