"""How a StateTrack log is laid out and judged: branches, joins, checkers and columns, as data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simtrack.errors import InputError
from simtrack.options import Asked, BothRules, Kept, choice
from simtrack.scoring.constraints.checks import Constraint
from simtrack.scoring.protocol_file import check_head, load_plain, only_keys, table, text, texts

__all__ = ["FLAGS", "ProbeRule", "StateTrackProtocol"]

_SCHEMA = "simtrack.statetrack-protocol/1"
#: What can be judged of a reply, by checkers or by a column of verdicts.
FLAGS = ("recall", "constraint", "task", "joint", "c1", "c2", "partial", "old", "new")
#: What a column can hold besides: codes that somebody else has given.
_CODED = ("recovery", "followed")
_USUAL_JOIN = ("unit", "model", "repetition", "depth", "arm")
_PASSES = ("1", "1.0", "true", "yes", "pass", "compliant")
_FAILS = ("0", "0.0", "false", "no", "fail", "non_compliant")
_KEYS = ("schema", "scheme", "recall_asked", "kept", "both_rules", "join", "branches", "columns",
         "words", "rule")  # fmt: skip
_BRANCHES = ("column", "compliance", "recall", "restated")


@dataclass(frozen=True, slots=True)
class ProbeRule:
    """Which checkers judge the replies that have these labels?

    Parameters
    ----------
    when : mapping of column to labels
        All must hold; empty holds for every reply.
    checks : mapping of flag to Constraint
        See `FLAGS`.
    """

    when: Mapping[str, tuple[str, ...]]
    checks: Mapping[str, Constraint]


@dataclass(frozen=True, slots=True)
class StateTrackProtocol:
    """Which replies are the two branches of one probe, and what says whether they pass?

    Parameters
    ----------
    column : str
        The column that tells the branches apart.
    compliance, recall, restated : tuples of str
        Its labels: the next task, the question for the rule, the answer after the rule was stated
        again. None of them may be shared.
    join : tuple of str
        The columns that a probe's branches share and that tell probes apart; without them those of
        unit, model, repetition, depth and arm that the log has.
    recall_asked : {"all", "failures"}
        Whether recall was asked at every probe, or after failures of the strict joint only (the
        constraint, where no task is judged).
    kept : {"constraint", "joint"}
        What B of the codes means.
    both_rules : {"UPDATED_CLEAN", "STALE", "OTHER"}
        What an answer counts as that both the old and the new rule allow.
    columns : mapping of flag to column
        Verdicts that the log holds. Where a flag has checkers too, they come first and the column
        judges the replies that no rule names.
    passes, fails : tuples of str
        What those columns say, in any case; other words are no verdict.
    rules : tuple of ProbeRule
        The first that names a reply and has the flag judges it.

    Examples
    --------
    The protocol as TOML: bullets are counted, recall is found by its words, and a judge's column
    says whether the task was done.

    >>> import tomllib
    >>> protocol = StateTrackProtocol.from_dict(tomllib.loads('''
    ... scheme = "statetrack"
    ... recall_asked = "all"
    ...
    ... [branches]
    ... column = "branch"
    ... compliance = "compliance"
    ... recall = "recall"
    ...
    ... [columns]
    ... task = "task_ok"
    ...
    ... [[rule]]
    ... when = {unit = ["bullets"]}
    ... constraint = {kind = "items", exactly = 3, only = true}
    ... recall = {kind = "required", words = ["three", "bullet points"]}
    ... '''))
    >>> protocol.gives("task"), protocol.measures
    (True, ('recall', 'recovery'))

    The log is a JSON line a reply; here a probe of two, which agree in id, model and depth:

    >>> import pathlib, tempfile
    >>> from simtrack.logs import read_replies
    >>> from simtrack.scoring import score_statetrack
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "replies.jsonl"
    >>> _ = path.write_text('''\\
    ... {"id": "bullets", "model": "m", "category": "format", "depth": 3, "branch": "compliance",\\
    ...  "reply": "- a\\\\n- b\\\\nand so on", "task_ok": 1}
    ... {"id": "bullets", "model": "m", "category": "format", "depth": 3, "branch": "recall",\\
    ...  "reply": "Always three bullet points.", "task_ok": null}
    ... ''')
    >>> probe = score_statetrack(read_replies(path), protocol)
    >>> {name: probe.factors[name].values()[0] for name in ("r", "b", "task", "joint", "outcome")}
    {'r': '1', 'b': '0', 'task': '1', 'joint': '0', 'outcome': 'R1B0'}
    """

    column: str = "branch"
    compliance: tuple[str, ...] = ("compliance",)
    recall: tuple[str, ...] = ("recall",)
    restated: tuple[str, ...] = ("restated",)
    join: tuple[str, ...] = ()
    recall_asked: Asked = "all"
    kept: Kept = "constraint"
    both_rules: BothRules = "UPDATED_CLEAN"
    columns: Mapping[str, str] = field(default_factory=dict)
    passes: tuple[str, ...] = _PASSES
    fails: tuple[str, ...] = _FAILS
    rules: tuple[ProbeRule, ...] = ()

    def __post_init__(self) -> None:
        labels = [*self.compliance, *self.recall, *self.restated]
        if len(set(labels)) < len(labels):
            raise InputError("branches", "of different labels", ", ".join(labels))
        both = {word.casefold() for word in self.passes} & {w.casefold() for w in self.fails}
        if both:
            raise InputError("words", "either pass or fail", ", ".join(sorted(both)))
        if self.gives("c1") != self.gives("c2"):
            raise InputError("c1, c2", "given together, by rules or columns", "one of them")
        for more, less in (("c1", "constraint"), ("task", "joint")):
            if self.gives(more) and self.gives(less):
                rule = f"left out where {more} is given, since it follows"
                raise InputError(less, rule, "both")
        if not self.measures:
            raise InputError(
                "protocol", "about verdicts by rules or columns", self._given(),
                cure="Give recall and constraint (or joint); or old and new.",
            )  # fmt: skip
        if self.kept == "joint" and not (self.gives("task") or self.gives("joint")):
            raise InputError("kept", "constraint, where neither task nor joint is given", "joint")
        if self.gives("joint") and not self._gives_rule() and self.kept != "joint":
            cure = 'Set kept = "joint", or give the constraint.'
            raise InputError("kept", "joint, where the constraint is not given", self.kept,
                             cure=cure)  # fmt: skip

    def gives(self, flag: str) -> bool:
        """Say whether rules or columns judge this."""
        return flag in self.columns or any(flag in rule.checks for rule in self.rules)

    @property
    def has_joint(self) -> bool:
        """Say whether task and rule together are judged, or the joint itself."""
        return self.gives("joint") or (self.gives("task") and self._gives_rule())

    @property
    def measures(self) -> tuple[str, ...]:
        """Name what can be scored: recall against compliance, recovery, a changed rule."""
        kept = self._gives_rule() or self.gives("joint")
        found = ["recall"] if self.gives("recall") and kept else []
        found += ["recovery"] if kept else []
        if "followed" in self.columns or self.gives("old"):
            found.append("change")
        return tuple(found)

    @property
    def digest(self) -> str:
        """Give the SHA-256 of what is declared."""
        plain = json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(plain.encode("utf-8")).hexdigest()

    @property
    def note(self) -> str:
        """Say which protocol it was, for those who read the records."""
        return f"the protocol was fixed before replies were read: sha256 {self.digest[:16]}"

    def _gives_rule(self) -> bool:
        return self.gives("constraint") or self.gives("c1")

    def _given(self) -> str:
        return ", ".join(flag for flag in (*FLAGS, *_CODED) if self.gives(flag)) or "none"

    @classmethod
    def load(cls, path: str | Path) -> StateTrackProtocol:
        """Read a protocol from a TOML or JSON file."""
        return cls.from_dict(load_plain(path), str(path))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], where: str = "protocol") -> StateTrackProtocol:
        """Make a protocol from plain data, as the example shows it."""
        check_head(content, _KEYS, where, schema=_SCHEMA, scheme="statetrack")
        branches, said = table(content, "branches", where), table(content, "words", where)
        only_keys(branches, _BRANCHES, f"{where}, [branches]")
        only_keys(said, ("pass", "fail"), f"{where}, [words]")
        columns = table(content, "columns", where)
        only_keys(columns, (*FLAGS, *_CODED), f"{where}, [columns]")
        return cls(
            text(branches, "column", "branch", f"{where}, [branches]"),
            *_named(branches, f"{where}, [branches]"),
            join=texts(content.get("join", []), "join", where),
            recall_asked=choice("recall_asked", content.get("recall_asked", "all"), Asked),
            kept=choice("kept", content.get("kept", "constraint"), Kept),
            both_rules=choice("both_rules", content.get("both_rules", "UPDATED_CLEAN"), BothRules),
            columns={k: text(columns, k, "", f"{where}, [columns]") for k in columns},
            passes=texts(said.get("pass", list(_PASSES)), "pass", f"{where}, [words]"),
            fails=texts(said.get("fail", list(_FAILS)), "fail", f"{where}, [words]"),
            rules=_rules(content.get("rule", []), where),
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain data that `from_dict` reads."""
        return {
            "schema": _SCHEMA,
            "recall_asked": self.recall_asked,
            "kept": self.kept,
            "both_rules": self.both_rules,
            "join": list(self.join),
            "branches": {
                "column": self.column,
                "compliance": list(self.compliance),
                "recall": list(self.recall),
                "restated": list(self.restated),
            },
            "columns": dict(self.columns),
            "words": {"pass": list(self.passes), "fail": list(self.fails)},
            "rule": [
                {"when": {k: list(v) for k, v in rule.when.items()}}
                | {flag: check.to_dict() for flag, check in rule.checks.items()}
                for rule in self.rules
            ],
        }

    def join_of(self, names: Mapping[str, object]) -> tuple[str, ...]:
        """Give the columns that tell probes apart, of those that there are."""
        if self.join:
            return self.join
        return tuple(name for name in _USUAL_JOIN if name in names)


def _named(
    branches: Mapping[str, Any], where: str
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    first, second, third = (texts(branches.get(name, name), name, where) for name in _BRANCHES[1:])
    return first, second, third


def _rules(listed: Any, where: str) -> tuple[ProbeRule, ...]:
    if not isinstance(listed, list):
        raise InputError("rule", "a list of tables", repr(listed), where=where)
    rules = []
    for number, content in enumerate(listed, 1):
        here = f"{where}, [[rule]] {number}"
        if not isinstance(content, Mapping):
            raise InputError("rule", "a table", repr(content), where=here)
        only_keys(content, ("when", *FLAGS), here)
        when = {k: texts(v, k, here) for k, v in table(content, "when", here).items()}
        checks = {
            flag: Constraint.from_dict(content[flag], f"{here}, {flag}")
            for flag in FLAGS
            if flag in content
        }
        if not checks:
            raise InputError("rule", f"with one of {', '.join(FLAGS)}", "none", where=here)
        rules.append(ProbeRule(when, checks))
    return tuple(rules)
