"""Which requirements does each dialogue hold, which were revoked? A ReBIND protocol as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simtrack.errors import InputError
from simtrack.plain import Plain
from simtrack.scoring.artifacts.artifact import ArtifactRules
from simtrack.scoring.artifacts.attribution import AttributionRules
from simtrack.scoring.artifacts.presence import Check
from simtrack.scoring.protocol_file import check_head, load_plain, only_keys, table, text, texts

__all__ = ["ClauseRule", "RebindProtocol", "RecordedLabels"]

_SCHEMA = "simtrack.rebind-protocol/1"
_KEYS = ("schema", "scheme", "revoked", "separator", "recorded", "artifact", "attribution",
         "clause")  # fmt: skip
_LISTS = ("words", "replaces", "covers")
_CONDITIONS = ("when", "revoked_when")
_EACH = "each"


@dataclass(frozen=True, slots=True)
class ClauseRule(Plain):
    """Which clause do rows of a log have, and how is it checked?

    Parameters
    ----------
    id : str
        Its name.
    check : Check
        Names in it may hold {column}, which is filled with the label of the row.
    each : str
        A column whose labels, parted by the separator, make one clause each, named "id:label"; the
        check calls the label {each}. Empty for a rule that makes one clause.
    when, revoked_when : mapping of column to labels
        Rows that have the clause at all (every row without it), and rows in which it was revoked.
    words : tuple of str
        By which words it is mentioned; without them the names in its check.
    replaces, covers : tuples of str
        Ids (or labels of `each`) of the clauses that it replaces, and of those whose behaviour it
        asks for itself although its check does not say so.
    """

    id: str
    check: Check
    each: str = ""
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    revoked_when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.id:
            raise InputError("id", "a name for the clause", repr(self.id))
        if _EACH in self.check.places() and not self.each:
            cure = 'Name the column: each = "markers".'
            raise InputError("each", "given where a check says {each}", where=self.id, cure=cure)

    def columns(self) -> frozenset[str]:
        """Which columns does it read?"""
        named = Check("any", checks=(self.check, *(Check("comment", w) for w in self._texts())))
        own = {self.each} if self.each else set()
        return frozenset({*named.places(), *self.when, *self.revoked_when, *own} - {_EACH})

    def _texts(self) -> tuple[str, ...]:
        return (*self.words, *self.replaces, *self.covers)

    @classmethod
    def from_dict(cls, content: Any, where: str) -> ClauseRule:
        """Make a rule from plain data."""
        if not isinstance(content, Mapping):
            raise InputError("clause", "a table", repr(content), where=where)
        only_keys(content, cls.__slots__, where)
        conditions = {
            name: {k: texts(v, k, where) for k, v in table(content, name, where).items()}
            for name in _CONDITIONS
        }
        lists = {n: texts(content[n], n, where) if n in content else () for n in _LISTS}
        each = text(content, _EACH, "", where) if _EACH in content else ""
        check = Check.from_dict(content.get("check"), where)
        return cls(
            text(content, "id", "", where), check, each, conditions["when"],
            conditions["revoked_when"], lists["words"], lists["replaces"], lists["covers"],
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Give plain data, without what is empty."""
        return {key: value for key, value in Plain.to_dict(self).items() if value}


_WRITTEN = "revoked separator recorded artifact attribution clause=clauses"


@dataclass(frozen=True, slots=True)
class RecordedLabels:
    """What do the labels of a recorded outcome stand for? Case is no matter.

    Parameters
    ----------
    passed, failed, errored : tuples of str
        An errored test was run and broke: the clause is not met.
    """

    passed: tuple[str, ...] = ("passed", "pass", "true", "1", "c", "correct")
    failed: tuple[str, ...] = ("failed", "fail", "false", "0", "i", "incorrect")
    errored: tuple[str, ...] = ("errored", "error", "timeout")

    def __post_init__(self) -> None:
        listed = [label.casefold() for name in self.__slots__ for label in getattr(self, name)]
        if twice := {label for label in listed if listed.count(label) > 1}:
            raise InputError("recorded", "of different labels", ", ".join(sorted(twice)))

    def kinds(self) -> dict[str, str]:
        """Give what each label stands for: passed, failed or errored."""
        return {lb.casefold(): name for name in self.__slots__ for lb in getattr(self, name)}


@dataclass(frozen=True, slots=True)
class RebindProtocol(Plain, names=_WRITTEN):
    """How are replies of dialogues with revoked requirements scored?

    Parameters
    ----------
    clauses : tuple of ClauseRule
    revoked : str
        The column that names the revoked clauses of a row, by id or by the label of `each`, parted
        by the separator; a row without a label has none. Rules may say `revoked_when` instead.
    separator : str
    recorded : RecordedLabels
    artifact : ArtifactRules
    attribution : AttributionRules

    Examples
    --------
    >>> protocol = RebindProtocol.from_dict({"clause": [
    ...     {"id": "entry point", "check": {"function": "{entry_point}"}},
    ...     {"id": "library", "check": {"stdlib_only": "3.11"}},
    ...     {"id": "unit tests", "check": {"recorded": "tests"}},
    ...     {"id": "helper", "each": "markers", "check": {"function": "{each}"}},
    ... ]})
    >>> sorted(protocol.columns())
    ['entry_point', 'markers']
    >>> RebindProtocol.from_dict(protocol.to_dict()) == protocol
    True
    """

    clauses: tuple[ClauseRule, ...]
    revoked: str = "revoked"
    separator: str = "|"
    recorded: RecordedLabels = field(default_factory=RecordedLabels)
    artifact: ArtifactRules = field(default_factory=ArtifactRules)
    attribution: AttributionRules = field(default_factory=AttributionRules)

    def __post_init__(self) -> None:
        ids = [clause.id for clause in self.clauses]
        if not ids:
            cure = 'Write [[clause]] with id = "…" and check = {function = "…"}.'
            raise InputError("clause", "given at least once", "none", cure=cure)
        if twice := [name for name in ids if ids.count(name) > 1]:
            raise InputError("id", "different for each clause", repr(twice[0]))

    def columns(self) -> frozenset[str]:
        """Which columns do its clauses read, the one of revocations aside?"""
        return frozenset[str]().union(*(c.columns() for c in self.clauses)) - {self.revoked}

    @classmethod
    def load(cls, path: str | Path) -> RebindProtocol:
        """Read a protocol from a TOML or JSON file."""
        return cls.from_dict(load_plain(path), str(path))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], where: str = "protocol") -> RebindProtocol:
        """Make a protocol from plain data; what is left out takes its default."""
        check_head(content, _KEYS, where, schema=_SCHEMA, scheme="rebind")
        listed = content.get("clause", [])
        if not isinstance(listed, list):
            raise InputError("clause", "a list of tables", repr(listed), where=where)
        recorded = table(content, "recorded", where)
        only_keys(recorded, RecordedLabels.__slots__, f"{where}, [recorded]")
        return cls(
            tuple(
                ClauseRule.from_dict(c, f"{where}, [[clause]] {k}") for k, c in enumerate(listed, 1)
            ),
            text(content, "revoked", "revoked", where),
            text(content, "separator", "|", where),
            RecordedLabels(**{k: texts(v, k, where) for k, v in recorded.items()}),
            ArtifactRules.from_dict(table(content, "artifact", where), f"{where}, [artifact]"),
            AttributionRules.from_dict(
                table(content, "attribution", where), f"{where}, [attribution]"
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain data that `from_dict` reads."""
        return {"schema": _SCHEMA, "scheme": "rebind"} | Plain.to_dict(self)
