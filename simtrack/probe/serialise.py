"""A stopping rule as plain data, JSON and TOML, with every decimal as it was typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final

from simtrack.errors import DataError, InputError
from simtrack.probe.decimals import decimal_text, is_decimal
from simtrack.probe.prior import Beta

__all__ = ["FIELDS", "SCHEMA", "arguments_from", "as_toml", "plain", "read_json", "read_toml"]

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


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as plain data: decimals as text, so that they read back exactly."""
    out: dict[str, Any] = {"schema": SCHEMA}
    for name in FIELDS:
        value = values[name]
        if isinstance(value, Beta):
            out[name] = [decimal_text(parameter) for parameter in value]
        elif isinstance(value, Fraction):
            out[name] = decimal_text(value)
        elif value is not None:
            out[name] = value
    return out


def as_toml(values: Mapping[str, Any]) -> str:
    """The fields as a TOML document: decimals as numbers where they end, else as "2/3"."""
    lines = [f'schema = "{SCHEMA}"']
    for name in FIELDS:
        value = values[name]
        if isinstance(value, Beta):
            lines.append(f"{name} = [{', '.join(_toml_number(part) for part in value)}]")
        elif isinstance(value, Fraction):
            lines.append(f"{name} = {_toml_number(value)}")
        elif value is not None:
            lines.append(f"{name} = {value}")
    return "\n".join(lines) + "\n"


def read_json(text: str) -> Mapping[str, Any]:
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


def read_toml(text: str) -> Mapping[str, Any]:
    """The TOML document in the text, numbers kept as typed."""
    import tomllib

    try:
        return tomllib.loads(text, parse_float=str)
    except RecursionError:
        raise DataError("The rule is nested too deeply to be one.") from None
    except ValueError as error:  # bad TOML, or an integer of thousands of digits
        raise DataError(f"The rule is not valid TOML: {error}.") from None


def arguments_from(data: Mapping[str, Any]) -> dict[str, Any]:
    """Which arguments of StoppingRule does this plain data give? Unknown keys are refused.

    Fields left out take their defaults; a prior is a pair or a table of alpha and beta.
    """
    _known(data, ("schema", *FIELDS), "the rule")
    if data.get("schema", SCHEMA) != SCHEMA:
        raise InputError("schema", repr(SCHEMA), repr(data["schema"]))
    out = {name: data[name] for name in FIELDS if name in data}
    for name in ("prior", "prior_ablated"):
        if isinstance(out.get(name), Mapping):
            _known(out[name], ("alpha", "beta"), name)
            out[name] = Beta(**out[name])
    return out


def _known(data: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for key in data:
        if key not in names:
            cure = f"Did you mean {_nearest(str(key), names)}?"
            raise InputError(
                f"a key of {where}", "one of " + ", ".join(names), repr(key), cure=cure
            )


def _nearest(word: str, names: Iterable[str]) -> str:
    from difflib import SequenceMatcher

    return max(names, key=lambda name: SequenceMatcher(None, word.lower(), name).ratio())


def _toml_number(value: Fraction) -> str:
    return decimal_text(value) if is_decimal(value) else f'"{value}"'
