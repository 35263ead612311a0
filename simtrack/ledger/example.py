"""A small ledger and a few tasks to try everything on."""

from __future__ import annotations

from simtrack.ledger.ledger import Ledger
from simtrack.ledger.tasks import Task

__all__ = ["example_ledger", "example_tasks"]

_MARKERS = ("audit_log", "sanitize_args", "verify_bounds")


def example_ledger() -> Ledger:
    """Which dialogue does the documentation talk about?

    The base requirements, three markers, an unrelated turn 4, and in turn 5 the second marker is
    withdrawn.

    Examples
    --------
    >>> example_ledger()
    Ledger(5 clauses, 1 tombstones)
    """
    ledger = Ledger("Write a function is_palindrome(text).")
    ledger = ledger.add(0, "tests", "Pass all unit tests.", "unit-tests")
    ledger = ledger.add(0, "stdlib", "Use the standard library only.", "standard-library")
    for turn, name in enumerate(_MARKERS, 1):
        ledger = ledger.add(turn, name, f"Also define a helper {name}.", f"presence:{name}")
    return ledger.revoke(5, "sanitize_args")


def example_tasks() -> tuple[Task, ...]:
    """Which tasks does the documentation make slices of?

    Examples
    --------
    >>> [task.id for task in example_tasks()]
    ['palindrome', 'median']
    """
    return (
        Task(
            "palindrome",
            "Write a function is_palindrome(text) that says whether a text reads the same "
            "backwards.",
            "is_palindrome",
            "def is_palindrome(text):\n    return text == text[::-1]\n",
        ),
        Task(
            "median",
            "Write a function median(values) that returns the middle of a list of numbers.",
            "median",
            "def median(values):\n    ordered = sorted(values)\n    half = len(ordered) // 2\n"
            "    if len(ordered) % 2:\n        return ordered[half]\n"
            "    return (ordered[half - 1] + ordered[half]) / 2\n",
        ),
    )
