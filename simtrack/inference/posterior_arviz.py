"""Posteriors in the form that the installed ArviZ reads, so that its summaries and plots work."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError, MissingExtra
from simtrack.inference.posterior_law import Law
from simtrack.rng import Stream
from simtrack.validate import integer

__all__ = ["law_draws", "shares", "to_arviz"]

Floats = NDArray[np.float64]
_DRAWS_MAX, _CHAINS_MAX, _SEED_MAX = 1_000_000, 1000, 2**63 - 1


def law_draws(law: Law, name: str, draws: int = 1000, chains: int = 4, seed: int = 0) -> Floats:
    """Draw from a law by its quantiles at the uniforms of a counter-based stream.

    Returns
    -------
    float64 array, shape (chains, draws)
        The same for the same seed and name on every machine, to about 1e-12; more draws or chains
        leave the old ones as they were. Independent draws: ArviZ's R-hat is 1 and its effective
        size the number of draws, but for chance.

    Examples
    --------
    >>> from simtrack.inference.posterior_law import BetaLaw
    >>> law_draws(BetaLaw(8.0, 4.0), "rate", 3, 1).shape
    (1, 3)
    """
    p = shares(name, draws, chains, seed, 1)[:, :, 0]
    found: Floats = law.quantile(p.ravel()).reshape(p.shape)
    return found


def shares(name: str, draws: int, chains: int, seed: int, each: int) -> Floats:
    """Give uniforms of the stream of a posterior, shape (chains, draws, each)."""
    count = integer("draws", draws, 1, _DRAWS_MAX)
    several = integer("chains", chains, 1, _CHAINS_MAX)
    stream = Stream(integer("seed", seed, 0, _SEED_MAX), "posterior draws", name)
    found = stream.uniform(replicates=count, clusters=several, draws_each=each)
    return np.ascontiguousarray(found.transpose(1, 0, 2))


def to_arviz(
    draws: Mapping[str, Floats],
    *,
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Sequence[str]] | None = None,
) -> Any:
    """Hand draws to ArviZ: an `InferenceData` to versions 0.x, a `DataTree` to 1.x.

    Parameters
    ----------
    draws : mapping of name to float64 array, shape (chains, draws, ...)
    dims, coords : mappings, optional
        Names and labels of the further dimensions.

    Raises
    ------
    MissingExtra
        ArviZ is not installed.
    """
    for name, values in draws.items():
        if np.ndim(values) < 2:
            raise InputError(name, "of shape (chains, draws, ...)", np.shape(values))
    arviz = _installed()
    named = {name: list(labels) for name, labels in (dims or {}).items()}
    placed = {name: list(labels) for name, labels in (coords or {}).items()}
    if int(arviz.__version__.partition(".")[0]) < 1:
        return arviz.from_dict(posterior=dict(draws), dims=named, coords=placed)
    return arviz.from_dict({"posterior": dict(draws)}, dims=named, coords=placed)


def _installed() -> Any:
    """Import ArviZ; version 0.23 announces its successor on import, which is no fault of data."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module("arviz")
    except ImportError:
        raise MissingExtra("arviz", "bayes") from None
