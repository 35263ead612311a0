"""Put the answer of an exact test together: estimate, interval that inverts it, p, refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol

from simtrack.answer import Answer
from simtrack.inference.exact.cautions import few_differ
from simtrack.inference.exact.exact_test import ExactTest
from simtrack.inference.exact.signflip import SignFlip
from simtrack.method import Ask, Layout
from simtrack.note import Note
from simtrack.options import Computation, Guarantee

__all__ = ["as_notes", "interval_of", "with_ends", "with_p"]


class Ends(Protocol):
    """Both ends of an interval, or none with the reason in the notes."""

    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def computation(self) -> Computation: ...
    @property
    def guarantee(self) -> Guarantee: ...
    @property
    def notes(self) -> tuple[str, ...]: ...


def as_notes(lines: Iterable[str]) -> tuple[Note, ...]:
    """Give lines as notes, in their order."""
    return tuple(Note.of(line) for line in lines)


def with_p(
    shown: Answer,
    test: ExactTest | SignFlip,
    ask: Ask,
    *,
    live: int,
    of: int,
    what: str,
    refused: str | None = None,
) -> Answer:
    """Put a test's p beside an estimate; refused where the design leaves no way to reject.

    Parameters
    ----------
    live, of : int
        How many pairs or clusters differ, and how many there are.
    what : str
        What they are.
    refused : str, optional
        Why there is no p, if that is not for their number.
    """
    least = ask.sides * 0.5**of
    if refused is None and least > ask.alpha:
        refused = f"{of} {what} can give no p below {least:.3g}, above {ask.alpha:g}"
    few = () if refused else few_differ(live, of, what, ask.sides, ask.alpha)
    return replace(
        shown,
        pvalue=None if refused else test.pvalue,
        exact=None if refused else test.exact,
        refused=refused or "",
        computation=test.computation,
        guarantee=test.guarantee,
        notes=as_notes((*shown.notes, *test.notes, *few)),
        extra={**shown.extra, "floor": test.floor, "mcse": test.mcse},
    )


def with_ends(shown: Answer, ends: Ends, name: str) -> Answer:
    """Put the interval of that name beside an answer."""
    return replace(
        shown,
        low=ends.low,
        high=ends.high,
        notes=as_notes((*shown.notes, *ends.notes)),
        extra={**shown.extra, "interval": "" if ends.low is None else name},
    )


def interval_of(
    test: Callable[[Layout, Ask], Answer], ends: Callable[[Layout, Ask], Ends], name: str
) -> Callable[[Layout, Ask], Answer]:
    """Give the interval that inverts a test, with its own computation and guarantee, and no p."""

    def answer(layout: Layout, ask: Ask) -> Answer:
        found = test(layout, replace(ask, interval=False))
        plain = replace(found, pvalue=None, exact=None, refused="", extra={"interval": ""})
        if found.refused:
            return replace(plain, notes=(*plain.notes, Note("no-interval", found.refused)))
        limits = ends(layout, ask)
        held = replace(plain, computation=limits.computation, guarantee=limits.guarantee)
        return with_ends(held, limits, name)

    return answer
