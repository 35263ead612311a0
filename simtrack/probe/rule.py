"""The stopping rule of the probe: what it does, in English, and one probe at a time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from simtrack.errors import DataError, InputError
from simtrack.probe.decisions import Decision, decide
from simtrack.probe.oc import characteristics, to_dataset
from simtrack.probe.parameters import Rule
from simtrack.probe.protocol import protocol_text
from simtrack.probe.review import review
from simtrack.probe.stopped import StoppedEstimate, estimate_after_stop

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["ProbeSession", "StoppingRule"]

SCHEMA: Final = "simtrack.probe-session/1"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class StoppingRule(Rule):
    """When does a paired ablation probe stop, and what does it then call the clause?

    One round draws one reply under the full specification (F) and one under the ablated one (S).
    A = P(pass | full) and B = A - P(pass | ablated). After k rounds both rates have Beta
    posteriors. A is high (low) when P(F > threshold) (P(F <= threshold)) is at least the
    confidence; B is positive, zero or negative when P(F - S > zero_band), P(|F - S| <= zero_band)
    or P(F - S < -zero_band) is. The probe stops at the first k >= k_min at which both sides are
    decided, else at k_max; if a side is then still undecided the outcome is not_confident.
    The defaults are the frozen rule of the ReBIND paper. k_min = k_max is fixed-depth probing.

    What is exact about a rule (its operating characteristics, its unbiased estimates) is so if
    rounds are independent, both pass rates stay constant from round to round, and the two draws
    of a round are independent of each other. A model that drifts or a cache breaks the first two;
    common random numbers (one seed, one user simulation, or one task drawn anew for both draws of
    a pair) break the third: the states then have other probabilities at the same pass rates.

    Parameters
    ----------
    threshold : decimal
        Pass rate that separates high from low, in (0, 1). At the threshold itself A is low.
    confidence : decimal
        Posterior probability that decides a side, above 1/2 and below 1.
    zero_band : decimal
        Half-width of the effects that count as zero, in (0, 1), ends included.
    k_min, k_max : int
        Fewest and most rounds, 1 <= k_min <= k_max <= 200.
    prior, prior_ablated : Beta or pair of decimals
        Priors of the two pass rates; the ablated one is the same if it is not given.

    Raises
    ------
    InputError
        A number breaks its rule; the message says why such a rule could not work.

    Examples
    --------
    >>> StoppingRule()
    StoppingRule(threshold=0.8, confidence=0.8, zero_band=0.2, k_min=3, k_max=30)
    >>> StoppingRule(confidence="0.9").with_(k_max=60, prior=(0.5, 0.5))
    StoppingRule(threshold=0.8, confidence=0.9, zero_band=0.2, k_min=3, k_max=60, prior=Beta(0.5, 0.5))
    >>> StoppingRule(confidence=0.5)
    Traceback (most recent call last):
    simtrack.errors.InputError: confidence must be above 1/2 and below 1, got 0.5. At 1/2 or less two sides could win at once; at 1 none ever would.
    """  # noqa: E501

    def operating_characteristics(self, full: object, ablated: object) -> xr.Dataset:
        """What does this rule do at true pass rates on the outer grid full x ablated, exactly?

        Parameters
        ----------
        full, ablated : decimal or sequence of decimals
            True pass rates in [0, 1], read as typed.

        Returns
        -------
        xarray.Dataset
            See `simtrack.probe.dataset.to_dataset`; `simtrack.probe.characteristics` gives the same
            numbers as plain arrays, without xarray.
        """

        return to_dataset(characteristics(self, full, ablated))

    def session(self) -> ProbeSession:
        """Which object takes the draws of one clause in turn and says when to stop?"""

        return ProbeSession(self)

    def warnings(self) -> tuple[str, ...]:
        """What about this rule would surprise its author? Empty if nothing is known to."""

        return review(self)

    def __str__(self) -> str:
        return protocol_text(self)


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

    __slots__ = ("_draws", "decision", "rule")

    def __init__(self, rule: StoppingRule) -> None:
        self.rule = rule
        self.decision: Decision | None = None
        self._draws: list[tuple[bool, bool]] = []

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


def _outcome(name: str, value: object) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    cure = "A reply without a valid score is no draw: draw it again."
    raise InputError(name, "True or False", repr(value), cure=cure)


def _saved(value: object) -> bool:
    if value in (0, 1):
        return bool(value)
    raise DataError(f"A saved draw must be 0 or 1, got {value!r}.")
