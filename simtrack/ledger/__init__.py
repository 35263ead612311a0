"""The contract ledger of ReBIND: what a dialogue requires, as data, and how it is delivered.

Everything here is a pure function on frozen data; nothing calls a model or runs a checker.

>>> ledger = Ledger("Reverse a text.").add(0, "tests", "Pass all unit tests.", "unit-tests")
>>> ledger = ledger.add(1, "log", "Define audit_log.", "presence:audit_log").revoke(4, "log")
>>> print(compile_ledger(promote(ledger, "tests")).text)
Task: Reverse a text.
<BLANKLINE>
1. Pass all unit tests.
<BLANKLINE>
Before you answer, check once more:
- (1) Pass all unit tests.
"""

from simtrack.ledger.ablation import Ablation, ablate
from simtrack.ledger.clauses import RUNGS, Clause, ClauseState, Event, Rung, Tombstone
from simtrack.ledger.compilation import FINAL_CHECK_CAPACITY, Compilation, Example, Violation
from simtrack.ledger.example import example_ledger, example_tasks
from simtrack.ledger.ladder import exemplify, prefill, promote, report_back, rewrite, rung_for
from simtrack.ledger.leaks import VERDICT_HINTS, Leak, Passage, Screening, screen
from simtrack.ledger.ledger import Ledger, Pending
from simtrack.ledger.placeholder import neutral_placeholder
from simtrack.ledger.pool import FILLERS, MARKERS, Pool
from simtrack.ledger.retest import Retest, Verdict, diagnose, judge, keep, roll_back, settle
from simtrack.ledger.screening import contract_words, screen_ledger, screen_slices
from simtrack.ledger.scripts import make_slices
from simtrack.ledger.slices import CONDITIONS, Slice, Slices, Turn
from simtrack.ledger.specification import Specification, compile_ledger
from simtrack.ledger.tasks import Task, read_tasks

__all__ = [
    "CONDITIONS",
    "FILLERS",
    "FINAL_CHECK_CAPACITY",
    "MARKERS",
    "RUNGS",
    "VERDICT_HINTS",
    "Ablation",
    "Clause",
    "ClauseState",
    "Compilation",
    "Event",
    "Example",
    "Leak",
    "Ledger",
    "Passage",
    "Pending",
    "Pool",
    "Retest",
    "Rung",
    "Screening",
    "Slice",
    "Slices",
    "Specification",
    "Task",
    "Tombstone",
    "Turn",
    "Verdict",
    "Violation",
    "ablate",
    "compile_ledger",
    "contract_words",
    "diagnose",
    "example_ledger",
    "example_tasks",
    "exemplify",
    "judge",
    "keep",
    "make_slices",
    "neutral_placeholder",
    "prefill",
    "promote",
    "read_tasks",
    "report_back",
    "rewrite",
    "roll_back",
    "rung_for",
    "screen",
    "screen_ledger",
    "screen_slices",
    "settle",
]
