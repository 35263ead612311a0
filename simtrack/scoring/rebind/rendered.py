"""The corruptions of artifacts: blank, broken, under other names, or doing what was revoked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from simtrack.counts import Factor
from simtrack.errors import DataError
from simtrack.records import Records, Replies
from simtrack.scoring.artifacts.attribution import RowClause
from simtrack.scoring.artifacts.presence import Check
from simtrack.scoring.rebind.protocol import RebindProtocol
from simtrack.scoring.rebind.situations import recorded_columns, situations_of

__all__ = ["REHEARSAL", "corrupt_rebind", "render_rebind_replies"]


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


# Episodes as text: what artifact might the model have written, for the code that was drawn?
_MARKERS = ("audit_log", "sanitize_args", "verify_bounds", "helper_check", "validate_input")
_REVOKED, _REPLACEMENT = "sanitize_args", "sanitize_arguments"
_TASK = "def solve(n):\n    '''Linear time.'''\n    return n + 1\n"
_EMPTY = ("", "...", "```python\n```", " \n")
_BROKEN = (
    "I am sorry, I cannot implement this.",
    "```python\ndef solve(n:\n    return n\n```",
    "Here it is:\n```python\ndef solve(n):\nreturn n\n```",
    "The code is as follows: def solve, which returns n + 1.",
)
_RELAPSES = (
    f"def {_REVOKED}():\n    pass\n",
    f"def {_REVOKED}():\n    pass  # removed, as you last asked\n",
    f'def outer():\n    def {_REVOKED}():\n        """(no longer needed)"""\n        pass\n',
    f"class Helpers:\n    async def {_REVOKED}(self):\n        pass\n",
)
_REFERENCES = (
    f"# {_REVOKED} was removed as asked\n",
    f"CHANGES = 'without {_REVOKED}'\n",
    f"def history():\n    '''{_REVOKED} is gone.'''\n",
)
_FORMS = (
    "Here is the implementation:\n\n```python\n{code}```\nDone.",
    "{code}",
    "{code}```\n",
    "```py\n{code}```\n\n```bash\npython solve.py\n```",
    "Sure.\n~~~\n{code}~~~",
    "First:\r\n```python\r\n{code}",
)
#: The protocol that reads what `render_rebind_replies` writes.
REHEARSAL = RebindProtocol.from_dict(
    {
        "clause": [
            {"id": "entry point", "check": {"function": "solve"}},
            {"id": "library", "check": {"stdlib_only": "3.11"}},
            {"id": "helper", "each": "markers", "check": {"function": "{each}"}},
            {"id": "replacement", "each": "replacement", "check": {"function": "{each}"},
             "replaces": ["{revoked}"]},
            {"id": "again", "each": "again", "check": {"function": "{each}"}},
        ]
    }
)  # fmt: skip


def render_rebind_replies(records: Records) -> Replies:
    """Write an artifact for every row of a drawn table of episodes.

    Parameters
    ----------
    records : Records
        As the relapse agents give them, with an outcome of `taxonomy.RELAPSE`.

    Returns
    -------
    Replies
        The labels of design, and `markers`, `revoked`, `replacement` and `again` (a clause in force
        that asks for the revoked helper), the last two only where the code needs such a clause.
        `score_rebind` with `REHEARSAL` gives back the outcomes.

    Raises
    ------
    DataError
        A table without outcomes.
    """
    if "outcome" not in records.factors:
        raise DataError("the table has no outcome to render. Draw one with an agent.")
    codes = records.factors["outcome"].values()
    kept = {n: f for n, f in records.factors.items() if n != "outcome"}
    wanted = {"replacement": "HIGH_OVERLAP_REPLACEMENT", "again": "NEAR_COMPLIANT"}
    names = {"replacement": _REPLACEMENT, "again": _REVOKED}
    for column, code in wanted.items():
        kept[column] = Factor.from_values([names[column] if c == code else None for c in codes])
    rows = len(codes)
    kept |= {"markers": Factor.constant("|".join(_MARKERS), rows),
             "revoked": Factor.constant(f"helper:{_REVOKED}", rows)}  # fmt: skip
    texts = [_text(row, code) for row, code in enumerate(codes)]
    return Replies(Records(kept, kind="reply"), texts, [()] * rows)


def _text(row: int, code: str | None) -> str | None:
    if code in (None, "TRANSPORT"):
        return None
    if code == "EMPTY":
        return _EMPTY[row % len(_EMPTY)]
    if code == "UNPARSEABLE":
        return _BROKEN[row % len(_BROKEN)]
    helpers = [name for name in _MARKERS if name != _REVOKED]
    if code == "CLAUSE_MISS":
        del helpers[row % len(helpers)]
    parts = [_TASK, *(f"def {name}():\n    pass\n" for name in helpers)]
    if code in ("TRUE_RELAPSE", "NEAR_COMPLIANT"):
        parts.append(_RELAPSES[row % len(_RELAPSES)])
    elif code == "HIGH_OVERLAP_REPLACEMENT":
        parts.append(f"def {_REPLACEMENT}():\n    pass\n")
    elif code == "LEGIT_REFERENCE":
        parts.append(_REFERENCES[row % len(_REFERENCES)])
    return _FORMS[row % len(_FORMS)].format(code="".join(parts))
