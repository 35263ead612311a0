"""The stopping rule of the sequential ablation probe: its six numbers, as typed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from simtrack.errors import InputError
from simtrack.probe.decimals import decimal_text
from simtrack.probe.prior import Beta
from simtrack.probe.protocol import protocol_text
from simtrack.probe.serialise import FIELDS, arguments_from, as_toml, plain, read_json, read_toml
from simtrack.validate import decimal_fraction, integer, percent_hint

if TYPE_CHECKING:  # what a rule opens is imported when it is opened: these rooms import the rule
    from collections.abc import Mapping

    import xarray as xr

    from simtrack.probe.session import ProbeSession

__all__ = ["K_MAX_LIMIT", "StoppingRule"]

K_MAX_LIMIT: Final = 200


@dataclass(frozen=True, slots=True, init=False, repr=False)
class StoppingRule:
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

    threshold: Fraction
    confidence: Fraction
    zero_band: Fraction
    k_min: int
    k_max: int
    prior: Beta
    prior_ablated: Beta | None

    def __init__(
        self,
        threshold: object = "0.8",
        confidence: object = "0.8",
        zero_band: object = "0.2",
        k_min: int = 3,
        k_max: int = 30,
        prior: Beta | tuple[object, object] = Beta(1, 1),  # noqa: B008 - immutable
        prior_ablated: Beta | tuple[object, object] | None = None,
    ) -> None:
        found: dict[str, Any] = {
            "threshold": _threshold(threshold),
            "confidence": _confidence(confidence),
            "zero_band": _zero_band(zero_band),
            "k_max": integer("k_max", k_max, 1, K_MAX_LIMIT),
            "prior": _prior("prior", prior),
        }
        found["k_min"] = _k_min(k_min, found["k_max"])
        other = None if prior_ablated is None else _prior("prior_ablated", prior_ablated)
        found["prior_ablated"] = None if other == found["prior"] else other
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @property
    def prior_of_ablated(self) -> Beta:
        """Which prior does the ablated pass rate have?"""
        return self.prior if self.prior_ablated is None else self.prior_ablated

    def with_(self, **changes: Any) -> StoppingRule:
        """Which rule is this one with some numbers changed? All checks are made again."""
        return StoppingRule.from_dict({**self._fields(), **changes})

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
        from simtrack.probe.dataset import to_dataset
        from simtrack.probe.oc import characteristics

        return to_dataset(characteristics(self, full, ablated))

    def session(self) -> ProbeSession:
        """Which object takes the draws of one clause in turn and says when to stop?"""
        from simtrack.probe.session import ProbeSession

        return ProbeSession(self)

    def warnings(self) -> tuple[str, ...]:
        """What about this rule would surprise its author? Empty if nothing is known to."""
        from simtrack.probe.review import review

        return review(self)

    def to_dict(self) -> dict[str, Any]:
        """The rule as plain data with a schema id, decimals as text."""
        return plain(self._fields())

    def to_json(self) -> str:
        """The rule as one JSON object.

        Examples
        --------
        >>> StoppingRule.from_json(StoppingRule(threshold="2/3").to_json()).threshold
        Fraction(2, 3)
        """
        import json

        return json.dumps(self.to_dict(), indent=2)

    def to_toml(self) -> str:
        """The rule as a TOML document.

        Examples
        --------
        >>> print(StoppingRule(prior=(0.5, 0.5)).to_toml(), end="")
        schema = "simtrack.stopping-rule/1"
        threshold = 0.8
        confidence = 0.8
        zero_band = 0.2
        k_min = 3
        k_max = 30
        prior = [0.5, 0.5]
        """
        return as_toml(self._fields())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> StoppingRule:
        """Which rule does this plain data describe? Fields left out take their defaults.

        Raises
        ------
        InputError
            A key is unknown (the nearest valid one is named) or a value breaks its rule.

        Examples
        --------
        >>> StoppingRule.from_dict({"treshold": 0.7})
        Traceback (most recent call last):
        simtrack.errors.InputError: a key of the rule must be one of schema, threshold, ... Did you mean threshold?
        """  # noqa: E501
        return cls(**arguments_from(data))

    @classmethod
    def from_json(cls, text: str) -> StoppingRule:
        """Which rule does this JSON object describe, decimals as typed?"""
        return cls.from_dict(read_json(text))

    @classmethod
    def from_toml(cls, text: str) -> StoppingRule:
        """Which rule does this TOML document describe, decimals as typed?

        Examples
        --------
        >>> StoppingRule.from_toml("threshold = 0.70\\nk_max = 60")
        StoppingRule(threshold=0.7, confidence=0.8, zero_band=0.2, k_min=3, k_max=60)
        """
        return cls.from_dict(read_toml(text))

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in FIELDS}

    def __str__(self) -> str:
        return protocol_text(**{**self._fields(), "prior_ablated": self.prior_of_ablated})

    def __repr__(self) -> str:
        parts = [f"{n}={decimal_text(getattr(self, n))}" for n in FIELDS[:3]]
        parts += [f"k_min={self.k_min}", f"k_max={self.k_max}"]
        if self.prior != Beta():
            parts.append(f"prior={self.prior!r}")
        if self.prior_ablated is not None:
            parts.append(f"prior_ablated={self.prior_ablated!r}")
        return f"StoppingRule({', '.join(parts)})"


def _threshold(value: object) -> Fraction:
    found = decimal_fraction("threshold", value)
    if not 0 < found < 1:
        cure = "A rate is never below 0 nor above 1, so the A side would be settled beforehand."
        cure = percent_hint(found) or cure
        raise InputError("threshold", "above 0 and below 1", decimal_text(found), cure=cure)
    return found


def _confidence(value: object) -> Fraction:
    found = decimal_fraction("confidence", value)
    if not Fraction(1, 2) < found < 1:
        cure = "At 1/2 or less two sides could win at once; at 1 none ever would."
        cure = percent_hint(found) or cure
        raise InputError("confidence", "above 1/2 and below 1", decimal_text(found), cure=cure)
    return found


def _zero_band(value: object) -> Fraction:
    found = decimal_fraction("zero_band", value)
    if not 0 < found < 1:
        cure = "At 0 no effect could be called zero; at 1 every effect would be."
        cure = percent_hint(found) or cure
        raise InputError("zero_band", "above 0 and below 1", decimal_text(found), cure=cure)
    return found


def _k_min(value: int, k_max: int) -> int:
    found = integer("k_min", value, 1)
    if found > k_max:
        cure = "Lower k_min or raise k_max."
        raise InputError("k_min", f"at most k_max = {k_max}", found, cure=cure)
    return found


def _prior(name: str, value: object) -> Beta:
    if isinstance(value, Beta):
        return value
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return Beta(*value)
    raise InputError(name, "a Beta or a pair of numbers (alpha, beta)", repr(value))
