"""How stage reports are written and what is right: the protocol of a StageIF study, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simtrack.errors import InputError
from simtrack.options import Encoding, Placement, Uniqueness, choice
from simtrack.scoring.protocol_file import (
    check_head,
    flag,
    load_plain,
    only_keys,
    table,
    text,
    texts,
    told_where,
)
from simtrack.scoring.stageif.cues import CueRule
from simtrack.scoring.stageif.markers import Marker
from simtrack.scoring.stageif.oracle import Oracle, Rule
from simtrack.taxonomy import STAGES

__all__ = ["PAPER_VALUES", "StageProtocol"]

_SCHEMA = "simtrack.stageif-protocol/1"
#: The markers' values of the paper (StageIF, Listing 1).
PAPER_VALUES: Mapping[str, str] = {
    "NEEDS_INFO": "needs_information",
    "READY": "ready_for_action",
    "POST_OBS": "post_observation_continue",
    "COMPLETED": "completed",
}
_KEYS = ("schema", "scheme", "encoding", "tag", "placement", "unique", "values", "expected", "arm",
         "envelope", "fences", "truth", "rule", "cues")  # fmt: skip


@dataclass(frozen=True, slots=True)
class StageProtocol:
    """How is a stage reported, and where does the right stage come from?

    Parameters
    ----------
    encoding, tag, placement, unique
        The marker: see `Marker`. Both encodings follow the same rules.
    values : mapping of stage to text
        What the marker says at each stage.
    expected : mapping of arm to text
        Arms that ask for one constant, whatever the stage.
    arm : str
        The column of arms.
    envelope : str
        The field of a JSON envelope that holds the words, for the stripped view.
    fences : bool
        Whether the stripped view takes off code fences too.
    oracle : Oracle
    cues : CueRule
        Which words of a user confirm that a task is done, and which tasks are handed off.

    Examples
    --------
    >>> protocol = StageProtocol.from_dict({"encoding": "json", "expected": {"static": "active"}})
    >>> protocol.marker().read('Done.\\n"stage": "completed"').value
    'completed'
    """

    encoding: Encoding = "xml"
    tag: str = "stage"
    placement: Placement = "end"
    unique: Uniqueness = "anchored"
    values: Mapping[str, str] = field(default_factory=lambda: dict(PAPER_VALUES))
    expected: Mapping[str, str] = field(default_factory=dict)
    arm: str = "arm"
    envelope: str = "message"
    fences: bool = False
    oracle: Oracle = field(default_factory=Oracle)
    cues: CueRule = field(default_factory=CueRule)

    def __post_init__(self) -> None:
        self.marker()
        missing = [stage for stage in STAGES if stage not in self.values]
        if missing:
            raise InputError("values", "given for every stage", f"none for {', '.join(missing)}")
        seen: dict[str, str] = {}
        for stage, value in self.values.items():
            if stage not in STAGES:
                raise InputError("values", f"of {', '.join(STAGES)}", repr(stage))
            if value in seen:
                raise InputError("values", "different for each stage", repr(value))
            seen[value] = stage
        for value in (*seen, *self.expected.values()):
            if not value or value != value.strip() or set(value) & set('<>"\\\n|'):
                rule = 'text without blanks at its ends and without < > " \\ |'
                raise InputError("value of a marker", rule, repr(value))

    def marker(self) -> Marker:
        """Give the reader of its markers."""
        return Marker(self.tag, self.encoding, self.placement, self.unique)

    @classmethod
    def load(cls, path: str | Path) -> StageProtocol:
        """Read a protocol from a TOML or JSON file."""
        return cls.from_dict(load_plain(path), str(path))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], where: str = "protocol") -> StageProtocol:
        """Make a protocol from plain data; what is left out is as in the paper."""
        check_head(content, _KEYS, where, schema=_SCHEMA, scheme="stageif")
        truth = table(content, "truth", where)
        only_keys(truth, ("duty", "gold"), f"{where}, [truth]")
        if truth and content.get("rule"):
            cure = "Keep the columns or the state machine."
            raise InputError("truth", "left out where [[rule]] says what is right",
                             ", ".join(truth), where=where, cure=cure)  # fmt: skip
        values, expected = table(content, "values", where), table(content, "expected", where)
        return cls(
            choice("encoding", content.get("encoding", "xml"), Encoding),
            text(content, "tag", "stage", where),
            choice("placement", content.get("placement", "end"), Placement),
            choice("unique", content.get("unique", "anchored"), Uniqueness),
            {k: text(values, k, "", where) for k in values} or dict(PAPER_VALUES),
            {k: text(expected, k, "", where) for k in expected},
            text(content, "arm", "arm", where),
            text(content, "envelope", "message", where),
            flag(content, "fences", False, where),
            Oracle(
                _rules(content.get("rule", []), where),
                text(truth, "duty", "duty", where),
                text(truth, "gold", "stage", where),
            ),
            CueRule.from_dict(table(content, "cues", where), f"{where}, [cues]"),
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain data that `from_dict` reads."""
        rules = [
            {"when": {k: list(v) for k, v in r.when.items()}, "duty": int(r.duty),
             "gold": list(r.gold)}
            for r in self.oracle.rules
        ]  # fmt: skip
        return {
            "schema": _SCHEMA,
            "encoding": self.encoding,
            "tag": self.tag,
            "placement": self.placement,
            "unique": self.unique,
            "values": dict(self.values),
            "expected": dict(self.expected),
            "arm": self.arm,
            "envelope": self.envelope,
            "fences": self.fences,
            **(
                {"rule": rules}
                if rules
                else {"truth": {"duty": self.oracle.duty, "gold": self.oracle.gold}}
            ),
            "cues": self.cues.to_dict(),
        }


def _rules(listed: Any, where: str) -> tuple[Rule, ...]:
    if not isinstance(listed, list):
        raise InputError("rule", "a list of tables", repr(listed), where=where)
    rules = []
    for number, content in enumerate(listed, 1):
        here = f"{where}, [[rule]] {number}"
        if not isinstance(content, Mapping):
            raise InputError("rule", "a table", repr(content), where=here)
        only_keys(content, ("when", "duty", "gold"), here)
        duty = content.get("duty")
        if duty not in (0, 1):
            raise InputError("duty", "0 or 1", repr(duty), where=here)
        when = {k: texts(v, k, here) for k, v in table(content, "when", here).items()}
        gold = texts(content["gold"], "gold", here) if "gold" in content else ()
        try:
            rules.append(Rule(when, bool(duty), gold))
        except InputError as error:
            raise told_where(error, here) from None
    return tuple(rules)
