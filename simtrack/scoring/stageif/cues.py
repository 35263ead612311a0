"""Had the user confirmed that the task is done before a completion checkpoint? A stated rule."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simtrack.counts import Factor
from simtrack.errors import InputError
from simtrack.plain import Plain
from simtrack.records import Replies
from simtrack.scoring.protocol_file import only_keys, text, texts
from simtrack.scoring.stageif.oracle import Truth, flags
from simtrack.scoring.stageif.positions import knows_turns, trajectory_ids, turns_of

__all__ = ["CueRule", "cue_columns"]

#: Words of resolution and of its denial: the paper's, and some of what it calls similar.
_RESOLUTION = ("works", "working", "fixed", "resolved", "solved", "thanks", "thank you",
               "connected")  # fmt: skip
_NEGATION = ("still", "not working", "not fixed", "not resolved", "not connected", "unable",
             "cannot", "can't", "doesn't", "isn't", "won't")  # fmt: skip
_CONFIRMED, _UNCONFIRMED = 1, 0


@dataclass(frozen=True, slots=True)
class CueRule(Plain):
    """Which words of a user confirm that a task is done?

    A message confirms if it holds a word of `resolution` and none of `negation`. Words match whole,
    in any case, whatever blanks are between them and however apostrophes are drawn.

    Parameters
    ----------
    resolution, negation : tuple of str
    handoff : str
        The column that says which tasks end in a hand-off to a person; none if empty.

    Examples
    --------
    >>> rule = CueRule()
    >>> rule.confirms("It works now, THANKS!"), rule.confirms("Thanks, but it is still slow.")
    (True, False)

    Source: StageIF appendix G; a proxy by keywords.
    """

    resolution: tuple[str, ...] = _RESOLUTION
    negation: tuple[str, ...] = _NEGATION
    handoff: str = ""
    _patterns: tuple[re.Pattern[str] | None, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("resolution", "negation"):
            if any(not word.strip() for word in getattr(self, name)):
                raise InputError(name, "words, none of them blank", list(getattr(self, name)))
        if not self.resolution:
            raise InputError("resolution", "at least one word", "none")
        found = (_pattern(self.resolution), _pattern(self.negation))
        object.__setattr__(self, "_patterns", found)

    def confirms(self, message: str) -> bool:
        """Say whether a message holds a cue of resolution and no negation."""
        folded = _folded(message)
        cue, denial = self._patterns
        assert cue is not None
        return cue.search(folded) is not None and (denial is None or denial.search(folded) is None)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], where: str = "cues") -> CueRule:
        """Make a rule from plain data; what is left out is the default."""
        only_keys(content, ("resolution", "negation", "handoff"), where)
        lists = {n: texts(content[n], n, where) for n in ("resolution", "negation") if n in content}
        handoff = text(content, "handoff", "", where) if "handoff" in content else ""
        return cls(**lists, handoff=handoff)

    def to_dict(self) -> dict[str, Any]:
        """Give plain data that `from_dict` reads."""
        found = Plain.to_dict(self)
        return {key: value for key, value in found.items() if value or key != "handoff"}


def cue_columns(
    replies: Replies, rows: Sequence[int], truth: Truth, rule: CueRule
) -> tuple[dict[str, Factor], list[str]]:
    """Give `cue` (confirmed, unconfirmed) of completion checkpoints, `handoff`, and notes.

    The window holds the user's messages after the trajectory's last checkpoint that has a duty and
    is not COMPLETED, up to the checkpoint, by turn and then by place in the file. Other rows have
    no cue.

    Parameters
    ----------
    replies : Replies
        Every message, with `trajectory`, `turn` and `role`.
    rows : sequence of int
        Which of them `truth` is about.
    truth : Truth
    rule : CueRule
    """
    found: dict[str, Factor] = {}
    if rule.handoff:
        column = flags(replies.records, rule.handoff)[np.asarray(rows, dtype=np.intp)]
        found["handoff"] = Factor(("0", "1"), column.astype(np.int32))
    names = replies.records.factors
    if not knows_turns(replies.records):
        return found, []
    if "role" not in names or "user" not in names["role"].levels:
        return found, ["no message of a user was read: there is no column cue (turns: all)"]
    codes = _cues(replies, rows, truth, rule)
    return found | {"cue": Factor(("unconfirmed", "confirmed"), codes)}, []


def _cues(replies: Replies, rows: Sequence[int], truth: Truth, rule: CueRule) -> Any:
    records = replies.records
    ids, turns, users = trajectory_ids(records), turns_of(records), _users(records.factors["role"])
    place = {row: k for k, row in enumerate(rows)}
    done = [level == "COMPLETED" for level in truth.gold.levels] + [False]
    gold, duty = truth.gold.codes.tolist(), truth.duty.tolist()
    codes = np.full(len(rows), -1, dtype=np.int32)
    window: list[str] = []
    confirmed, here = False, -1
    for row in np.lexsort((np.arange(len(ids)), turns, ids)).tolist():
        if ids[row] != here:
            window, confirmed, here = [], False, ids[row]
        k = place.get(row)
        if users[row]:
            window.append(replies.texts[row] or "")
        elif k is not None and duty[k] == 1 and here >= 0:
            if done[gold[k]]:
                confirmed = confirmed or any(map(rule.confirms, window))
                codes[k] = _CONFIRMED if confirmed else _UNCONFIRMED
            else:
                confirmed = False
            window = []
    return codes


def _users(role: Factor) -> list[bool]:
    is_user = [level == "user" for level in role.levels] + [False]
    return [is_user[code] for code in role.codes.tolist()]


def _pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    if not words:
        return None
    each = (r"\s+".join(map(re.escape, _folded(word).split())) for word in words)
    return re.compile(rf"(?<!\w)(?:{'|'.join(each)})(?!\w)")


def _folded(message: str) -> str:
    return message.casefold().replace("\u2019", "'").replace("\u02bc", "'")
