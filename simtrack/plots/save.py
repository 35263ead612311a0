"""Save figures so that equal data give equal bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simtrack.errors import InputError, MissingExtra
from simtrack.files import write_with

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["new_figure", "save_figure"]

#: What each format would otherwise stamp with the time or a random id.
_METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


def new_figure(width_in: float, height_in: float) -> Figure:
    """Make an empty figure, without touching matplotlib's global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plots") from None
    return Figure(figsize=(width_in, height_in), layout="constrained")


def save_figure(figure: Figure, path: str | Path, dpi: int = 200) -> Path:
    """Save as PNG, SVG or PDF, by the name's ending: whole or not at all, the same bytes twice."""
    import matplotlib as mpl

    target = Path(path)
    metadata = _METADATA.get(target.suffix.lower())
    if metadata is None:
        raise InputError("figure", "a name ending in .png, .svg or .pdf", repr(target.name))
    with mpl.rc_context({"svg.hashsalt": "simtrack"}):
        return write_with(target, lambda p: figure.savefig(p, dpi=dpi, metadata=metadata))
