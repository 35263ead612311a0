"""A commented protocol of each scheme, to start from."""

from __future__ import annotations

from importlib.resources import files

from simtrack.errors import InputError

__all__ = ["EXAMPLES", "protocol_example"]

#: The schemes, and the replay of sessions, that have one.
EXAMPLES = ("stageif", "obligations", "statetrack", "rebind", "replay")


def protocol_example(scheme: str) -> str:
    """What may a protocol of this scheme say? TOML with comments; as it stands it can be loaded.

    Parameters
    ----------
    scheme : {"stageif", "obligations", "statetrack", "rebind", "replay"}

    Examples
    --------
    >>> print(protocol_example("stageif").splitlines()[0])
    # How replies report their stage, and which stage is right: a protocol of the StageIF scheme.
    """
    if scheme not in EXAMPLES:
        raise InputError("scheme", f"one of {', '.join(EXAMPLES)}", repr(scheme))
    return (files("simtrack.scoring") / "examples" / f"{scheme}.toml").read_text(encoding="utf-8")
