"""The corruptions of artifacts: blank, broken, under other names, or doing what was revoked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from simtrack.counts import Factor
from simtrack.records import Replies
from simtrack.scoring.attribution import RowClause
from simtrack.scoring.presence import Check
from simtrack.scoring.rebind_protocol import RebindProtocol
from simtrack.scoring.rebind_recorded import recorded_columns
from simtrack.scoring.rebind_situations import situations_of

__all__ = ["corrupt_rebind"]

#: What is put before a name that a clause asks for, so that it is there no longer.
_OTHER = "simtrack_corrupted_"
#: Lines of words or code, not of fences: with this before them no program begins.
_LINE, _BREAK = re.compile(r"^(?![ \t]*(?:`{3,}|~{3,}))(?=.*\S)", re.MULTILINE), ")"
_DEFINED = ("function", "class", "binds", "method")
#: A module of no library, to be imported where a clause allows the standard library only.
_FOREIGN = "import simtrack_corrupted"
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)


def corrupt_rebind(
    replies: Replies, protocol: RebindProtocol
) -> list[tuple[str, Replies, Mapping[str, str | tuple[str, ...]]]]:
    """Give the corrupted replies by name, and the rows in which they may succeed.

    Blank replies; code that no longer parses; every name that a clause in force asks for put under
    another name, and a module of no library imported; the revoked helpers defined, and nothing
    else. Where a row has no such name or no such helper the reply is blank too. Recorded outcomes
    were given on other words and are taken away. Clauses that these changes cannot break (what
    must not be there, texts in comments and strings) may hold after the last two.
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
        None if text is None else _imported(_defined(kind.revoked), kind.in_force)
        for text, kind in zip(texts, kinds, strict=True)
    ]
    bare = _without_outcomes(replies, protocol)
    kept = tuple(dict.fromkeys(
        c.id for kind in where.kinds for c in kind.in_force if not _breaks(c.check)
    ))  # fmt: skip
    exempt: Mapping[str, str | tuple[str, ...]] = {"clause": kept} if kept else {}
    return [
        ("blank replies", bare.with_texts(blank), {}),
        ("broken code", bare.with_texts(broken), {}),
        ("inverted values", bare.with_texts(renamed), exempt),
        ("injected marker", bare.with_texts(relapsed), exempt),
    ]


def _without_outcomes(replies: Replies, protocol: RebindProtocol) -> Replies:
    """Take away what was recorded of the replies as they were."""
    names = recorded_columns(protocol)
    gone = Factor((), np.full(len(replies), -1, dtype=np.int32))
    nothing = np.full(len(replies), np.nan)
    records = replies.records
    held = {name: gone for name in names if name in records.factors}
    numbers = {n: nothing if n in names else v for n, v in records.numbers.items()}
    verdicts = {n: nothing if n in names else v for n, v in replies.verdicts.items()}
    records = replace(records, factors={**records.factors, **held}, numbers=numbers)
    return Replies(records, replies.texts, replies.calls, verdicts)


def _breaks(check: Check) -> bool:
    """Say whether other names, a foreign import and no outcome surely break a check."""
    if check.kind == "not":
        return False
    if check.checks:
        return all(_breaks(part) for part in check.checks)
    known = check.kind in ("stdlib_only", "recorded")
    return known or check.name.rpartition(".")[2].isidentifier()


def _renamed(text: str, clauses: tuple[RowClause, ...]) -> str:
    """Rename every name that a clause in force asks for."""
    asked = [part.name.rpartition(".")[2] for c in clauses for part in c.check.positives()]
    names = sorted({name for name in asked if name.isidentifier()})
    if names:
        text = re.sub(rf"(?<!\w)({'|'.join(names)})(?!\w)", rf"{_OTHER}\1", text)
    imported = _imported(text, clauses)
    return imported if names or imported != text else ""


def _imported(text: str, clauses: Iterable[RowClause]) -> str:
    """Import a module of no library after the code, where a clause in force would mind."""
    if not text or not any(_asks_for_library(c.check) for c in clauses):
        return text
    return f"{text}\n```python\n{_FOREIGN}\n```" if _FENCE.search(text) else f"{text}\n{_FOREIGN}"


def _asks_for_library(check: Check) -> bool:
    return check.kind == "stdlib_only" or any(_asks_for_library(c) for c in check.checks)


def _defined(clauses: tuple[RowClause, ...]) -> str:
    """Write an artifact that does nothing but what was revoked."""
    parts = [part for c in clauses for part in c.check.positives() if part.kind in _DEFINED]
    lines = [f"class {p.name}: pass" if p.kind == "class" else f"def {p.name}(): pass"
             for p in parts if p.kind != "method"]  # fmt: skip
    lines += [f"class {p.of or 'Owner'}:\n    def {p.name}(self): pass"
              for p in parts if p.kind == "method"]  # fmt: skip
    return "\n".join(lines)
