"""A neutral text of exactly the same length, which looks like words and asks for nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import cycle
from typing import Final

__all__ = ["neutral_placeholder", "words_of"]

#: Administrative prose, as the paper's placebo clauses are: nothing here asks for behaviour.
_PROSE: Final = (
    "the archive room on the second floor holds a series of paper folders and each folder has a "
    "label that shows its year and its shelf some of the older shelves stand near the window where "
    "visitors may sit and read during opening hours while the porter keeps a list of arrivals in "
    "the front hall and waters two ferns every morning"
)
#: Words to end on, by length; those of up to three letters can always be used.
_ENDINGS: Final = {
    1: ("a",),
    2: ("in", "on"),
    3: ("the", "and"),
    4: ("fern", "hall", "desk"),
    5: ("shelf", "lobby", "stair"),
    6: ("folder", "window", "garden"),
    7: ("archive", "morning", "visitor"),
    8: ("corridor", "stairway", "calendar"),
    9: ("cloakroom", "courtyard", "reception"),
}
_LONGEST: Final = max(_ENDINGS)
_MARKS: Final = ".!?;:,"
_WORD: Final = re.compile(r"[^\W\d_]+")
_FUNCTION_WORD: Final = 3


def neutral_placeholder(text: str, avoid: Collection[str] = ()) -> str:
    """Which neutral text has exactly as many characters as this one, line by line?

    Length is counted in characters (Unicode code points), as `len` counts them: not in bytes, and
    not in tokens, which differ by model. Line breaks, the blanks around a line, a capital at
    its start and a mark at its end stay where they are; all else becomes words of a fixed
    administrative prose with single blanks between. No randomness: equal texts and equal `avoid`
    give equal placeholders. The paper asks for a neutral placeholder of equal length at the same
    position and prints none; the words and the unit are ours.

    Parameters
    ----------
    text : str
    avoid : collection of str
        Words of four letters or more that must not occur, in any case: those of the contract.

    Examples
    --------
    >>> text = "Define an extra helper called audit_log."
    >>> neutral_placeholder(text)
    'The archive room on the second corridor.'
    >>> len(neutral_placeholder(text)) == len(text)
    True
    """
    banned = {word.casefold() for word in avoid if len(word) > _FUNCTION_WORD}
    allowed = [word for word in _PROSE.split() if word not in banned]
    endings = {n: [w for w in words if w not in banned] for n, words in _ENDINGS.items()}
    prose = cycle(allowed)
    return "\n".join(_line(line, prose, endings) for line in text.split("\n"))


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text in lower case: runs of letters, parts of identifiers too.

    Examples
    --------
    >>> sorted(words_of("Define audit_log2."))
    ['audit', 'define', 'log']
    """
    return frozenset(word.casefold() for word in _WORD.findall(text))


def _line(line: str, prose: Iterator[str], endings: dict[int, list[str]]) -> str:
    core = line.strip()
    if not core:
        return line
    start = line.index(core)
    mark = core[-1] if core[-1] in _MARKS and len(core) > 1 else ""
    filled = _fill(len(core) - len(mark), prose, endings)
    if core[0].isupper():
        filled = filled[0].upper() + filled[1:]
    return line[:start] + filled + mark + line[start + len(core) :]


def _fill(n: int, prose: Iterator[str], endings: dict[int, list[str]]) -> str:
    """Fill n >= 1 characters with words: prose while there is room, then endings that fit."""
    words: list[str] = []
    while n > _LONGEST:
        word = next(prose)
        if len(word) > n - 2:
            break
        words.append(word)
        n -= len(word) + 1
    while n:
        # A word that ends the text exactly, or one that leaves room for a blank and another.
        length = n if endings.get(n) else next(k for k in range(_LONGEST, 0, -1)
                                               if k <= n - 2 and endings.get(k))  # fmt: skip
        words.append(endings[length][len(words) % len(endings[length])])
        n -= length + 1 if n > length else length
    return " ".join(words)
