"""The five states of a clause, the non-committal outcome, and the integer codes of both sides."""

from __future__ import annotations

from typing import Final, Literal, get_args

__all__ = [
    "ADVERSE",
    "A_SIDES",
    "B_SIDES",
    "HIGH",
    "LOW",
    "NEGATIVE",
    "NOT_CONFIDENT",
    "POSITIVE",
    "STATES",
    "STATE_OF",
    "UNDECIDED",
    "ZERO",
    "ASide",
    "BSide",
    "State",
]

#: `adopted` and `redundant` are the names of the ReBIND paper; the paper's table with the other
#: three is lost in the text we have, so `weak`, `dead` and `adverse` are ours.
State = Literal["adopted", "redundant", "weak", "dead", "adverse", "not_confident"]
ASide = Literal["undecided", "high", "low"]
BSide = Literal["undecided", "positive", "zero", "negative"]

STATES: Final[tuple[State, ...]] = get_args(State)
A_SIDES: Final[tuple[ASide, ...]] = get_args(ASide)
B_SIDES: Final[tuple[BSide, ...]] = get_args(BSide)

UNDECIDED: Final = 0
HIGH: Final = 1
LOW: Final = 2
POSITIVE: Final = 1
ZERO: Final = 2
NEGATIVE: Final = 3
ADVERSE: Final = STATES.index("adverse")
NOT_CONFIDENT: Final = STATES.index("not_confident")

#: `STATE_OF[a][b]` is the state code of A side code a and B side code b; any undecided side is
#: non-committal, and a negative effect is adverse whatever the level.
STATE_OF: Final[tuple[tuple[int, ...], ...]] = (
    (NOT_CONFIDENT, NOT_CONFIDENT, NOT_CONFIDENT, NOT_CONFIDENT),
    (NOT_CONFIDENT, STATES.index("adopted"), STATES.index("redundant"), ADVERSE),
    (NOT_CONFIDENT, STATES.index("weak"), STATES.index("dead"), ADVERSE),
)
