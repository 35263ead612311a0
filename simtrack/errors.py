"""Every way in which simtrack says no, each with the exit code its command ends with."""

from __future__ import annotations

__all__ = ["DataError", "Finding", "InputError", "MissingExtra", "SimtrackError"]


class SimtrackError(Exception):
    """The base of all refusals; `exit_code` is what the command line ends with."""

    exit_code = 2


class InputError(SimtrackError, ValueError):
    """An argument or option breaks a rule.

    Examples
    --------
    >>> raise InputError("k_min", "an integer from 1 to k_max", 0, cure="Use 1 or more.")
    Traceback (most recent call last):
    simtrack.errors.InputError: k_min must be an integer from 1 to k_max, got 0. Use 1 or more.
    """

    def __init__(
        self, name: str, rule: str, got: object = None, *, where: str = "", cure: str = ""
    ) -> None:
        shown = "" if got is None else f", got {got}"
        place = f" ({where})" if where else ""
        cure = f" {cure}" if cure else ""
        super().__init__(f"{name} must be {rule}{shown}{place}.{cure}")
        self.name = name


class DataError(SimtrackError, ValueError):
    """A file or table cannot be used as it stands; the message says where, why and the cure."""


class MissingExtra(SimtrackError, ImportError):
    """An optional library is not installed; the message gives the command that mends it."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(
            f"{library} is not installed. Run: python -m pip install 'simtrack[{extra}]'"
        )


class Finding(SimtrackError):
    """Something that the user asked to fail on was found."""

    exit_code = 3
