"""What about a legal rule would surprise its author."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simtrack.plain import decimal_text
from simtrack.probe.decisions import DecisionTable, decision_table
from simtrack.probe.parameters import Rule
from simtrack.probe.paths import stopping_states
from simtrack.probe.posterior import difference_masses, high_masses
from simtrack.probe.states import NOT_CONFIDENT, STATES, State

__all__ = ["first_stop", "review"]


def review(rule: Rule) -> tuple[str, ...]:
    """Which properties of this rule should be known before it is used?

    A state or level that no record can reach, a k_min that never binds, a rule that can only stop
    at k_max, priors that decide a side before any draw, and masses that floating point could not
    tell from the confidence.

    Returns
    -------
    tuple of str
        One plain sentence a finding; empty if there is none.

    Examples
    --------
    >>> review(Rule())
    ('Before any draw the prior alone puts P(F <= 0.8) at 0.8, which already decides the A side as low.',)
    >>> review(Rule(k_max=6))[-1]
    'k_max = 6 is too few rounds to reach: adopted, redundant.'
    """  # noqa: E501
    table = decision_table(rule)
    return (
        *_decided_beforehand(rule),
        *_k_min(rule, table),
        *_unreachable(rule),
        *_unresolved(table),
    )


def first_stop(rule: Rule) -> int:
    """At which round could both sides be decided for the first time, were k_min 1?

    Returns
    -------
    int
        A round from 1 to k_max, or k_max + 1 if at none.

    Examples
    --------
    >>> first_stop(Rule())
    2
    """
    state = decision_table(rule).state
    rounds = np.flatnonzero((state[1:] != NOT_CONFIDENT).any(axis=(1, 2)))
    return int(rounds[0]) + 1 if rounds.size else rule.k_max + 1


def _decided_beforehand(rule: Rule) -> Iterator[str]:
    t, z = decimal_text(rule.threshold), decimal_text(rule.zero_band)
    high = float(high_masses(rule.prior, rule.threshold, 0)[0, 0])
    first = next(difference_masses(rule.prior, rule.prior_of_ablated, rule.zero_band, 1))
    masses = (
        (f"P(F > {t})", high, "A side as high"),
        (f"P(F <= {t})", 1.0 - high, "A side as low"),
        (f"P(F - S > {z})", float(first.positive[0, 0]), "B side as positive"),
        (f"P(|F - S| <= {z})", float(first.zero[0, 0]), "B side as zero"),
        (f"P(F - S < -{z})", float(first.negative[0, 0]), "B side as negative"),
    )
    for name, mass, side in masses:
        if mass >= float(rule.confidence) - 1e-12:
            yield (
                f"Before any draw the prior alone puts {name} at {mass:.4g}, which already "
                f"decides the {side}."
            )


def _k_min(rule: Rule, table: DecisionTable) -> Iterator[str]:
    first = first_stop(rule)
    if first > rule.k_max:
        yield f"No record decides both sides within k_max = {rule.k_max}: every probe is undecided."
    elif rule.k_min == rule.k_max:
        yield f"k_min = k_max: a fixed-depth probe of {rule.k_max} rounds, without early stopping."
    elif 1 < rule.k_min <= first:
        yield f"k_min = {rule.k_min} never binds: no probe could stop before round {first}."


def _unreachable(rule: Rule) -> Iterator[str]:
    reached = set(stopping_states(rule).state.tolist())
    missing = [
        name for code, name in enumerate(STATES) if code not in reached and code != NOT_CONFIDENT
    ]
    if missing and len(missing) < NOT_CONFIDENT:
        yield (
            f"k_max = {rule.k_max} is too few rounds to reach: {', '.join(missing)}."
            if _longer_helps(rule, missing)
            else f"These states can never be reached: {', '.join(missing)}."
        )


def _longer_helps(rule: Rule, missing: list[State]) -> bool:
    """Whether ten times the rounds would reach all that is missing now."""
    longer = min(max(10 * rule.k_max, 60), 100)
    if longer <= rule.k_max:
        return False
    reached = set(stopping_states(rule.with_(k_max=longer)).state.tolist())
    return all(STATES.index(name) in reached for name in missing)


def _unresolved(table: DecisionTable) -> Iterator[str]:
    if table.n_unresolved:
        yield (
            f"{table.n_unresolved} records have a posterior mass within 1e-12 of the confidence; "
            "with priors that are not whole numbers floating point decides them."
        )
