"""What a call costs: by the call or by the token, and price tables of models from a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from simtrack.errors import DataError, InputError
from simtrack.plain import Plain
from simtrack.validate import real

__all__ = ["Price", "price_of", "read_prices"]

SCHEMA: Final = "simtrack.price-table/1"
TOKENS_PER_MTOK: Final = 1e6
#: No price, count of tokens or count of clauses is larger; their products stay finite.
LARGEST: Final = 1e12
MOST_CLAUSES: Final = 10**12
_BY_TOKEN: Final = ("input_usd_per_mtok", "output_usd_per_mtok")
_TOKENS: Final = ("input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Price(Plain, schema="simtrack.price/1"):
    """What does one call cost, in US dollars?

    Either a flat price a call, or prices per million tokens (mtok) with the tokens of a call.

    Parameters
    ----------
    usd_per_call : float, optional
        Flat price of a call, 0 to 1e12.
    input_usd_per_mtok, output_usd_per_mtok : float, optional
        Prices of a million tokens read and written, 0 or more; both or neither.
    input_tokens, output_tokens : float, optional
        Mean tokens of one call, 0 or more.

    Raises
    ------
    InputError
        A number is negative, or both ways of pricing are mixed, or neither is given.

    Examples
    --------
    >>> price = Price(input_usd_per_mtok=2.5, output_usd_per_mtok=10, input_tokens=800,
    ...               output_tokens=100)
    >>> round(price.usd(1000), 9)
    3.0
    >>> Price(usd_per_call=0.002).usd(1000)
    2.0
    """

    usd_per_call: float | None = None
    input_usd_per_mtok: float | None = None
    output_usd_per_mtok: float | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, real(name, value, 0.0, LARGEST))
        given = [name for name in _BY_TOKEN if getattr(self, name) is not None]
        rule = "either usd_per_call, or both input_usd_per_mtok and output_usd_per_mtok"
        if self.usd_per_call is not None and given:
            raise InputError("a price", rule, "both ways")
        if self.usd_per_call is None and len(given) < len(_BY_TOKEN):
            raise InputError("a price", rule, f"only {given[0]}" if given else "neither")

    def with_tokens(self, input_tokens: float, output_tokens: float) -> Price:
        """Which price is this one for calls of so many tokens?"""
        return replace(self, input_tokens=input_tokens, output_tokens=output_tokens)

    def usd(self, calls: float = 1.0) -> float:
        """What do so many calls cost, in dollars?

        Raises
        ------
        InputError
            Priced by the token and the tokens of a call are not given.
        """
        if self.usd_per_call is not None:
            return calls * self.usd_per_call
        if self.input_tokens is None or self.output_tokens is None:
            missing = [name for name in _TOKENS if getattr(self, name) is None]
            cure = "A price by the token needs the mean tokens of a call."
            raise InputError(" and ".join(missing), "given", cure=cure)
        reading = self.input_tokens * (self.input_usd_per_mtok or 0.0)
        writing = self.output_tokens * (self.output_usd_per_mtok or 0.0)
        return calls * (reading + writing) / TOKENS_PER_MTOK

    def to_dict(self) -> dict[str, Any]:
        """What was given, as plain data with a schema id."""
        return {name: value for name, value in Plain.to_dict(self).items() if value is not None}


def read_prices(path: str | Path) -> dict[str, Price]:
    """Which models have which prices, by this JSON or TOML file?

    The file has a table `models` of model name to the fields of `Price`. JSON is told from TOML by
    its first character, a brace.

    Parameters
    ----------
    path : path
        For example::

            schema = "simtrack.price-table/1"
            [models."some-model"]
            input_usd_per_mtok = 2.5
            output_usd_per_mtok = 10

    Raises
    ------
    DataError
        The file cannot be read, is neither format, or holds no such table.
    InputError
        A price breaks a rule; the message names the model.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"The price table {path} cannot be read: {error}.") from None
    data = _parsed(text, str(path))
    schema, models = data.get("schema", SCHEMA), data.get("models")
    if schema != SCHEMA:
        raise DataError(f"The price table {path} must have schema {SCHEMA!r}, got {schema!r}.")
    if not isinstance(models, Mapping):
        raise DataError(f"The price table {path} must hold a table named models.")
    return {name: _price(name, fields, str(path)) for name, fields in models.items()}


def price_of(prices: Mapping[str, Price], model: str) -> Price:
    """What does this model cost? Refuses an unknown one and names those there are.

    Examples
    --------
    >>> price_of({"a": Price(usd_per_call=1)}, "b")
    Traceback (most recent call last):
    simtrack.errors.InputError: model must be one of the price table's: a, got 'b'.
    """
    if model not in prices:
        known = ", ".join(sorted(prices)) or "none"
        raise InputError("model", f"one of the price table's: {known}", repr(model))
    return prices[model]


def _parsed(text: str, where: str) -> Mapping[str, Any]:
    import tomllib

    try:
        if text.lstrip().startswith("{"):
            found: Any = json.loads(text)
        else:
            found = tomllib.loads(text)
    except RecursionError:
        raise DataError(f"The price table {where} is nested too deeply to be one.") from None
    except ValueError as error:  # of both formats, and of integers of thousands of digits
        raise DataError(f"The price table {where} is neither JSON nor TOML: {error}.") from None
    if not isinstance(found, Mapping):
        raise DataError(f"The price table {where} must be one JSON object or TOML document.")
    return found


def _price(name: str, fields: Any, where: str) -> Price:
    if not isinstance(fields, Mapping):
        raise DataError(f"The price of {name!r} in {where} must be a table.")
    known = Price.__slots__
    for key in fields:
        if key not in known:
            rule = "one of " + ", ".join(known)
            raise InputError("a price field", rule, repr(key), where=f"{name} in {where}")
    try:
        return Price(**fields)
    except InputError as error:
        raise DataError(f"The price of {name!r} in {where} is wrong: {error}") from None
