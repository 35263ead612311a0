"""Checkers of numbers: the one that a reply gives, and all those with a mark such as "$"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from simtrack.errors import InputError
from simtrack.scoring.constraints.text import (
    Check,
    Kind,
    Settings,
    Verdict,
    one_of,
    quoted,
    texts_of,
    unified,
)
from simtrack.scoring.protocol_file import text as text_of
from simtrack.validate import decimal_fraction

__all__ = ["NUMBERS", "Number", "numbers"]

_LONGEST = 400
#: A mark stands at most so many characters from its number, blanks included.
_NEAR = 40
_GAP = "\u00a0\u202f\u2009'’"
_SIGNS = "+\\-−"


class Number(NamedTuple):
    """A number in a text: its exact value, and where its digits and marks stand."""

    value: Fraction
    start: int
    end: int


def _pattern(decimal: str) -> re.Pattern[str]:
    point, comma = (r"\.", ",") if decimal == "point" else (",", r"\.")
    whole = rf"\d{{1,3}}(?:[{comma}{_GAP}]\d{{3}})++(?!\d)|\d++"
    return re.compile(
        rf"(?<!\w)(?<!\d{point})(?P<sign>(?<![\w)])[{_SIGNS}])?(?P<mark>[$€£¥])?"
        rf"(?:(?P<whole>{whole})(?:{point}(?P<part>\d++))?|(?<!{point}){point}(?P<bare>\d++))"
        rf"(?:[eE](?P<power>[{_SIGNS}]?\d{{1,4}})(?!\w))?"
    )


_PATTERNS = {"point": _pattern("point"), "comma": _pattern("comma")}


def numbers(text: str, decimal: str = "point") -> list[Number]:
    """Give the numbers in a text, as exact fractions.

    Digits that follow a letter, a digit or a stop ("A4", "v2", the 3 of "1.2.3") begin no number;
    letters after them do no harm ("12kg", "3rd"). A minus counts where no letter or digit stands
    before it: "3-5" is 3 and 5. Thousands may be parted by a comma (by a stop where the comma is
    the decimal mark), an apostrophe or a hard blank, in threes: "3,4" is 3 and 4. A percent sign is
    not read: 5% is 5. "1/2" is 1 and 2.

    Examples
    --------
    >>> [str(n.value) for n in numbers("From $1,234.50 down to −3 in A4, 3-5 times.")]
    ['2469/2', '-3', '3', '5']
    >>> [str(n.value) for n in numbers("1.234,5 kg", "comma")]
    ['2469/2']
    """
    read = [(_value(match), match) for match in _PATTERNS[decimal].finditer(text)]
    return [Number(v, match.start(), match.end()) for v, match in read if v is not None]


def _value(match: re.Match[str]) -> Fraction | None:
    whole = "".join(filter(str.isdigit, match["whole"] or "0"))
    part = match["part"] or match["bare"] or ""
    power = int((match["power"] or "0").replace("−", "-"))
    if len(whole) + len(part) > _LONGEST or abs(power) > _LONGEST:
        return None
    size = Fraction(int(whole + part), 10 ** len(part)) * Fraction(10) ** power
    return -size if match["sign"] in ("-", "−") else size


def _number(settings: Settings, where: str) -> Check:
    if "equals" not in settings:
        raise InputError("equals", "the number that is wanted", where=where)
    wanted = decimal_fraction("equals", settings["equals"])
    slack = decimal_fraction("tolerance", settings.get("tolerance", 0))
    if slack < 0:
        raise InputError("tolerance", "at least 0", slack, where=where)
    which = one_of(settings, "which", ("last", "first", "only"), where)
    decimal = one_of(settings, "decimal", ("point", "comma"), where)
    label = text_of(settings, "label", "", where).casefold() if "label" in settings else ""

    def check(text: str) -> Verdict:
        plain = unified(text).casefold()
        if label:
            at = plain.rfind(label)
            if at < 0:
                return Verdict(False, f"no {quoted(label)}")
            plain = plain[at + len(label) :].split("\n", 1)[0]
        matches = list(_PATTERNS[decimal].finditer(plain))
        if not matches or (which == "only" and len(matches) > 1):
            return Verdict(False, f"{len(matches)} numbers")
        value = _value(matches[0 if label or which == "first" else -1])
        if value is None:
            return Verdict(False, "a number of too many digits")
        return Verdict(abs(value - wanted) <= slack, f"says {_shown(value)}")

    return check


def _amounts(settings: Settings, where: str) -> Check:
    marks = texts_of(settings, "marks", where)
    decimal = one_of(settings, "decimal", ("point", "comma"), where)
    need = one_of(settings, "need", ("no", "some"), where) == "some"
    ends = {key: decimal_fraction(key, settings[key])
            for key in ("at_least", "at_most") if key in settings}  # fmt: skip
    if not ends:
        raise InputError("bound", "at_least, at_most or both", "none", where=where)

    def check(text: str) -> Verdict:
        plain = unified(text)
        n = 0
        for number in numbers(plain, decimal):
            if not _is_marked(plain, number, marks):
                continue
            n += 1
            low, high = ends.get("at_least"), ends.get("at_most")
            if (low is not None and number.value < low) or (
                high is not None and number.value > high
            ):
                return Verdict(False, f"an amount of {_shown(number.value)}")
        return Verdict(bool(n) or not need, f"{n} amounts, all within" if n else "no amount")

    return check


def _is_marked(text: str, number: Number, marks: list[str]) -> bool:
    digits = text[number.start : number.end]
    before = text[max(0, number.start - _NEAR) : number.start].rstrip()
    after = text[number.end : number.end + _NEAR].lstrip()
    return any(m in digits or before.endswith(m) or after.startswith(m) for m in marks)


def _shown(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    return f"{float(value):.12g}"


#: The kinds of this file, by name.
NUMBERS: Mapping[str, Kind] = {
    "number": Kind(
        ("equals", "tolerance", "which", "label", "decimal"),
        "The reply's number is equals, at most tolerance away, in exact arithmetic; which = "
        '"last" (default), "first", or "only" one; with a label, the first number after its last '
        'mention on the same line; decimal = "point" (default) or "comma".',
        _number,
    ),
    "amounts": Kind(
        ("marks", "at_least", "at_most", "need", "decimal"),
        'Every number with one of these marks before or after it ("$", "EUR") lies within the '
        'bounds; need = "no" (default) or "some" amount at all.',
        _amounts,
    ),
}
