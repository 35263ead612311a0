"""Sessions written as lines, and how each ends under a gate."""

from __future__ import annotations

import pytest

from simtrack.records import Records, Replies
from simtrack.scoring.replay.gates import ReplayProtocol, replay_gates

FREE = {"record": {"gate": "none"}, "done": {"calls": ["one", "two"]}}
ALL = ("marker", "no-tool-call", "runtime")


@pytest.fixture
def played():
    """Make replies of sessions: "user …", "tool …", "say …", and "call NAME …" of the model."""
    return _played


@pytest.fixture
def ends():
    """Give the end and the turn of the cut, by trajectory and gate."""
    return _ends


def _played(sessions, ended=None, **more):
    columns = {name: [] for name in ("trajectory", "turn", "role", "unit")}
    texts, calls = [], []
    for name, turns in sessions.items():
        for k, line in enumerate(turns):
            verb, _, rest = line.partition(" ")
            role = "assistant" if verb in ("say", "call") else verb
            tool, _, words = rest.partition(" ") if verb == "call" else ("", "", rest)
            for column, value in zip(columns.values(), (name, str(k), role, name), strict=True):
                column.append(value)
            texts.append(words)
            calls.append((tool,) if tool else ())
    n = len(texts)
    columns |= {label: [value] * n if isinstance(value, str) else value(columns)
                for label, value in more.items()}  # fmt: skip
    if ended:
        columns["ended"] = [ended] * n
    return Replies(Records.from_columns(columns), texts, calls)


def _ends(replies, gates=ALL, protocol=FREE):
    found = replay_gates(replies, gates, ReplayProtocol.from_dict(protocol))
    names, turns = found.factors["end"].values(), found.factors["stop_turn"].values()
    keys = zip(found.factors["trajectory"].values(), found.factors["gate"].values(), strict=True)
    values = [(end, None if turn is None else int(turn))
              for end, turn in zip(names, turns, strict=True)]  # fmt: skip
    return dict(zip(keys, values, strict=True))
