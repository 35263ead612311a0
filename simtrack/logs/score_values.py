"""Which number does a logged score stand for? Never 0 for something that is not understood."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from simtrack.errors import DataError, InputError
from simtrack.logs.decode import one_line

__all__ = ["NON_FINITE", "NULL", "ScoreReader"]

#: What Inspect's letters and the usual words stand for.
LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
NULL, NAN, EMPTY = "score is null", "score is NaN", "score is empty"
NON_FINITE = "score is not finite"
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NAN = {"nan", "+nan", "-nan"}
_INFINITE = {"inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"}
_UNKNOWN = "unknown"
_MOST_SHOWN = 6


class ScoreReader:
    """Turn logged scores into numbers, and collect those that nobody can.

    Parameters
    ----------
    scores : mapping of text to number or None, optional
        The user's own values, looked up first: {"D": 0, "N/A": None}. None is unscored.

    Examples
    --------
    >>> reader = ScoreReader({"D": 0.25})
    >>> [reader.read(v) for v in ("C", "P", True, "0.5", "D", None)]
    [(1.0, ''), (0.5, ''), (1.0, ''), (0.5, ''), (0.25, ''), (nan, 'score is null')]
    """

    def __init__(self, scores: Mapping[str, float | None] | None = None) -> None:
        self._mapped = {str(k): _checked(k, v) for k, v in (scores or {}).items()}
        self._known: dict[str, tuple[float, str]] = {}
        self.unknown: Counter[tuple[str, str]] = Counter()
        self.letters: Counter[tuple[str, str]] = Counter()

    def read(self, value: Any, metric: str = "", *, times: int = 1) -> tuple[float, str]:
        """Give the number and, where there is none, NaN and the reason, of so many equal scores."""
        if self._mapped and (mapped := self._mapped.get(_text(value))):
            return mapped
        found = self._by_type(value)
        if isinstance(value, str) and value in {"P", "N"}:
            self.letters[metric, value] += times
        if found[1] == _UNKNOWN:
            self.unknown[metric, _shown(value)] += times
        return found

    def column(self, values: Iterable[Any], metric: str = "") -> tuple[list[float], list[str]]:
        """Read a whole column: numbers, and reasons ('' where there is a number)."""
        values = list(values)
        if not self._mapped and set(map(type, values)) == {float} and all(map(isfinite, values)):
            return values, [""] * len(values)
        pairs = [self.read(value, metric) for value in values]
        return [p[0] for p in pairs], [p[1] for p in pairs]

    def notes(self) -> list[str]:
        """Say how often a letter stood for something that its reader may not expect."""
        return [
            f"{metric + ': ' if metric else ''}{n} scores {letter} (partial) count as 0.5"
            if letter == "P"
            else f"{metric + ': ' if metric else ''}{n} scores N (no answer) count as 0"
            for (metric, letter), n in sorted(self.letters.items())
        ]

    def refuse_unknown(self, label: str, metrics: Sequence[str] = ()) -> None:
        """Raise one DataError that lists every value that was not understood, with counts."""
        if not self.unknown:
            return
        listed = [
            f"{value} ×{n}" + (f" in {metric}" if metric else "")
            for (metric, value), n in self.unknown.most_common(_MOST_SHOWN)
        ]
        more = len(self.unknown) - len(listed)
        tail = f" and {more} more kinds" if more > 0 else ""
        first = next(iter(self.unknown))[1]
        other = f", or choose a metric (metric=...) of {', '.join(metrics)}" if metrics else ""
        cure = (
            f"Say what each stands for: --score {first[:-1]}=NUMBER' or {first[:-1]}=unscored' "
            f"(in Python scores={{{first}: NUMBER or None}}){other}."
        )
        if not first.startswith("'"):
            cure = f"Such a score has no one number{other}."
        raise DataError(
            f"{label}: scores that stand for no number: {', '.join(listed)}{tail}. {cure}"
        )

    def _by_type(self, value: Any) -> tuple[float, str]:
        if isinstance(value, str):
            found = self._known.get(value)
            if found is None:
                found = self._known[value] = _from_text(value)
            return found
        if isinstance(value, (bool, int, float)):
            return _from_number(value)
        return (math.nan, NULL) if value is None else (math.nan, _UNKNOWN)


def _from_number(value: float) -> tuple[float, str]:
    try:
        number = float(value)
    except OverflowError:
        return math.nan, f"{NON_FINITE} (beyond a float)"
    if math.isfinite(number):
        return number, ""
    return math.nan, NAN if math.isnan(number) else f"{NON_FINITE} ({number})"


def _from_text(text: str) -> tuple[float, str]:
    bare = text.strip()
    if bare in LETTERS:
        return LETTERS[bare], ""
    lower = bare.lower()
    if lower in WORDS:
        return WORDS[lower], ""
    if _NUMBER.fullmatch(bare):
        return _from_number(float(bare))
    if lower in _NAN or not bare:
        return math.nan, NAN if bare else EMPTY
    return (math.nan, f"{NON_FINITE} ({bare})") if lower in _INFINITE else (math.nan, _UNKNOWN)


def _checked(key: object, value: object) -> tuple[float, str]:
    if value is None:
        return math.nan, f"score {key!s} is mapped to unscored"
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError("scores", "a mapping to finite numbers or None", f"{key!r}: {value!r}")
    return number, ""


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object with keys {one_line(', '.join(map(str, value)), 60)}"
    return repr(one_line(value, 40))
