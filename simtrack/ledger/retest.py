"""After an intervention: is it kept, or rolled back to what was there before?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from simtrack.errors import InputError
from simtrack.ledger.clauses import ClauseState, Event
from simtrack.ledger.ladder import revised
from simtrack.ledger.ledger import Ledger, Pending
from simtrack.options import choice
from simtrack.validate import decimal_fraction

__all__ = ["GAIN", "Retest", "Verdict", "diagnose", "judge", "keep", "roll_back", "settle"]

#: The paper's retest gain (section 4.4).
GAIN: Final = Fraction(1, 5)
_BINDING: Final = ("adopted", "redundant")
_ONE: Final = Fraction(1)


@dataclass(frozen=True, slots=True, init=False)
class Retest:
    """What did the probe find before and after the intervention?

    Parameters
    ----------
    before, after : decimal, fraction or text, 0 to 1
        Adherence of the repaired clause. Exact as typed: 0.9 − 0.7 is 0.2 here.
    state : ClauseState or None
        What the re-test calls the clause; `not_confident` and None promise nothing.
    elsewhere : mapping of clause id to (before, after)
        Adherence of other clauses in force that were probed again.
    """

    before: Fraction
    after: Fraction
    state: ClauseState | None
    elsewhere: tuple[tuple[str, Fraction, Fraction], ...]

    def __init__(
        self,
        before: object,
        after: object,
        state: ClauseState | None = None,
        elsewhere: Mapping[str, tuple[object, object]] | None = None,
    ) -> None:
        object.__setattr__(self, "before", _share("before", before))
        object.__setattr__(self, "after", _share("after", after))
        if state is not None:
            choice("state", state, ClauseState)
        object.__setattr__(self, "state", state)
        others = tuple(
            (one, _share(f"elsewhere[{one}]", first), _share(f"elsewhere[{one}]", second))
            for one, (first, second) in (elsewhere or {}).items()
        )
        object.__setattr__(self, "elsewhere", others)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Is the change kept, and why?"""

    kept: bool
    reason: str


def judge(retest: Retest, gain: object = GAIN, loss: object = GAIN) -> Verdict:
    """Does the intervention stay?

    Kept if adherence rises by at least `gain` or the clause is confidently adopted or redundant;
    regression elsewhere rolls it back (the paper's section 4.4). Where the paper is silent:
    regression is a fall of at least `loss`, by default as much as the gain; it outweighs any gain;
    and what is not kept is rolled back, so a change without a reason to stay goes.

    Examples
    --------
    >>> judge(Retest("0.7", "0.9"))
    Verdict(kept=True, reason='adherence rose from 0.7 to 0.9')
    >>> judge(Retest("0.7", "0.9", elsewhere={"short": ("1", "0.8")}))
    Verdict(kept=False, reason='short fell from 1 to 0.8')
    """
    least, most = _share("gain", gain), _share("loss", loss)
    if not least or not most:
        raise InputError("gain and loss", "above 0", f"{least} and {most}")
    fell = [(one, a, b) for one, a, b in retest.elsewhere if a - b >= most]
    if fell:
        one, before, after = fell[0]
        more = f", and {len(fell) - 1} more" if len(fell) > 1 else ""
        return Verdict(False, f"{one} fell from {_told(before)} to {_told(after)}{more}")
    span = f"from {_told(retest.before)} to {_told(retest.after)}"
    if retest.after - retest.before >= least:
        return Verdict(True, f"adherence rose {span}")
    if retest.state in _BINDING:
        return Verdict(True, f"confidently {retest.state}")
    return Verdict(False, f"adherence went {span}, less than +{_told(least)}, and no state binds")


def settle(ledger: Ledger, retest: Retest, gain: object = GAIN, loss: object = GAIN) -> Ledger:
    """Keep the waiting intervention or roll it back, as `judge` says, and write it down.

    Examples
    --------
    >>> from simtrack.ledger import promote
    >>> ledger = Ledger("Reverse a text.").add(1, "short", "Use at most 10 lines.", "lines:10")
    >>> settled = settle(promote(ledger, "short"), Retest("0.5", "0.6"))
    >>> settled.compilation == ledger.compilation, settled.clause("short").history[-1].kind
    (True, 'rolled back')
    """
    waiting = _waiting(ledger)
    binding = {clause.id for clause in ledger.in_force()} - {waiting.clause}
    for one, _, _ in retest.elsewhere:
        if one not in binding:
            rule = f"made of other clauses in force ({', '.join(sorted(binding)) or 'none'})"
            raise InputError("elsewhere", rule, repr(one))
    verdict = judge(retest, gain, loss)
    return (keep if verdict.kept else roll_back)(
        ledger, verdict.reason, adherence=retest.after, state=retest.state
    )


def keep(
    ledger: Ledger,
    note: str = "",
    *,
    adherence: object | None = None,
    state: ClauseState | None = None,
) -> Ledger:
    """Let the waiting intervention stay."""
    waiting = _waiting(ledger)
    event = Event("kept", waiting.rung, state, _maybe(adherence), note=note)
    return revised(ledger, waiting.clause, event)


def roll_back(
    ledger: Ledger,
    note: str = "",
    *,
    adherence: object | None = None,
    state: ClauseState | None = None,
) -> Ledger:
    """Put surface text and compilation parameters back, byte for byte; the history remembers."""
    waiting = _waiting(ledger)
    event = Event("rolled back", waiting.rung, state, _maybe(adherence), note=note)
    return revised(
        ledger,
        waiting.clause,
        event,
        surface_text=waiting.surface_text,
        compilation=waiting.compilation,
    )


def diagnose(
    ledger: Ledger, clause: str, state: ClauseState, adherence: object | None = None, note: str = ""
) -> Ledger:
    """Write a probe's diagnosis into a clause's history.

    Examples
    --------
    >>> ledger = Ledger("Reverse a text.").add(1, "short", "Use at most 10 lines.", "lines:10")
    >>> diagnose(ledger, "short", "dead", "0.1").clause("short").history[0].state
    'dead'
    """
    choice("state", state, ClauseState)
    event = Event("diagnosed", None, state, _maybe(adherence), note=note)
    return revised(ledger, clause, event, pending=ledger.pending)


def _waiting(ledger: Ledger) -> Pending:
    if ledger.pending is None:
        raise InputError("ledger", "one with an intervention that waits", "none")
    return ledger.pending


def _share(name: str, value: object) -> Fraction:
    found = decimal_fraction(name, value)
    if not 0 <= found <= _ONE:
        raise InputError(name, "a share from 0 to 1", _told(found))
    return found


def _maybe(value: object | None) -> str | None:
    return None if value is None else _told(_share("adherence", value))


def _told(value: Fraction) -> str:
    """Write a share as the shortest exact text: a decimal where it ends, else a fraction."""
    scale = 10**6
    if (value * scale).denominator > 1:
        return str(value)
    whole, part = divmod(abs(int(value * scale)), scale)
    text = f"{whole}.{part:06d}".rstrip("0").rstrip(".")
    return f"-{text}" if value < 0 else text
