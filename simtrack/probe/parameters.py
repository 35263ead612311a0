"""The numbers of a stopping rule as typed: checked, and read from and written to plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Self

from simtrack.errors import DataError, InputError
from simtrack.plain import Document, Plain, decimal_text
from simtrack.validate import decimal_fraction, integer, percent_hint

__all__ = ["K_MAX_LIMIT", "PRIOR_MAX", "PRIOR_MIN", "Beta", "Rule"]

K_MAX_LIMIT: Final = 200
SCHEMA: Final = "simtrack.stopping-rule/1"
FIELDS: Final = (
    "threshold",
    "confidence",
    "zero_band",
    "k_min",
    "k_max",
    "prior",
    "prior_ablated",
)
#: Outside these limits the quadrature of the difference has not been checked.
PRIOR_MIN = Fraction(1, 100)
PRIOR_MAX = Fraction(1000)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Beta:
    """What is believed of a pass rate before the first round?

    Parameters
    ----------
    alpha, beta : decimal
        Prior passes and fails, each in [0.01, 1000], read exactly as typed.

    Raises
    ------
    InputError
        A parameter is not a decimal number or lies outside [0.01, 1000].

    Examples
    --------
    >>> Beta(1, 1), Beta("0.5", 0.5).is_integer
    (Beta(1, 1), False)
    """

    alpha: Fraction
    beta: Fraction

    def __init__(self, alpha: object = 1, beta: object = 1) -> None:
        for name, value in (("alpha", alpha), ("beta", beta)):
            found = decimal_fraction(f"prior {name}", value)
            if not PRIOR_MIN <= found <= PRIOR_MAX:
                rule = f"from {decimal_text(PRIOR_MIN)} to {decimal_text(PRIOR_MAX)}"
                raise InputError(f"prior {name}", rule, decimal_text(found))
            object.__setattr__(self, name, found)

    @property
    def is_integer(self) -> bool:
        """Are both parameters whole, so that every posterior mass is a rational number?"""
        return self.alpha.denominator == 1 and self.beta.denominator == 1

    def to_plain(self) -> list[str]:
        """Both parameters as typed."""
        return [decimal_text(parameter) for parameter in self]

    def __iter__(self) -> Iterator[Fraction]:
        yield self.alpha
        yield self.beta

    def __repr__(self) -> str:
        return f"Beta({decimal_text(self.alpha)}, {decimal_text(self.beta)})"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Rule(Document, schema=SCHEMA):
    """The numbers of a stopping rule; `StoppingRule` says what each means and what can be asked."""

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
        prior: Beta | tuple[object, object] = Beta(1, 1),
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

    def with_(self, **changes: Any) -> Self:
        """Which rule is this one with some numbers changed? All checks are made again."""
        return self.from_dict({**{name: getattr(self, name) for name in FIELDS}, **changes})

    def to_dict(self) -> dict[str, Any]:
        """The rule as plain data with a schema id, decimals as text."""
        found = Plain.to_dict(self)
        return {name: value for name, value in found.items() if value is not None}

    def to_json(self) -> str:
        """The rule as one JSON object.

        Examples
        --------
        >>> Rule.from_json(Rule(threshold="2/3").to_json()).threshold
        Fraction(2, 3)
        """
        import json

        return json.dumps(self.to_dict(), indent=2)

    def to_toml(self) -> str:
        """The rule as a TOML document: decimals as numbers where they end, else as "2/3".

        Examples
        --------
        >>> print(Rule(prior=(0.5, 0.5)).to_toml(), end="")
        schema = "simtrack.stopping-rule/1"
        threshold = 0.8
        confidence = 0.8
        zero_band = 0.2
        k_min = 3
        k_max = 30
        prior = [0.5, 0.5]
        """
        return "".join(f"{name} = {_toml(value)}\n" for name, value in self.to_dict().items())

    @classmethod
    def from_dict(cls, data: object, where: str = "the rule") -> Self:
        """Which rule does this plain data describe? Fields left out take their defaults.

        A prior is a pair or a table of alpha and beta.

        Raises
        ------
        InputError
            A key is unknown (the nearest valid one is named) or a value breaks its rule.

        Examples
        --------
        >>> Rule.from_dict({"treshold": 0.7})
        Traceback (most recent call last):
        simtrack.errors.InputError: a key of the rule must be one of schema, threshold, ... Did you mean threshold?
        """  # noqa: E501
        given = _known(data, ("schema", *FIELDS), where)
        schema = given.pop("schema", SCHEMA)
        if schema != SCHEMA:
            raise InputError("schema", repr(SCHEMA), repr(schema))
        for name in ("prior", "prior_ablated"):
            if isinstance(given.get(name), Mapping):
                given[name] = Beta(**_known(given[name], ("alpha", "beta"), name))
        return cls(**given)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Which rule does this JSON object describe, decimals as typed?"""
        return cls.from_dict(_read_json(text))

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Which rule does this TOML document describe, decimals as typed?

        Examples
        --------
        >>> Rule.from_toml("threshold = 0.70\\nk_max = 60")
        Rule(threshold=0.7, confidence=0.8, zero_band=0.2, k_min=3, k_max=60)
        """
        return cls.from_dict(_read_toml(text))

    def __repr__(self) -> str:
        parts = [f"{n}={decimal_text(getattr(self, n))}" for n in FIELDS[:3]]
        parts += [f"k_min={self.k_min}", f"k_max={self.k_max}"]
        if self.prior != Beta():
            parts.append(f"prior={self.prior!r}")
        if self.prior_ablated is not None:
            parts.append(f"prior_ablated={self.prior_ablated!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


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


def _read_json(text: str) -> Mapping[str, Any]:
    """The JSON object in the text, numbers kept as typed; refuses anything else."""
    import json

    try:
        found = json.loads(text, parse_float=str)
    except RecursionError:
        raise DataError("The rule is nested too deeply to be one.") from None
    except ValueError as error:  # bad JSON, or an integer of thousands of digits
        raise DataError(f"The rule is not valid JSON: {error}.") from None
    if not isinstance(found, dict):
        raise DataError("The rule must be a JSON object with the fields " + ", ".join(FIELDS) + ".")
    return found


def _read_toml(text: str) -> Mapping[str, Any]:
    """The TOML document in the text, numbers kept as typed."""
    import tomllib

    try:
        return tomllib.loads(text, parse_float=str)
    except RecursionError:
        raise DataError("The rule is nested too deeply to be one.") from None
    except ValueError as error:  # bad TOML, or an integer of thousands of digits
        raise DataError(f"The rule is not valid TOML: {error}.") from None


def _known(data: Any, names: tuple[str, ...], where: str) -> dict[str, Any]:
    for key in data:
        if key not in names:
            cure = f"Did you mean {_nearest(str(key), names)}?"
            raise InputError(
                f"a key of {where}", "one of " + ", ".join(names), repr(key), cure=cure
            )
    return dict(data)


def _nearest(word: str, names: Iterable[str]) -> str:
    from difflib import SequenceMatcher

    return max(names, key=lambda name: SequenceMatcher(None, word.lower(), name).ratio())


def _toml(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    is_number = isinstance(value, int) or set(str(value)) <= set("-.0123456789")
    return str(value) if is_number else f'"{value}"'
