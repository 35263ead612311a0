"""One probe in progress: draws go in, one pair at a time, until the rule says stop."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from simtrack.errors import DataError, InputError
from simtrack.probe.decisions import decision_table
from simtrack.probe.rule import StoppingRule
from simtrack.probe.states import A_SIDES, B_SIDES, STATES, ASide, BSide, State
from simtrack.probe.stopped import StoppedEstimate, estimate_after_stop

__all__ = ["Decision", "ProbeSession", "decide"]

SCHEMA: Final = "simtrack.probe-session/1"


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rule says of the record (k, i, j).

    `state` is one of `STATES`; `confident` is false, and the state not_confident, exactly when a
    side is undecided.
    """

    k: int
    i: int
    j: int
    a_side: ASide
    b_side: BSide
    state: State

    @property
    def confident(self) -> bool:
        """Are both sides decided?"""
        return self.state != "not_confident"

    def to_dict(self) -> dict[str, Any]:
        """The decision as plain data with a schema id."""
        schema = {"schema": "simtrack.probe-decision/1"}
        return {**schema, **asdict(self), "confident": self.confident}


class ProbeSession:
    """When may I stop drawing for this clause, and what do I call it?

    Parameters
    ----------
    rule : StoppingRule

    Examples
    --------
    >>> session = StoppingRule().session()
    >>> for _ in range(6):
    ...     session.update(full=True, ablated=False)
    >>> session.update(full=True, ablated=False)
    Decision(k=7, i=7, j=0, a_side='high', b_side='positive', state='adopted')
    >>> ProbeSession.from_json(session.to_json()).decision == session.decision
    True
    """

    __slots__ = ("_draws", "_table", "decision", "rule")

    def __init__(self, rule: StoppingRule) -> None:
        self.rule = rule
        self.decision: Decision | None = None
        self._draws: list[tuple[bool, bool]] = []
        self._table = decision_table(rule)

    @property
    def draws(self) -> tuple[tuple[bool, bool], ...]:
        """Which draws were seen so far, as pairs (full, ablated) in their order?"""
        return tuple(self._draws)

    def update(self, *, full: bool, ablated: bool) -> Decision | None:
        """Take one round's pair of outcomes; return the decision if the probe now stops.

        Parameters
        ----------
        full, ablated : bool
            Did the reply under the full (ablated) specification pass?

        Returns
        -------
        Decision or None
            None while the rule asks for another round.

        Raises
        ------
        InputError
            An outcome is not a boolean. A reply that could not be scored is no draw: redraw it.
        DataError
            The probe has stopped already.
        """
        pair = _outcome("full", full), _outcome("ablated", ablated)
        if self.decision is not None:
            where = f"after round {self.decision.k}"
            raise DataError(f"The probe has stopped {where}. Open a new session for a new clause.")
        self._draws.append(pair)
        k = len(self._draws)
        found = decide(self.rule, k, sum(f for f, _ in self._draws), sum(s for _, s in self._draws))
        if k == self.rule.k_max or (k >= self.rule.k_min and found.confident):
            self.decision = found
        return self.decision

    def estimate(self) -> StoppedEstimate:
        """Which pass rates does the stopped probe estimate, naively and without bias?"""
        if self.decision is None:
            raise DataError("The probe has not stopped yet. Go on with update().")
        return estimate_after_stop(self.rule, self.decision.k, self.decision.i, self.decision.j)

    def to_json(self) -> str:
        """The rule and all draws: enough to go on elsewhere."""
        draws = [[int(full), int(ablated)] for full, ablated in self._draws]
        return json.dumps({"schema": SCHEMA, "rule": self.rule.to_dict(), "draws": draws})

    @classmethod
    def from_json(cls, text: str) -> ProbeSession:
        """Replay a saved session, draw by draw.

        Raises
        ------
        DataError
            The text is no saved session, or has draws beyond the stop.
        """
        try:
            saved = json.loads(text)
            fits = saved["schema"] == SCHEMA
            rule, draws = saved["rule"], [(full, ablated) for full, ablated in saved["draws"]]
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(f"The text is not a saved probe session: {error!r}.") from None
        if not fits:
            raise DataError(f"The session's schema must be {SCHEMA!r}, got {saved['schema']!r}.")
        session = cls(StoppingRule.from_dict(rule))
        for full, ablated in draws:
            session.update(full=_saved(full), ablated=_saved(ablated))
        return session

    def __repr__(self) -> str:
        i, j = (sum(side) for side in zip(*self._draws, strict=True)) if self._draws else (0, 0)
        state = "going on" if self.decision is None else self.decision.state
        return f"ProbeSession(k={len(self._draws)}, i={i}, j={j}, {state})"


def decide(rule: StoppingRule, k: int, i: int, j: int) -> Decision:
    """What does the rule say of this record, whether or not a probe would stop there?

    Parameters
    ----------
    rule : StoppingRule
    k, i, j : int
        0 <= i, j <= k <= k_max.

    Examples
    --------
    >>> decide(StoppingRule(), 10, 10, 9).b_side
    'zero'
    """
    table = decision_table(rule)
    if not (0 <= k <= rule.k_max and 0 <= i <= k and 0 <= j <= k):
        raise InputError("(k, i, j)", f"0 <= i, j <= k <= {rule.k_max}", (k, i, j))
    a, b = int(table.a_side[k, i]), int(table.b_side[k, i, j])
    code = int(table.state[k, i, j])
    return Decision(k, i, j, A_SIDES[a], B_SIDES[b], STATES[code])


def _outcome(name: str, value: object) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    cure = "A reply without a valid score is no draw: draw it again."
    raise InputError(name, "True or False", repr(value), cure=cure)


def _saved(value: object) -> bool:
    if value in (0, 1):
        return bool(value)
    raise DataError(f"A saved draw must be 0 or 1, got {value!r}.")
