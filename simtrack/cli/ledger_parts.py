"""How `simtrack ledger` reads its input, and how it puts its answers out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from simtrack.cli.parsing import read_text
from simtrack.errors import DataError, InputError, SimtrackError

if TYPE_CHECKING:
    from simtrack.ledger import Ledger, Screening, Slices

__all__ = [
    "check_clause",
    "check_document",
    "read_either",
    "read_input",
    "read_ledger",
    "show_clauses",
    "show_screening",
    "show_slices",
    "wants_json",
    "write",
]

_STDIN = "-"
_SHOWN = 40


def read_input(path: str) -> str:
    """Read a file, or standard input for "-"; a terminal is not waited for."""
    if path != _STDIN:
        return read_text(path)
    if sys.stdin is None or sys.stdin.isatty():
        cure = "Try: simtrack ledger example | simtrack ledger compile"
        raise InputError("input", "a file, or JSON on standard input", "neither", cure=cure)
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError("standard input: not a text in UTF-8.") from None


def read_ledger(path: str, slice_id: str | None = None) -> Ledger:
    """Read a ledger, or that of one slice of a file of slices; refusals begin with the file."""
    found = read_either(path)
    from simtrack.ledger import Ledger

    if isinstance(found, Ledger):
        if slice_id is not None:
            raise InputError("slice", "left out for a ledger", repr(slice_id))
        return found
    for one in found.slices:
        if one.id == slice_id:
            return one.ledger()
    names = [one.id for one in found.slices]
    few = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
    cure = _nearest(slice_id or "", names)
    raise InputError("slice", f"one of {few or '(none)'}", repr(slice_id or "none"), cure=cure)


def read_either(path: str) -> Ledger | Slices:
    """Read a ledger or slices, told apart by their fields."""
    from simtrack.ledger import Ledger, Slices
    from simtrack.ledger.fields import read_object

    text = read_input(path)
    name = "standard input" if path == _STDIN else path
    try:
        check_document(text, "a ledger")
        data = read_object(text, "the document")
        if "slices" in data:
            return Slices.from_dict(data)
        if "tasks" in data:
            raise DataError("these are tasks. Make slices of them: simtrack ledger slice.")
        return Ledger.from_dict(data)
    except SimtrackError as error:
        raise DataError(f"{name}: {error}") from None


def check_document(text: str, what: str) -> None:
    """Refuse a text that is empty or begins like no JSON, and say how to start."""
    start = text.lstrip()
    if start.startswith(("{", "[")):
        return
    example = "tasks -o tasks.json" if what == "tasks" else "-o ledger.json"
    cure = f"To start from an example: simtrack ledger example {example}"
    if not start:
        raise DataError(f"it is empty, where {what} in JSON should be. {cure}")
    line = start.splitlines()[0]
    shown = line if len(line) <= _SHOWN else line[:_SHOWN] + "…"
    raise DataError(f"it does not hold {what} in JSON: it begins with {shown!r}. {cure}")


def check_clause(ledger: Ledger, clause: str | None, turn: int | None) -> str:
    """Refuse a clause that was not named, or an id that the ledger does not have."""
    binding = [one.id for one in ledger.in_force(turn)]
    rule = f"one of {', '.join(binding) or '(none in force)'}"
    if clause is None:
        raise InputError("--clause", rule, "none")
    if clause not in {one.id for one in ledger.clauses}:
        raise InputError("--clause", rule, repr(clause), cure=_nearest(clause, binding))
    return clause


def write(text: str, output: str | None, what: str) -> None:
    """Print the text, or put it into a file and say so."""
    text = text if text.endswith("\n") else text + "\n"
    if output is None:
        print(text, end="")
        return
    from simtrack.files import write_text

    write_text(output, text)
    print(f"{output}: {what}")


def show_clauses(ledger: Ledger, turn: int | None) -> str:
    """Lay out what binds, what was revoked, and what was done about it."""
    from simtrack.ledger import compile_ledger
    from simtrack.report.table import Table

    specification = compile_ledger(ledger, turn)
    numbers = {clause.id: str(n) for n, clause in enumerate(specification.clauses, 1)}
    stones = {stone.clause: stone for stone in ledger.tombstones}
    rows: list[tuple[str, ...]] = []
    for clause in ledger.clauses:
        stone = stones.get(clause.id)
        state = "in force" if clause.id in numbers else "not yet"
        if stone is not None and stone.turn <= specification.turn:
            by = f" by {stone.replacement}" if stone.replacement else ""
            state = f"revoked in turn {stone.turn}{by}"
        done = ", ".join(f"{e.rung} {e.kind}" if e.rung else e.kind for e in clause.history)
        cells = (numbers.get(clause.id, "–"), clause.id, str(clause.turn), state)
        rows.append((*cells, clause.checker_id, clause.surface_text, done or "–"))
    heads = ("no.", "clause", "turn", "state", "checker", "surface text", "history")
    title = f"Net state at turn {specification.turn}: {len(numbers)} clauses in force"
    return Table(title, heads, rows, frozenset(heads[1:2] + heads[3:])).plain()


def show_slices(slices: Slices) -> str:
    """Write the scripts as people read them."""
    blocks = []
    for one in slices.slices:
        lines = [f"## {one.id}: {_fate(one.revoked)}"]
        lines += [f"[{k} {turn.role}] {turn.text}" for k, turn in enumerate(one.turns)]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def show_screening(found: Screening) -> str:
    """Say how many units leak, and each leak with its place."""
    from simtrack.report.table import Table

    units = "s" * (found.units != 1)
    lines = [f"{found.units_with_leaks} of {found.units} {found.unit}{units} leak "
             f"({found.passages} passages)"]  # fmt: skip
    if found.leaks:
        rows: list[tuple[str, ...]] = [(k.rule, k.term, k.where, k.excerpt) for k in found.leaks]
        heads = ("rule", "term", "where", "excerpt")
        lines.append(Table("", heads, rows, frozenset(heads)).plain())
    return "\n".join([*lines, *(f"Note: {note}" for note in found.notes)])


def wants_json(as_json: bool, output: str | None) -> bool:
    """Is JSON wanted: asked for, or by the ending of the file?"""
    return as_json or (output is not None and output.lower().endswith(".json"))


def _fate(revoked: str | None) -> str:
    return f"{revoked} is revoked" if revoked else "nothing is revoked"


def _nearest(word: str, names: Sequence[str]) -> str:
    """Name the nearest of the names, if one is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, names, 1)
    return f"Did you mean {near[0]}?" if near else ""
