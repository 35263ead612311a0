"""Which obligation is each reply under, and how is it met? The protocol of a bridge, as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from simtrack.errors import InputError
from simtrack.options import ObligationKind, choice
from simtrack.scoring.protocol import StageProtocol
from simtrack.scoring.protocol_file import check_head, load_plain, only_keys, table, text

__all__ = ["COMPLETED", "IN_PROGRESS", "KINDS", "ObligationProtocol", "bare_text", "spaced"]

_SCHEMA = "simtrack.obligation-protocol/1"
_KEYS = ("schema", "column", "kind", "kinds", "sigil", "sentences", "stage")
#: The states that a sentence tells apart; a sigil says the first.
COMPLETED, IN_PROGRESS = "COMPLETED", "IN_PROGRESS"
KINDS: tuple[ObligationKind, ...] = get_args(ObligationKind)


@dataclass(frozen=True, slots=True)
class ObligationProtocol:
    """Which obligation is each reply under, and how is it met?

    Parameters
    ----------
    column : str
        The column that says which obligation a row is under.
    kinds : mapping of label to {"sigil", "sentence", "tag"}
        What the labels of that column mean.
    kind : str
        Without such a column, the one obligation of all rows.
    sigil : str
        The text that ends the last reply of a task, and no other.
    in_progress, complete : str
        The sentences that end a reply while the task is unfinished, and when it is done.
    stage : StageProtocol
        The stage marker, and where truth comes from, for all three.
    """

    column: str = "obligation"
    kinds: Mapping[str, ObligationKind] = field(
        default_factory=lambda: dict(zip(("O1", "O2", "O3", *KINDS), KINDS * 2, strict=True))
    )
    kind: ObligationKind | None = None
    sigil: str = "<sig>done</sig>"
    in_progress: str = "(The task is still in progress.)"
    complete: str = "(The task is complete.)"
    stage: StageProtocol = field(default_factory=StageProtocol)

    def __post_init__(self) -> None:
        for kind in (*self.kinds.values(), *([self.kind] if self.kind else [])):
            choice("kind", kind, ObligationKind)
        texts = {n: bare_text(getattr(self, n)) for n in ("sigil", "in_progress", "complete")}
        for name, bare in texts.items():
            if not bare:
                raise InputError(name, "a text that is not blank", repr(getattr(self, name)))
        if texts["in_progress"] in texts["complete"] or texts["complete"] in texts["in_progress"]:
            raise InputError("sentences", "none a part of the other", repr(self.complete))

    @classmethod
    def load(cls, path: str | Path) -> ObligationProtocol:
        """Read a protocol from a TOML or JSON file."""
        return cls.from_dict(load_plain(path), str(path))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], where: str = "protocol") -> ObligationProtocol:
        """Make a protocol from plain data; what is left out is as in the paper."""
        check_head(content, _KEYS, where, schema=_SCHEMA)
        kinds = table(content, "kinds", where)
        said = table(content, "sentences", where)
        only_keys(said, ("in_progress", "complete"), f"{where}, [sentences]")
        own = cls()
        return cls(
            text(content, "column", own.column, where),
            {k: choice("kind", text(kinds, k, "", where), ObligationKind) for k in kinds}
            or own.kinds,
            choice("kind", content["kind"], ObligationKind) if "kind" in content else None,
            text(content, "sigil", own.sigil, where),
            text(said, "in_progress", own.in_progress, where),
            text(said, "complete", own.complete, where),
            StageProtocol.from_dict(table(content, "stage", where), f"{where}, [stage]"),
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain data that `from_dict` reads."""
        return {
            "schema": _SCHEMA,
            "column": self.column,
            "kinds": dict(self.kinds),
            **({"kind": self.kind} if self.kind else {}),
            "sigil": self.sigil,
            "sentences": {"in_progress": self.in_progress, "complete": self.complete},
            "stage": self.stage.to_dict(),
        }


def bare_text(said: str) -> str:
    """Take a sentence out of its brackets, in one case and spacing.

    Examples
    --------
    >>> bare_text("(The task  is Complete.)")
    'the task is complete.'
    """
    return spaced(said).strip(" ()[]{}")


def spaced(words: str) -> str:
    """Fold case, and put one blank wherever there are any."""
    return re.sub(r"\s+", " ", words).casefold().strip()
