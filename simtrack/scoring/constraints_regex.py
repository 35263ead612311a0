"""Checker by a regular expression that cannot run away."""

from __future__ import annotations

import re
from collections.abc import Mapping

from simtrack.errors import InputError
from simtrack.scoring.constraints_automaton import Automaton
from simtrack.scoring.constraints_kinds import Check, Kind, Settings, Verdict, one_of, quoted
from simtrack.scoring.constraints_text import unified
from simtrack.scoring.protocol_file import flag, text

__all__ = ["REGEX"]


def _regex(settings: Settings, where: str) -> Check:
    if "pattern" not in settings:
        raise InputError("pattern", "a regular expression", where=where)
    pattern = text(settings, "pattern", "", where)
    mode = one_of(settings, "mode", ("search", "full", "absent"), where)
    flags = re.IGNORECASE if one_of(settings, "case", ("match", "ignore"), where) == "ignore" else 0
    flags |= re.MULTILINE if flag(settings, "multiline", False, where) else 0
    flags |= re.DOTALL if flag(settings, "dotall", False, where) else 0
    automaton = Automaton(pattern, flags)
    shown = quoted(pattern)

    def check(reply: str) -> Verdict:
        plain = unified(reply)
        whole = mode == "full"
        found = automaton.full(plain.strip()) if whole else automaton.search(plain)
        return Verdict(found != (mode == "absent"), f"{'a' if found else 'no'} match of {shown}")

    return check


#: The kind of this file, by name.
REGEX: Mapping[str, Kind] = {
    "regex": Kind(
        ("pattern", "mode", "case", "multiline", "dotall"),
        'A pattern of Python without backreferences and lookarounds; mode = "search" (default), '
        '"full" (the reply without blanks around it) or "absent"; case = "match" (default) or '
        '"ignore"; multiline: ^ and $ at every line; dotall: . takes line ends too.',
        _regex,
    )
}
