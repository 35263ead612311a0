"""Recorded sessions, turn by turn: did the model speak, what did it report, was the task done?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from simtrack.errors import DataError
from simtrack.records import Replies
from simtrack.scoring.replay.protocol import RecordedUnder, ReplayProtocol, gate_of
from simtrack.scoring.stageif.markers import Report
from simtrack.scoring.stageif.oracle import flags
from simtrack.scoring.stageif.positions import trajectory_ids, turns_of

__all__ = ["Session", "Turn", "sessions"]

_UNKNOWN = -1
_NEEDED = ("trajectory", "turn", "role")


class Turn(NamedTuple):
    """One turn of the model.

    Attributes
    ----------
    row : int
        Where it stands among the replies.
    valid : bool
        It has words or calls a tool; else there was no response.
    speaks : bool
        It calls no tool.
    report : Report
        The marker in it.
    done : int
        Whether the task is done by then: after the tools have answered, where it calls some; 1, 0,
        or -1 where that is not told.
    called : bool
        A tool was called before, or is called now.
    answered, reprompted : bool
        A message of the user, or of the runtime in the user's place, comes next.
    """

    row: int
    valid: bool
    speaks: bool
    report: Report
    done: int
    called: bool
    answered: bool
    reprompted: bool


class Session(NamedTuple):
    """One recorded trajectory.

    Attributes
    ----------
    name : str
    first : int
        Its first row among the replies.
    turns : tuple of Turn
    ended : str
        The `Status` that the log gives the trial.
    recorded : str or None
        The gate under which it was recorded.
    group : tuple of str or None
        Source and arm: sessions of one group were recorded alike.
    """

    name: str
    first: int
    turns: tuple[Turn, ...]
    ended: str
    recorded: RecordedUnder | None
    group: tuple[str | None, ...]


def sessions(replies: Replies, protocol: ReplayProtocol) -> list[Session]:
    """Lay messages out as sessions, in the order of trajectories and turns.

    Raises
    ------
    DataError
        No columns trajectory, turn and role; a log that does not say which replies call tools, or
        when a task is done.
    """
    records = replies.records
    names = {*records.factors, *records.numbers}
    lacking = [name for name in _NEEDED if name not in names]
    if lacking:
        raise DataError(
            f"no column {', '.join(lacking)}: a replay reads every message of a session. Map "
            f"them: {' '.join(f'--map {name}=COLUMN' for name in lacking)}."
        )
    role = records.factors["role"].values()
    _refuse_untold(replies, role)
    ids, done = trajectory_ids(records), _done_labels(replies, protocol)
    turn = turns_of(records)
    nowhere = int(((turn < 0) & (ids >= 0)).sum())
    if nowhere:
        raise DataError(f"{nowhere} messages have no turn, so their order is not known. Fill it.")
    order = np.lexsort((np.arange(len(ids)), turn, ids))
    has_tools = "tool" in role
    found = []
    for rows in _grouped(order.tolist(), ids.tolist()):
        turns = _Reader(replies, role, done, has_tools, protocol).read(rows)
        found.append(_session(replies, rows, turns, protocol))
    return found


def _refuse_untold(replies: Replies, role: Sequence[str | None]) -> None:
    if "assistant" not in role:
        raise DataError("no message of an assistant among the replies. Map its column: role.")
    rows = zip(replies.texts, replies.calls, role, strict=True)
    untold = sum(
        1 for text, call, who in rows if call is None and text is not None and who == "assistant"
    )
    if untold:
        raise DataError(
            f"the log does not say of {untold} replies whether they call a tool, on which every "
            "gate depends. Map it: --map calls=COLUMN."
        )


def _done_labels(replies: Replies, protocol: ReplayProtocol) -> list[int] | None:
    """Give what the column of done says, message by message; None where calls decide."""
    if protocol.done_calls:
        return None
    name, records = protocol.done_column, replies.records
    if name not in records.factors and name not in records.numbers:
        raise DataError(
            f"no column {name!r} says when a task is done. Name one under [done] column, or the "
            "tool calls that finish it under [done] calls, in a protocol."
        )
    return [int(flag) for flag in flags(records, name)]


def _grouped(order: Sequence[int], ids: Sequence[int]) -> Iterator[list[int]]:
    rows: list[int] = []
    for row in order:
        if rows and ids[row] != ids[rows[-1]]:
            yield rows
            rows = []
        if ids[row] >= 0:
            rows.append(row)
    if rows:
        yield rows


def _session(
    replies: Replies, rows: Sequence[int], turns: tuple[Turn, ...], protocol: ReplayProtocol
) -> Session:
    factors, first = replies.records.factors, rows[0]

    def label(name: str) -> str | None:
        factor = factors.get(name)
        code = -1 if factor is None else int(factor.codes[first])
        return None if factor is None or code < 0 else factor.levels[code]

    recorded = protocol.recorded
    if recorded is None and (told := label(protocol.recorded_column)) is not None:
        recorded = gate_of(told)
    ended = label("ended") or (label("status") if len(rows) == 1 else None) or "scored"
    group = (label("source"), label("arm"))
    return Session(label("trajectory") or "", first, turns, ended, recorded, group)


class _Reader:
    """Reads the messages of one session in their order."""

    def __init__(
        self,
        replies: Replies,
        role: Sequence[str | None],
        done: list[int] | None,
        has_tools: bool,
        protocol: ReplayProtocol,
    ) -> None:
        self.texts, self.calls = replies.texts, replies.calls
        self.role, self.labels, self.has_tools = role, done, has_tools
        self.protocol = protocol
        self.needed = Counter(protocol.done_calls)
        self.executed: Counter[str] = Counter()
        self.waiting: list[str] = []
        self.done = _UNKNOWN if done is not None else 0
        self.called = False

    def read(self, rows: Sequence[int]) -> tuple[Turn, ...]:
        """Give the turns of the model."""
        turns: list[Turn] = []
        for row in rows:
            who = self.role[row]
            if who == "assistant" and not self._is_scripted(row):
                turns.append(self._of_model(row))
            else:
                self._of_others(row, who)
            if self.labels is not None and self.labels[row] != _UNKNOWN:
                self.done = self.labels[row]
            if turns:
                turns[-1] = self._followed(turns[-1], row, who)
        return tuple(turns)

    def _of_model(self, row: int) -> Turn:
        names = self.calls[row] or ()
        self.waiting = list(names) if self.has_tools else []
        if not self.has_tools:
            self._execute(names)
        self.called |= bool(names)
        words = self.texts[row]
        report = self.protocol.marker.read(words or "")
        valid = words is not None or bool(names)
        return Turn(row, valid, not names, report, self.done, self.called, False, False)

    def _of_others(self, row: int, who: str | None) -> None:
        if who == "tool" and self.waiting:
            name = self.waiting.pop(0)
            said = (self.texts[row] or "").strip().casefold()
            if not any(said.startswith(r.strip().casefold()) for r in self.protocol.rejected):
                self._execute((name,))

    def _execute(self, names: Sequence[str]) -> None:
        self.executed.update(names)
        if self.labels is None:
            self.done = int(all(self.executed[n] >= k for n, k in self.needed.items()))

    def _followed(self, turn: Turn, row: int, who: str | None) -> Turn:
        """Bring the last turn of the model up to date with a message that is not before it."""
        if row == turn.row or (who == "tool" and not turn.speaks):
            return turn._replace(done=self.done)
        if who == "user" and not (turn.answered or turn.reprompted):
            by_runtime = self._is_reprompt(row)
            return turn._replace(answered=not by_runtime, reprompted=by_runtime)
        return turn

    def _is_reprompt(self, row: int) -> bool:
        said = (self.texts[row] or "").strip().casefold()
        return any(said.startswith(r.strip().casefold()) for r in self.protocol.reprompts)

    def _is_scripted(self, row: int) -> bool:
        said = (self.texts[row] or "").strip()
        return not self.calls[row] and any(said == s.strip() for s in self.protocol.scripted)
