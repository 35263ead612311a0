"""What a replay of sessions under another gate has to be told: markers, truth, and the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from simtrack.errors import InputError
from simtrack.options import Encoding, GateName, Placement, Uniqueness, choice
from simtrack.scoring.protocol_file import check_head, load_plain, only_keys, table, text, texts
from simtrack.scoring.stageif.markers import Marker

__all__ = ["GATE_CODES", "DutyFrom", "RecordedUnder", "ReplayProtocol", "gate_of"]

#: From which turn on a message has to carry a marker: the first, or the first after a tool call.
DutyFrom = Literal["start", "first-call"]
#: The gate under which sessions were recorded; "none" if nothing that a model said ended them.
RecordedUnder = Literal["none", "marker", "no-tool-call", "runtime"]
#: The gates as the paper and the catalogue of estimands call them.
GATE_CODES: Mapping[GateName, str] = {"marker": "B1", "no-tool-call": "B2", "runtime": "A"}
_RECORDED: Mapping[str, RecordedUnder] = {
    **{name: name for name in get_args(RecordedUnder)},
    "B1": "marker", "B2": "no-tool-call", "A": "runtime", "A_matched": "runtime",
}  # fmt: skip
_SCHEMA = "simtrack.replay-protocol/1"
_KEYS = ("schema", "scheme", "marker", "done", "record")
_MARKER = ("encoding", "tag", "placement", "unique", "completed")
_RECORD = ("gate", "column", "reprompts", "scripted", "duty_from")


@dataclass(frozen=True, slots=True)
class ReplayProtocol:
    """How is a stop signalled, when is a task done, and how were the sessions recorded?

    Parameters
    ----------
    marker : Marker
        The stage marker that the marker gate reads.
    completed : str
        The value of it that stops a session.
    done_column : str
        The column that says, message by message, whether the task is done by then; what it said
        last holds on.
    done_calls : tuple of str
        Instead: the names of tool calls that must all have been executed, a name as often as it
        stands here. A call is executed once a message of a tool has answered it; in a log without
        messages of tools, once it is made.
    rejected : tuple of str
        A tool message that begins with one of these says that its call was not executed.
    recorded : {"none", "marker", "no-tool-call", "runtime"} or None
        The gate under which all sessions were recorded; None if that is not said.
    recorded_column : str
        The column that says it of each session.
    reprompts : tuple of str
        A message in the user's place that begins with one of these is the runtime's.
    scripted : tuple of str
        Messages in the assistant's place that the model did not write, such as a greeting.
    duty_from : {"start", "first-call"}
        From which message on a missing marker is a dead end.
    """

    marker: Marker = field(default_factory=Marker)
    completed: str = "completed"
    done_column: str = "done"
    done_calls: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    recorded: RecordedUnder | None = None
    recorded_column: str = "gate"
    reprompts: tuple[str, ...] = ("[System]",)
    scripted: tuple[str, ...] = ()
    duty_from: DutyFrom = "start"

    def __post_init__(self) -> None:
        choice("duty_from", self.duty_from, DutyFrom)
        if self.recorded is not None:
            choice("record.gate", self.recorded, RecordedUnder)
        for name in ("done_calls", "rejected", "reprompts", "scripted"):
            if any(not entry.strip() for entry in getattr(self, name)):
                raise InputError(name, "texts, none of them blank", list(getattr(self, name)))

    @classmethod
    def load(cls, path: str | Path) -> ReplayProtocol:
        """Read a protocol from a TOML or JSON file."""
        return cls.from_dict(load_plain(path), str(path))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], where: str = "protocol") -> ReplayProtocol:
        """Make a protocol from plain data; what is left out has its default.

        Examples
        --------
        >>> plan = ReplayProtocol.from_dict(
        ...     {"done": {"calls": ["create_event", "send_invites"]}, "record": {"gate": "none"}}
        ... )
        >>> plan.done_calls, plan.recorded
        (('create_event', 'send_invites'), 'none')
        """
        check_head(content, _KEYS, where, schema=_SCHEMA, scheme="replay")
        marker, done = table(content, "marker", where), table(content, "done", where)
        record = table(content, "record", where)
        only_keys(marker, _MARKER, f"{where}, [marker]")
        only_keys(done, ("column", "calls", "rejected"), f"{where}, [done]")
        only_keys(record, _RECORD, f"{where}, [record]")
        if "column" in done and "calls" in done:
            raise InputError("done", "one of column and calls", "both", where=where)
        own = cls()
        return cls(
            Marker(
                text(marker, "tag", own.marker.tag, where),
                choice("encoding", marker.get("encoding", own.marker.encoding), Encoding),
                choice("placement", marker.get("placement", own.marker.placement), Placement),
                choice("unique", marker.get("unique", own.marker.unique), Uniqueness),
            ),
            text(marker, "completed", own.completed, where),
            text(done, "column", own.done_column, where),
            _listed(done, "calls", (), where),
            _listed(done, "rejected", (), where),
            gate_of(text(record, "gate", "", where)) if "gate" in record else None,
            text(record, "column", own.recorded_column, where),
            _listed(record, "reprompts", own.reprompts, where),
            _listed(record, "scripted", (), where),
            choice("duty_from", record.get("duty_from", own.duty_from), DutyFrom),
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain data that `from_dict` reads."""
        marker = self.marker
        done: dict[str, Any] = (
            {"calls": list(self.done_calls)} if self.done_calls else {"column": self.done_column}
        )
        return {
            "schema": _SCHEMA,
            "marker": {
                **{name: getattr(marker, name) for name in _MARKER[:4]},
                "completed": self.completed,
            },
            "done": done | {"rejected": list(self.rejected)},
            "record": {
                **({"gate": self.recorded} if self.recorded else {}),
                "column": self.recorded_column,
                "reprompts": list(self.reprompts),
                "scripted": list(self.scripted),
                "duty_from": self.duty_from,
            },
        }


def gate_of(label: str) -> RecordedUnder:
    """Say which gate a label of the record means: its name here, or the paper's.

    Examples
    --------
    >>> gate_of("B2"), gate_of("runtime")
    ('no-tool-call', 'runtime')
    """
    if label not in _RECORDED:
        cure = "Name another column under [record], or one gate for all."
        raise InputError("gate of the record", f"one of {', '.join(_RECORDED)}", repr(label),
                         cure=cure)  # fmt: skip
    return _RECORDED[label]


def _listed(
    content: Mapping[str, Any], key: str, default: tuple[str, ...], where: str
) -> tuple[str, ...]:
    return texts(content[key], key, where) if key in content else default
