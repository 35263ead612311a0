"""JSON objects read field by field: what is wrong is said in one line that names the field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn, Self

from simtrack.errors import DataError, InputError
from simtrack.plain import Document, shown, under

__all__ = ["LedgerPart", "a_label", "a_text", "as_json", "at", "items", "known", "read_object"]

_SHOWN = 60


def a_text(name: str, value: object, *, empty: bool = False) -> str:
    """Return a text that can be written as UTF-8 and is not blank.

    Examples
    --------
    >>> a_text("text", "Use tabs.")
    'Use tabs.'
    >>> a_text("text", 3)
    Traceback (most recent call last):
    simtrack.errors.InputError: text must be a text that is not empty, got 3.
    """
    rule = "a text" if empty else "a text that is not empty"
    if not isinstance(value, str) or not (empty or value.strip()):
        raise InputError(name, rule, shown(value))
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise InputError(name, f"{rule}, without halves of characters", shown(value))
    return value


def a_label(name: str, value: object) -> str:
    """Return a text that stands on one line without blanks around it: an id.

    Examples
    --------
    >>> a_label("id", "audit log")
    'audit log'
    """
    text = a_text(name, value)
    if text != text.strip() or not text.isprintable():
        raise InputError(name, "one line without blanks around it", shown(value))
    return text


def read_object(text: str, what: str) -> dict[str, Any]:
    """Return the JSON object in the text; a key that stands twice in it is refused."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise DataError(f"{what} has the key {shown(key)} twice. Keep one of them.")
            found[key] = value
        return found

    def refuse(word: str) -> NoReturn:
        raise DataError(f"{what} holds {word}, which is no JSON number.")

    try:
        found = json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except RecursionError:
        raise DataError(f"{what} is nested too deeply to be one.") from None
    except DataError:
        raise
    except ValueError as error:  # bad JSON, or an integer of thousands of digits
        raise DataError(f"{what} is not valid JSON: {error}.") from None
    if not isinstance(found, dict):
        raise DataError(f"{what} must be a JSON object, got {shown(found)}.")
    return found


def known(
    data: object,
    path: str,
    needed: tuple[str, ...],
    optional: tuple[str, ...] = (),
    schema: str | None = None,
) -> dict[str, Any]:
    """Return the fields of an object whose keys are as they must be, without its schema.

    Examples
    --------
    >>> known({"id": "a", "txt": "b"}, "clauses[0]", ("id", "text"))
    Traceback (most recent call last):
    simtrack.errors.DataError: clauses[0].txt is not a field here. Did you mean text? Fields: id,
    text.
    """
    if not isinstance(data, Mapping):
        raise DataError(f"{path} must be a JSON object, got {shown(data)}.")
    names = (*needed, *optional)
    if schema is not None and data.get("schema", schema) != schema:
        raise DataError(f"schema must be '{schema}', got {shown(data['schema'])} ({path}).")
    for key in data:
        if key not in names and not (schema is not None and key == "schema"):
            near = f"Did you mean {_nearest(str(key), names)}? " if names else ""
            raise DataError(
                f"{under(path, _key(key))} is not a field here. {near}Fields: {', '.join(names)}."
            )
    for name in needed:
        if name not in data:
            raise DataError(f"{under(path, name)} is missing. Fields: {', '.join(names)}.")
    return {key: value for key, value in data.items() if key != "schema"}


def items(data: Mapping[str, Any], name: str, path: str) -> list[tuple[str, Any]]:
    """Return the items of a list, each with its path; a list left out is empty.

    Examples
    --------
    >>> items({"clauses": ["a", "b"]}, "clauses", "the ledger")
    [('clauses[0]', 'a'), ('clauses[1]', 'b')]
    """
    found = data.get(name, [])
    here = under(path, name)
    if not isinstance(found, (list, tuple)):
        raise DataError(f"{here} must be a list, got {shown(found)}.")
    return [(f"{here}[{place}]", item) for place, item in enumerate(found)]


class LedgerPart(Document):
    """A part of a ledger's file: read and refused with the path of every field."""

    __slots__ = ()
    _what: ClassVar[str] = ""

    def __init_subclass__(cls, *, what: str = "", **more: Any) -> None:
        super().__init_subclass__(**more)
        if what:
            cls._what = what

    @classmethod
    def from_dict(cls, data: object, where: str = "") -> Self:
        """Read what `to_dict` wrote; what has a default may be left out.

        Raises
        ------
        DataError
            With the path of what is unknown, missing or breaks a rule.
        """
        try:
            return super().from_dict(data, where or cls._what)
        except InputError as error:
            raise DataError(str(error)) from None

    @classmethod
    def _given(cls, data: object, where: str) -> dict[str, Any]:
        needed, optional = cls._arguments()
        return known(data, where, needed, optional, cls._head.get("schema"))

    @classmethod
    def _made(cls, values: dict[str, Any], where: str) -> Self:
        with at(where):
            return super()._made(values, where)


@contextmanager
def at(path: str) -> Iterator[None]:
    """Put the path in front of what a constructor refuses.

    Examples
    --------
    >>> with at("clauses[2]"):
    ...     a_text("text", "")
    Traceback (most recent call last):
    simtrack.errors.DataError: clauses[2].text must be a text that is not empty, got ''.
    """
    try:
        yield
    except InputError as error:
        raise DataError(under(path, str(error))) from None


def as_json(data: Mapping[str, Any]) -> str:
    """Write plain data as people read it: indented, letters as they are, one line end."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _key(key: object) -> str:
    """Show a key as it is where it is a name, and else as code shows it."""
    return key if isinstance(key, str) and key.isidentifier() and len(key) < _SHOWN else shown(key)


def _nearest(word: str, names: tuple[str, ...]) -> str:
    from difflib import SequenceMatcher

    return max(names, key=lambda name: SequenceMatcher(None, word.lower(), name).ratio())
