"""Small readers of option texts, each refusing in one line."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from simtrack.errors import DataError, InputError
from simtrack.validate import decimal_fraction

__all__ = ["a_figure", "a_pair", "assignments", "one_output", "read_text", "two_floats"]

_FIGURES = (".png", ".svg", ".pdf")


def a_pair(name: str, text: str) -> tuple[str, str]:
    """Split "A,B" into two numbers, kept as typed.

    Examples
    --------
    >>> a_pair("truth", "0.9,0.1")
    ('0.9', '0.1')
    >>> a_pair("truth", "0.9")
    Traceback (most recent call last):
    simtrack.errors.InputError: truth must be two numbers with a comma between, got '0.9'.
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        raise InputError(name, "two numbers with a comma between", repr(text))
    for part in parts:
        decimal_fraction(name, part)
    return parts[0], parts[1]


def two_floats(name: str, text: str) -> tuple[float, float]:
    """Split "A,B" into two floats; fractions are divided, and what no float holds is refused.

    Examples
    --------
    >>> two_floats("tokens", "1/2,800")
    (0.5, 800.0)
    """
    first, second = a_pair(name, text)
    try:
        return float(Fraction(first)), float(Fraction(second))
    except OverflowError:
        raise InputError(name, "two numbers below 1e308", repr(text)) from None


def a_figure(path: str) -> str:
    """Refuse, before anything is computed, a figure that could not be saved.

    Examples
    --------
    >>> a_figure("oc.jpg")
    Traceback (most recent call last):
    simtrack.errors.InputError: figure must be a name ending in .png, .svg or .pdf, got 'oc.jpg'.
    """
    target = Path(path)
    if target.suffix.lower() not in _FIGURES:
        raise InputError("figure", "a name ending in .png, .svg or .pdf", repr(target.name))
    if not target.parent.is_dir():
        raise InputError(
            "figure", "in a folder that exists", str(target.parent), cure="Make the folder first."
        )
    return path


def assignments(name: str, texts: tuple[str, ...]) -> dict[str, str]:
    """Split "KEY=VALUE" texts; a key may be given once.

    Examples
    --------
    >>> assignments("map", ("cluster=task_id", "value=correct"))
    {'cluster': 'task_id', 'value': 'correct'}
    """
    found: dict[str, str] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise InputError(name, "of the form KEY=VALUE", repr(text))
        if key.strip() in found:
            raise InputError(name, "given once for each key", repr(key.strip()))
        found[key.strip()] = value.strip()
    return found


def method_options(texts: tuple[str, ...]) -> dict[str, object]:
    """Read `--option NAME=VALUE`, each value as what it looks like.

    Examples
    --------
    >>> method_options(("prior=0.5,0.5", "weights=linear", "randomised=true", "seed=7"))
    {'prior': (0.5, 0.5), 'weights': 'linear', 'randomised': True, 'seed': 7}
    """
    return {name: _value(text) for name, text in assignments("--option", texts).items()}


def _value(text: str) -> object:
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    try:
        numbers = [int(t) if t.strip().lstrip("+-").isdigit() else float(t)
                   for t in text.split(",")]  # fmt: skip
    except ValueError:
        return text
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


def one_output(**flags: bool) -> None:
    """Refuse two forms of output at once."""
    asked = [name for name, on in flags.items() if on]
    if len(asked) > 1:
        raise InputError("output", "one of " + ", ".join(f"--{n}" for n in flags), "more than one")


def read_text(path: str) -> str:
    """Read a small text file, or say in one line why not."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: not a text file in UTF-8.") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}.") from None
