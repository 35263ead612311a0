"""Frozen dataclasses as plain data and back: one way for settings, agents and results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from fractions import Fraction
from inspect import Parameter, signature
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from simtrack.errors import InputError

__all__ = [
    "Document",
    "Pairs",
    "Plain",
    "decimal_text",
    "is_decimal",
    "only_keys",
    "plain",
    "shown",
    "under",
]


class Plain:
    """A dataclass that is written as plain data.

    Class keywords
    --------------
    schema, kind : str
        Written first, and refused where they are read with another value.
    names : str
        What `to_dict` writes, in this order, separated by blanks: fields, properties, or methods
        without arguments; "key=name" writes one under another key. By default all fields without
        an underscore in front.

    Notes
    -----
    A subclass that writes one key in its own way takes `Plain.to_dict(self) | {key: value}`: a
    dataclass with slots has no working `super()` without arguments.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Share(Plain, schema="simtrack.share/1", names="passes=hits rate"):
    ...     hits: int
    ...     n: int = 1
    ...     @property
    ...     def rate(self):
    ...         return Fraction(self.hits, self.n)
    >>> Share(2, 3).to_dict()
    {'schema': 'simtrack.share/1', 'passes': 2, 'rate': '2/3'}
    """

    __slots__ = ()
    _head: ClassVar[Mapping[str, str]] = {}
    _names: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(
        cls, *, schema: str = "", kind: str = "", names: str = "", **more: object
    ) -> None:
        super().__init_subclass__(**more)
        # a dataclass with slots is made twice, the second time without keywords
        if schema or kind:
            given = {"schema": schema, "kind": kind}
            cls._head = {key: value for key, value in given.items() if value}
        if names:
            pairs = [entry.partition("=") for entry in names.split()]
            cls._names = {key: name or key for key, _, name in pairs}

    def to_dict(self) -> dict[str, Any]:
        """Give plain data: what JSON and TOML can hold."""
        names = self._names or {name: name for name in _field_names(self)}
        return {**self._head, **{key: plain(getattr(self, name)) for key, name in names.items()}}


class Document(Plain):
    """A dataclass that is written as plain data and read back from it.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Share(Document, schema="simtrack.share/1"):
    ...     hits: int
    ...     n: int = 1
    >>> Share.from_dict({"hits": 4})
    Share(hits=4, n=1)
    >>> Share.from_dict({"hit": 4}, "study.toml")
    Traceback (most recent call last):
    simtrack.errors.InputError: key must be one of schema, hits, n, got 'hit' (study.toml). Did you
    mean hits?
    """

    __slots__ = ()

    @classmethod
    def from_dict(cls, data: object, where: str = "") -> Self:
        """Make the object that plain data describe; what is left out takes its default.

        Raises
        ------
        InputError
            A key is unknown or missing, or a value breaks a rule; `where` is told with it.
        """
        given = cls._given(data, where)
        hints = _about(cls)[1]
        values = {name: _read(hints.get(name), value, name, where) for name, value in given.items()}
        return cls._made(values, where)

    @classmethod
    def _arguments(cls) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Name what must be given, and what may be left out."""
        names = _about(cls)[0]
        needed, optional = (
            [n for n, must in names.items() if must is which] for which in (True, False)
        )
        return tuple(needed), tuple(optional)

    @classmethod
    def _made(cls, values: dict[str, Any], where: str) -> Self:
        """Make the object; `where` is for those who tell it with what the constructor refuses."""
        return cls(**values)

    @classmethod
    def _given(cls, data: object, where: str) -> dict[str, Any]:
        """Check the keys, and give the arguments among them."""
        if not isinstance(data, Mapping):
            raise InputError(where or "data", "a table", shown(data))
        needed = _about(cls)[0]
        only_keys(data, (*cls._head, *needed), where)
        for key, value in cls._head.items():
            if data.get(key, value) != value:
                raise InputError(key, repr(value), repr(data[key]), where=where)
        for name, is_needed in needed.items():
            if is_needed and name not in data:
                raise InputError(name, "given", where=where)
        return {key: value for key, value in data.items() if key not in cls._head}


V = TypeVar("V")
_SHOWN = 60


class Pairs(tuple[tuple[str, V], ...]):
    """A mapping that is hashable: (name, value) pairs in their order, written as an object.

    Examples
    --------
    >>> plain(Pairs([("arm", ("a", "b"))])), dict(Pairs([("arm", 1)]))
    ({'arm': ['a', 'b']}, {'arm': 1})
    """

    __slots__ = ()

    def to_plain(self) -> dict[str, Any]:
        """Give an object as JSON holds it."""
        return {name: plain(value) for name, value in self}


