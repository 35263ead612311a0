"""Exact operating characteristics of a stopping rule: as arrays, and as a labelled Dataset."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.options import Computation, Guarantee
from simtrack.plain import Plain
from simtrack.probe.parameters import Rule
from simtrack.probe.paths import StoppingStates, StoppingSums, stopping_states
from simtrack.probe.states import STATES, State
from simtrack.probe.truth import rates
from simtrack.validate import real

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["LEVELS", "Characteristics", "characteristics", "to_dataset"]

Floats = NDArray[np.float64]
#: Name, leading dimensions, unit and meaning of each variable.
_VARIABLES: Final = (
    ("probability", ("state",), "1", "probability of each state at the stop"),
    (
        "rounds_probability",
        ("rounds",),
        "1",
        "probability of exactly so many rounds",
    ),
    ("probability_confident", (), "1", "probability that both sides are decided at the stop"),
    ("expected_rounds", (), "rounds", "mean number of paired draws"),
    ("sd_rounds", (), "rounds", "standard deviation of the number of paired draws"),
    ("bias_full", (), "1", "mean of i/k at the stop less the true full pass rate (A)"),
    ("bias_ablated", (), "1", "mean of j/k at the stop less the true ablated pass rate"),
    ("bias_effect", (), "1", "mean of (i - j)/k at the stop less the true effect (B)"),
    ("rmse_effect", (), "1", "root mean squared error of (i - j)/k"),
    ("unbiased_full", (), "1", "mean of the unbiased estimate of the full pass rate"),
    ("unbiased_ablated", (), "1", "mean of the unbiased estimate of the ablated pass rate"),
    ("rmse_effect_unbiased", (), "1", "root mean squared error of the unbiased effect"),
)
#: Levels of the quantiles of rounds that tables show.
LEVELS: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
_WRITTEN: Final = (
    "rule full ablated paired states computation guarantee probability rounds_probability "
    "expected_rounds sd_rounds expected_full expected_ablated rmse_effect unbiased_full "
    "unbiased_ablated rmse_effect_unbiased bias_full bias_ablated bias_effect quantile_levels "
    "rounds_quantile"
)
#: A cumulative probability this little below a level has reached it.
LEVEL_SLACK: Final = 1e-12


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Characteristics(Plain, schema="simtrack.operating-characteristics/1", names=_WRITTEN):
    """What does a rule do at given true pass rates: which states, how many rounds, what bias?

    Over an outer grid every array ends in shape (full, ablated); at paired truths (`paired` is
    true) it ends in shape (points,). Rates and effects are in [0, 1] and [-1, 1].

    Exact given three assumptions that no count can prove: rounds are independent, p and q are the
    same in every round, and the full and the ablated draw of a round are independent. Common
    random numbers within a round break the last: they keep p and q but change the law of i - j.

    Attributes
    ----------
    rule : Rule
    full, ablated : tuple of Fraction
        True pass rates p and q, as typed.
    paired : bool
        Whether the truths are points (p, q) rather than a grid.
    probability : array, shape (6, ...)
        Probability of each of `STATES`, the last of which is not_confident.
    rounds_probability : array, shape (k_max + 1, ...)
        Probability of stopping after exactly k rounds, k = 0 ... k_max.
    expected_rounds, sd_rounds : arrays
        Mean and standard deviation of the number of rounds (paired draws).
    expected_full, expected_ablated : arrays
        Means of the naive estimates i/k and j/k at the stop.
    rmse_effect : array
        Root mean squared error of the naive effect i/k - j/k.
    unbiased_full, unbiased_ablated : arrays
        Means of the Girshick-Mosteller-Savage estimates: equal to the truths but for rounding.
    rmse_effect_unbiased : array
        Root mean squared error of the unbiased effect.
    """

    rule: Rule
    full: tuple[Fraction, ...]
    ablated: tuple[Fraction, ...]
    paired: bool
    probability: Floats
    rounds_probability: Floats
    expected_rounds: Floats
    sd_rounds: Floats
    expected_full: Floats
    expected_ablated: Floats
    rmse_effect: Floats
    unbiased_full: Floats
    unbiased_ablated: Floats
    rmse_effect_unbiased: Floats
    computation: Computation = "enumeration"
    guarantee: Guarantee = "finite-sample"

    @property
    def states(self) -> tuple[State, ...]:
        """What the first axis of `probability` stands for."""
        return STATES

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """The levels of `rounds_quantile` where none are given."""
        return LEVELS

    @property
    def true_full(self) -> Floats:
        """True pass rates under the full specification, ready to broadcast."""
        p = np.array([float(value) for value in self.full])
        return p if self.paired else p[:, None]

    @property
    def true_ablated(self) -> Floats:
        """True pass rates under the ablated specification, ready to broadcast."""
        return np.array([float(value) for value in self.ablated])

    @property
    def bias_full(self) -> Floats:
        """By how much does the naive estimate of the full pass rate (A) miss on average?"""
        return self.expected_full - self.true_full

    @property
    def bias_ablated(self) -> Floats:
        """By how much does the naive estimate of the ablated pass rate miss on average?"""
        return self.expected_ablated - self.true_ablated

    @property
    def bias_effect(self) -> Floats:
        """By how much does the naive effect estimate (B) miss on average?"""
        return self.bias_full - self.bias_ablated

    @property
    def probability_confident(self) -> Floats:
        """How probable is it that both sides are decided at the stop?"""
        confident: Floats = self.probability[:-1].sum(axis=0)
        return confident

    def rounds_quantile(self, levels: Iterable[float] = LEVELS) -> NDArray[np.int64]:
        """Within how many rounds does the probe stop with these probabilities?

        Parameters
        ----------
        levels : iterable of float
            Probabilities in [0, 1].

        Returns
        -------
        int64 array, shape (len(levels), ...)
            Smallest k with P(rounds <= k) at least the level (less 1e-12 for rounding).
        """
        below = np.cumsum(self.rounds_probability, axis=0)
        wanted = [real("level", level, 0.0, 1.0) for level in levels]
        out = [(below < level - LEVEL_SLACK).sum(axis=0) for level in wanted]
        return np.array(out, np.int64).reshape(len(wanted), *below.shape[1:])

    def __repr__(self) -> str:
        shape = " x ".join(str(n) for n in self.expected_rounds.shape)
        return f"Characteristics({self.rule!r}, {shape} truths, exact)"


def characteristics(
    rule: Rule,
    full: object,
    ablated: object,
    *,
    paired: bool = False,
    states: StoppingStates | None = None,
) -> Characteristics:
    """What does the rule do at these true pass rates, exactly?

    Exactly means: given independent rounds of constant pass rates, and full and ablated draws that
    are independent of each other (see `Characteristics`). A stop at (k, i, j) has probability
    paths * p^i (1-p)^(k-i) q^j (1-q)^(k-j): one sum over the stopping states gives every
    characteristic, all of its terms positive.

    Parameters
    ----------
    rule : Rule
    full, ablated : decimal or sequence of decimals
        True pass rates, each in [0, 1], read as typed.
    paired : bool
        Take the rates as points (p, q) of one length instead of an outer grid.
    states : StoppingStates, optional
        Path counts of this rule; found (and kept) if not given.

    Returns
    -------
    Characteristics

    Raises
    ------
    InputError
        A rate is outside [0, 1], there is none, or paired rates differ in number.

    Examples
    --------
    >>> found = characteristics(Rule(), "0.95", "0.05")
    >>> round(float(found.expected_rounds[0, 0]), 9), round(float(found.bias_effect[0, 0]), 9)
    (9.393655254, 0.015687923)
    """
    p, q = rates("full", full), rates("ablated", ablated)
    if paired and len(p) != len(q):
        raise InputError("ablated", f"as many rates as full ({len(p)})", len(q))
    found = stopping_states(rule) if states is None else states
    sums = StoppingSums(found, p, q, paired)
    by_state, by_round = sums.marginals(rule.k_max)
    first, second = found.i / found.k, found.j / found.k
    paths = found.paths.astype(np.float64)
    free_first, free_second = found.paths_full / paths, found.paths_ablated / paths
    rounds = np.arange(rule.k_max + 1.0).reshape(-1, *([1] * (by_round.ndim - 1)))
    mean = (rounds * by_round).sum(axis=0)
    spread = ((rounds - mean) ** 2 * by_round).sum(axis=0)
    naive, free = sums.expect(first), sums.expect(free_first)
    naive_other, free_other = sums.expect(second), sums.expect(free_second)
    return Characteristics(
        rule=rule,
        full=p,
        ablated=q,
        paired=paired,
        probability=by_state,
        rounds_probability=by_round,
        expected_rounds=mean,
        sd_rounds=np.sqrt(spread),
        expected_full=naive,
        expected_ablated=naive_other,
        rmse_effect=sums.rmse_effect(first - second, naive - naive_other),
        unbiased_full=free,
        unbiased_ablated=free_other,
        rmse_effect_unbiased=sums.rmse_effect(free_first - free_second, free - free_other),
    )


def to_dataset(found: Characteristics) -> xr.Dataset:
    """Which labelled Dataset holds these characteristics?

    Parameters
    ----------
    found : Characteristics

    Returns
    -------
    xarray.Dataset
        Dimensions full and ablated (or point, with both rates as coordinates), state, rounds and
        quantile. Attributes: schema, rule (JSON), computation, guarantee. No value is missing.

    Examples
    --------
    >>> from simtrack.probe import StoppingRule
    >>> data = StoppingRule().operating_characteristics(["0.9"], ["0.1", "0.5"])
    >>> round(float(data.probability.sel(state="adopted", full=0.9, ablated=0.1)), 9)
    0.802804153
    """
    import xarray as xr

    truth = ("point",) if found.paired else ("full", "ablated")
    variables: dict[str, tuple[tuple[str, ...], object, dict[str, str]]] = {
        name: ((*lead, *truth), getattr(found, name), {"units": unit, "long_name": meaning})
        for name, lead, unit, meaning in _VARIABLES
    }
    about = {"units": "rounds", "long_name": "rounds within which the probe stops so often"}
    variables["rounds_quantile"] = (("quantile", *truth), found.rounds_quantile(), about)
    rates = {
        "full": [float(value) for value in found.full],
        "ablated": [float(value) for value in found.ablated],
    }
    labels = {name: ("point" if found.paired else name, rates[name]) for name in rates}
    return xr.Dataset(
        variables,
        coords={
            **labels,
            "state": list(STATES),
            "rounds": np.arange(found.rule.k_max + 1),
            "quantile": list(LEVELS),
        },
        attrs={
            "schema": "simtrack.operating-characteristics/1",
            "rule": json.dumps(found.rule.to_dict()),
            "computation": found.computation,
            "guarantee": found.guarantee,
        },
    )
