"""From labels to the key of a stream: readable names in, 64 bits out, the same on every machine."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from simtrack.errors import InputError
from simtrack.validate import integer

__all__ = ["SCHEME", "Label", "canonical_json", "require_distinct", "stream_key"]

#: The name of everything that decides a draw: hash, counter layout, generator and transforms.
#: Whoever changes any of them gives it another name.
SCHEME = "simtrack/1"
Label = str | int | bool | Fraction | tuple[Any, ...] | None
_SEED_HIGHEST = 2**63 - 1  # so that it fits an attribute of every file format


def stream_key(seed: int, purpose: str, /, *labels: Label, **named: Label) -> int:
    """Which 64-bit key belongs to this seed, purpose and these labels?

    Equal arguments give equal keys, hence common random numbers. The key is the BLAKE2b hash of
    8 bytes (read low byte first) of `canonical_json`.

    Parameters
    ----------
    seed : int, 0 to 2^63 - 1
    purpose : str
        What the numbers are for ("outcome", "cluster effect", ...).
    *labels, **named : str, int, bool, None, Fraction or tuples of these
        The cell. Text is NFC-normalised, so the same letters are the same label however they were
        typed; the order of named labels does not matter; 1, True and "1" are three labels.

    Raises
    ------
    InputError
        For a float, whose text is not one and the same everywhere, or any other type.

    Examples
    --------
    >>> hex(stream_key(7, "outcome", stage="READY", repetition=3))
    '0x3fd1ab65e2c46731'
    >>> stream_key(7, "outcome", threshold=0.8)
    Traceback (most recent call last):
    simtrack.errors.InputError: threshold must be text, an integer, a bool, None, a Fraction or a
    tuple of these, got 0.8. Write a decimal as Fraction("0.8") or as text.
    """
    digest = hashlib.blake2b(canonical_json(seed, purpose, *labels, **named), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


def canonical_json(seed: int, purpose: str, /, *labels: Label, **named: Label) -> bytes:
    """Return the bytes that are hashed: ASCII, no spaces, a type tag before every value.

    Examples
    --------
    >>> canonical_json(7, "outcome", "café", part=Fraction(1, 3), on=True)
    b'["simtrack/1",["i",7],["s","outcome"],["s","caf\\\\u00e9"],{"on":["b",true],"part":["q","1/3"]}]'
    """
    if not isinstance(purpose, str) or not purpose:
        raise InputError("purpose", "a text that is not empty", repr(purpose))
    content: list[Any] = [
        SCHEME,
        ["i", integer("seed", seed, 0, _SEED_HIGHEST)],
        _tagged("purpose", purpose),
        *(_tagged(f"label {place}", label) for place, label in enumerate(labels)),
    ]
    if named:
        cell = {unicodedata.normalize("NFC", name): value for name, value in named.items()}
        if len(cell) < len(named):
            raise InputError("labels", "named by different texts", sorted(named))
        content.append({name: _tagged(name, value) for name, value in cell.items()})
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")


class Keyed(Protocol):
    """Whatever draws by a key: a `Stream`."""

    @property
    def key(self) -> int:
        """Its 64 bits."""
        ...


def require_distinct(streams: Iterable[Keyed]) -> None:
    """Refuse a design in which two streams would give the same numbers, and name the two.

    Call it once at set-up with every stream of the design. A stream that is shared on purpose
    (common random numbers) is named once.

    Examples
    --------
    >>> from simtrack.rng import Stream
    >>> require_distinct(Stream(7, "outcome", arm=arm) for arm in ("full", "ablated", "full"))
    Traceback (most recent call last):
    simtrack.errors.InputError: streams must be distinct, got Stream(7, 'outcome', arm='full')
    twice. Name a shared stream once, or add a label that tells the two apart.
    """
    seen: dict[int, Keyed] = {}
    for stream in streams:
        first = seen.get(stream.key)
        if first is not None:
            raise InputError(
                "streams",
                "distinct",
                f"{first} twice" if first == stream else f"one key for {first} and {stream}",
                cure="Name a shared stream once, or add a label that tells the two apart.",
            )
        seen[stream.key] = stream


def _tagged(name: str, value: Any) -> list[Any]:
    if isinstance(value, str):
        return ["s", unicodedata.normalize("NFC", value)]
    if value is None:
        return ["n"]
    if isinstance(value, (bool, np.bool_)):
        return ["b", bool(value)]
    if isinstance(value, Fraction):
        return ["q", f"{value.numerator}/{value.denominator}"]
    if isinstance(value, tuple):
        return ["t", *(_tagged(name, part) for part in value)]
    if isinstance(value, (int, np.integer)):
        return ["i", int(value)]
    is_number = isinstance(value, (float, np.floating))
    raise InputError(
        name,
        "text, an integer, a bool, None, a Fraction or a tuple of these",
        repr(float(value)) if is_number else repr(value),
        cure=f'Write a decimal as Fraction("{float(value)!r}") or as text.' if is_number else "",
    )
