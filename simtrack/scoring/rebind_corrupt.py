"""The corruptions of artifacts: blank, broken, under other names, or doing what was revoked."""

from __future__ import annotations

import re
from collections.abc import Mapping

from simtrack.records import Replies
from simtrack.scoring.attribution import RowClause
from simtrack.scoring.rebind_protocol import RebindProtocol
from simtrack.scoring.rebind_situations import situations_of

__all__ = ["corrupt_rebind"]

#: What is put before a name that a clause asks for, so that it is there no longer.
_OTHER = "simtrack_corrupted_"
#: Lines of words or code, not of fences: with this before them no program begins.
_LINE, _BREAK = re.compile(r"^(?![ \t]*(?:`{3,}|~{3,}))(?=.*\S)", re.MULTILINE), ")"
_DEFINED = ("function", "class", "binds", "method")


def corrupt_rebind(
    replies: Replies, protocol: RebindProtocol
) -> list[tuple[str, Replies, Mapping[str, str]]]:
    """Give the corrupted replies by name, and the rows in which they may succeed: none.

    Blank replies; code that no longer parses; every name that a clause in force asks for put under
    another name; the revoked helpers defined. Where a row has no such name or no such helper the
    reply is blank too.
    """
    texts = replies.texts
    where = situations_of(replies.records, protocol)
    kinds = [where.kinds[code] for code in where.codes.tolist()]
    blank = [None if text is None else "" for text in texts]
    broken = [None if text is None else _LINE.sub(_BREAK, text) for text in texts]
    renamed = [
        None if text is None else _renamed(text, kind.in_force)
        for text, kind in zip(texts, kinds, strict=True)
    ]
    relapsed = [
        None if text is None else _defined(kind.revoked)
        for text, kind in zip(texts, kinds, strict=True)
    ]
    return [
        (name, replies.with_texts(changed), {})
        for name, changed in (("blank replies", blank), ("broken code", broken),
                              ("inverted values", renamed), ("injected marker", relapsed))
    ]  # fmt: skip


def _renamed(text: str, clauses: tuple[RowClause, ...]) -> str:
    """Rename every name that a clause in force asks for."""
    asked = [part.name.rpartition(".")[2] for c in clauses for part in c.check.positives()]
    names = sorted({name for name in asked if name.isidentifier()})
    if not names:
        return ""
    return re.sub(rf"(?<!\w)({'|'.join(names)})(?!\w)", rf"{_OTHER}\1", text)


def _defined(clauses: tuple[RowClause, ...]) -> str:
    """Write an artifact that does nothing but what was revoked."""
    parts = [part for c in clauses for part in c.check.positives() if part.kind in _DEFINED]
    lines = [f"class {p.name}: pass" if p.kind == "class" else f"def {p.name}(): pass"
             for p in parts if p.kind != "method"]  # fmt: skip
    lines += [f"class {p.of or 'Owner'}:\n    def {p.name}(self): pass"
              for p in parts if p.kind == "method"]  # fmt: skip
    return "\n".join(lines)