def plain(value: object) -> Any:  # noqa: PLR0911 - one answer a kind of value
    """Give a value as JSON holds it.

    Fractions become decimals where they end ("0.8", else "2/3"); tuples, sets and arrays lists;
    dataclasses objects; a number that is not finite is None. A value with a form of its own has
    `to_plain`.

    Examples
    --------
    >>> plain({0.5: (Fraction(4, 5), float("nan"), {"b", "a"})})
    {'0.5': ['0.8', None, ['a', 'b']]}
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Fraction):
        return decimal_text(value)
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if hasattr(value, "to_plain"):
        return value.to_plain()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return [plain(one) for one in sorted(value)]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "tolist"):  # NumPy, which is not imported here
        return plain(value.tolist())
    if is_dataclass(value):
        return {name: plain(getattr(value, name)) for name in _field_names(value)}
    if callable(value):
        return plain(value())
    raise TypeError(f"no plain data for {type(value).__name__}")


def only_keys(content: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    """Refuse a key that means nothing, and name the one that was meant."""
    for key in content:
        if key not in known:
            near = get_close_matches(str(key), known, 1)
            cure = f"Did you mean {near[0]}?" if near else ""
            raise InputError("key", f"one of {', '.join(known)}", repr(key), where=where, cure=cure)


def under(where: str, name: str) -> str:
    """Join a place and what is under it; a whole document ("the ledger") is not told again.

    Examples
    --------
    >>> under("clauses[0]", "text"), under("the ledger", "clauses")
    ('clauses[0].text', 'clauses')
    """
    return name if " " in where.split("[", maxsplit=1)[0] or not where else f"{where}.{name}"


def shown(value: object) -> str:
    """Show a value in an error: short, and on one line."""
    try:
        text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    except ValueError:  # an integer of thousands of digits has no text
        return "a number of thousands of digits"
    text = " ".join(text.encode("utf-8", "backslashreplace").decode("utf-8").split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def is_decimal(value: Fraction) -> bool:
    """Does the fraction end as a decimal: is its denominator made of twos and fives alone?

    Examples
    --------
    >>> is_decimal(Fraction(4, 5)), is_decimal(Fraction(2, 3))
    (True, False)
    """
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def decimal_text(value: Fraction) -> str:
    """How is this fraction typed: as a decimal where it ends, else as numerator/denominator?

    Examples
    --------
    >>> decimal_text(Fraction(4, 5)), decimal_text(Fraction(2, 3)), decimal_text(Fraction(7))
    ('0.8', '2/3', '7')
    """
    if not is_decimal(value):
        return str(value)
    places = 0
    while value.denominator > 10**places or 10**places % value.denominator:
        places += 1
    digits = abs(value.numerator) * (10**places // value.denominator)
    sign = "-" if value < 0 else ""
    if not places:
        return f"{sign}{digits}"
    text = str(digits).rjust(places + 1, "0")
    return f"{sign}{text[:-places]}.{text[-places:]}"


def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if not field.name.startswith("_"))


#: Of each class that was read: its constructor's arguments, whether each must be given, and types.
_READ: dict[type, tuple[dict[str, bool], dict[str, Any]]] = {}


def _about(kind: type) -> tuple[dict[str, bool], dict[str, Any]]:
    if kind not in _READ:
        arguments = signature(kind).parameters.items()
        needed = {name: p.default is Parameter.empty for name, p in arguments}
        _READ[kind] = needed, get_type_hints(kind)
    return _READ[kind]


def _read(hint: Any, value: object, name: str, where: str) -> Any:
    """Give a value as its field holds it: lists as tuples, objects as what they describe.

    What a constructor can check is left to it.
    """
    origin, parts = get_origin(hint), get_args(hint)
    if _is_document(hint):
        return value if isinstance(value, hint) else hint.from_dict(value, under(where, name))
    if origin in (Union, UnionType):
        part = _chosen([part for part in parts if part is not NoneType], value)
        return value if value is None or part is None else _read(part, value, name, where)
    is_table = origin is Pairs or (origin in (dict, Mapping) and _is_document(parts[1]))
    if is_table and isinstance(value, Mapping):
        read = {str(k): _read(parts[-1], x, f"{name}.{k}", where) for k, x in value.items()}
        return Pairs(read.items()) if origin is Pairs else read
    if origin is tuple and isinstance(value, (list, tuple)):
        return tuple(_read(parts[0], x, f"{name}[{k}]", where) for k, x in enumerate(value))
    if is_table or origin is tuple:
        kind = "a table" if is_table else "a list"
        raise InputError(under(where, name), kind, shown(value))
    return value


def _chosen(kinds: list[Any], value: object) -> Any:
    """Of several kinds, the first document that has all of the keys."""
    keys = set(value) if isinstance(value, Mapping) else set()
    fit = [kind for kind in kinds if _is_document(kind) and keys and keys <= set(_about(kind)[0])]
    return kinds[0] if len(kinds) == 1 else fit[0] if fit else None


def _is_document(hint: Any) -> bool:
    return isinstance(hint, type) and get_origin(hint) is None and issubclass(hint, Document)
