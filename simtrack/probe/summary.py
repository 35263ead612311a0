"""A rule over a whole grid of truths: how often right, how often silent, and where it is worst."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.options import Computation, Guarantee, choice
from simtrack.plain import Plain, decimal_text
from simtrack.probe.oc import Characteristics
from simtrack.probe.truth import truths
from simtrack.validate import decimal_fraction

__all__ = [
    "GridSummary",
    "Indifference",
    "Worst",
    "correct_probability",
    "grid_summary",
]

#: What becomes of truths nearer than the margin to a boundary: left out of what is said of
#: correctness, or right with the state on either side.
Indifference = Literal["exclude", "either"]
#: Ratios whose denominator is below this are left out: conditioning on what does not happen.
TOO_RARE: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Worst(Plain):
    """A worst value over the grid and the truth (full, ablated) at which it is met first."""

    value: float
    full: Fraction
    ablated: Fraction


@dataclass(frozen=True, slots=True)
class GridSummary(Plain, schema="simtrack.probe-grid-summary/1"):
    """How good is a rule over a grid of truths?

    Correct means: the probe ends in the true state (with `either`, in any state accepted within
    the margin). Means give every truth the same weight. Worst cases of correctness are over the
    truths that count; all other figures are over the whole grid.

    Attributes
    ----------
    n_truths, n_counted : int
        Truths in the grid, and those that count for correctness.
    margin, indifference : Fraction, str
        The stated indifference zone.
    mean_correct, worst_correct : float, Worst
        P(correct); an undecided end is not correct.
    mean_correct_if_confident, worst_correct_if_confident : float, Worst
        P(correct | confident) at each truth that counts: the unweighted mean of these conditional
        probabilities over the truths, and the least of them. A truth at which the rule is mostly
        silent weighs as much as one at which it always speaks.
    pooled_correct_if_confident : float
        The sum of P(correct) over the sum of P(confident), over the same truths: the share of
        right calls among all confident calls if every truth that counts is equally frequent.
    mean_not_confident, worst_not_confident : float, Worst
        Probability of a non-committal end.
    worst_not_confident_counted : Worst
        The same over the truths that count: near a boundary silence is no fault.
    mean_rounds, worst_rounds : float, Worst
        Expected number of rounds.
    largest_bias_effect : Worst
        The bias of the naive effect (i - j)/k of largest size, with its sign.
    """

    n_truths: int
    n_counted: int
    margin: Fraction
    indifference: Indifference
    mean_correct: float
    worst_correct: Worst
    mean_correct_if_confident: float
    pooled_correct_if_confident: float
    worst_correct_if_confident: Worst
    mean_not_confident: float
    worst_not_confident: Worst
    worst_not_confident_counted: Worst
    mean_rounds: float
    worst_rounds: Worst
    largest_bias_effect: Worst
    computation: Computation = "enumeration"
    guarantee: Guarantee = "finite-sample"


def grid_summary(
    found: Characteristics,
    *,
    margin: object = 0,
    indifference: Indifference = "exclude",
) -> GridSummary:
    """How often is the rule right over these truths, how often silent, and where is it worst?

    Parameters
    ----------
    found : Characteristics
        Over a grid or at points.
    margin : decimal
        Half-width of the indifference zone: truths nearer than this to where the state changes,
        which is at the threshold (but not for adverse truths) and at either end of the zero band:
        see `Truth`. With 0 every truth counts, boundary truths with the side that
        `true_state` gives them; with a little more than 0 truths on a boundary drop out.
    indifference : {"exclude", "either"}
        Leave truths in the zone out, or accept the states across the near boundaries as right.

    Returns
    -------
    GridSummary

    Raises
    ------
    InputError
        No truth is left.

    Examples
    --------
    >>> from simtrack.probe import StoppingRule, characteristics
    >>> from simtrack.probe.truth import grid
    >>> summary = grid_summary(characteristics(StoppingRule(), grid(20), grid(20)))
    >>> round(summary.mean_rounds, 6), round(summary.largest_bias_effect.value, 6)
    (14.084167, -0.144103)
    """
    choice("indifference", indifference, Indifference)
    wide = decimal_fraction("margin", margin)
    correct, counted = correct_probability(found, margin=wide, indifference=indifference)
    if not counted.any():
        raise InputError("margin", "one that leaves a truth to judge", decimal_text(wide))
    confident = found.probability_confident
    silent = found.probability[-1]
    defined = counted & (confident > TOO_RARE)
    ratio = np.divide(correct, confident, out=np.full_like(correct, np.nan), where=defined)
    bias = found.bias_effect
    return GridSummary(
        n_truths=correct.size,
        n_counted=int(counted.sum()),
        margin=wide,
        indifference=indifference,
        mean_correct=float(correct[counted].mean()),
        worst_correct=_worst(found, np.where(counted, correct, np.inf), lowest=True),
        mean_correct_if_confident=float(ratio[defined].mean()),
        pooled_correct_if_confident=float(correct[defined].sum() / confident[defined].sum()),
        worst_correct_if_confident=_worst(found, np.where(defined, ratio, np.inf), lowest=True),
        mean_not_confident=float(silent.mean()),
        worst_not_confident=_worst(found, silent),
        worst_not_confident_counted=_worst(found, np.where(counted, silent, -np.inf)),
        mean_rounds=float(found.expected_rounds.mean()),
        worst_rounds=_worst(found, found.expected_rounds),
        largest_bias_effect=_worst(found, bias, key=np.abs(bias)),
    )


def correct_probability(
    found: Characteristics, *, margin: object = 0, indifference: Indifference = "exclude"
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """How probable is the true state at each truth, and which truths count?

    Returns
    -------
    correct : float64 array, shape of the truths
        P(correct), also where the truth does not count.
    counted : bool array, same shape
        False inside the indifference zone if that is excluded.
    """
    zone = margin if indifference == "either" else 0
    labels = truths(found.rule, found.full, found.ablated, margin=zone, paired=found.paired)
    correct = np.empty(labels.shape)
    counted = np.ones(labels.shape, np.bool_)
    wide = decimal_fraction("margin", margin)
    for at, truth in np.ndenumerate(labels):
        correct[at] = sum(found.probability[(code, *at)] for code in truth.accepted)
        counted[at] = indifference == "either" or truth.distance >= wide
    return correct, counted


def _worst(
    found: Characteristics,
    value: NDArray[np.float64],
    *,
    lowest: bool = False,
    key: NDArray[np.float64] | None = None,
) -> Worst:
    rank = value if key is None else key
    at = np.unravel_index(int(rank.argmin() if lowest else rank.argmax()), value.shape)
    full, ablated = at[0], at[-1]
    return Worst(float(value[at]), found.full[full], found.ablated[ablated])
