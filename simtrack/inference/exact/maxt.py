"""Step-down max-T by joint sign flips: several contrasts over the same clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.inference.exact.exact_test import sides_of, too_high_floor
from simtrack.inference.numerics.ties import TIE_TOLERANCE
from simtrack.method import Method
from simtrack.options import Alternative, Computation, Guarantee, choice
from simtrack.validate import integer, open_unit

__all__ = ["METHODS", "MaxT", "max_t"]

Floats = NDArray[np.float64]

#: 2^20 patterns of nine contrasts take half a second.
_MOST_ENUMERATED = 20
_DEFAULT_RESAMPLES = 99_999
#: Patterns held at a time.
_BLOCK = 1 << 13


@dataclass(frozen=True, slots=True, eq=False)
class MaxT:
    """Which contrasts stand, if all signs of a cluster flip together under the null?

    All arrays have shape (hypotheses,), in the order given; NaN where there was nothing to test,
    with the reason in `notes`.

    Attributes
    ----------
    names : tuple of str
    means : float64 array
        The equal-weight mean of the cluster differences.
    statistics : float64 array
        Σ d / sqrt(Σ d²): the sum over its standard deviation under sign flips.
    clusters : int64 array
        Clusters that are not missing.
    pvalues : float64 array
        Each contrast's own sign-flip p, not adjusted.
    single_step, adjusted : float64 arrays
        Against the maximum over all contrasts; and stepping down (never larger).
    floor : Fraction
        The smallest adjusted p that these clusters can give.
    patterns : int
        Sign patterns counted or drawn.
    n_resamples, seed, mcse
        Monte Carlo only; `mcse` belongs to `adjusted`.
    """

    names: tuple[str, ...]
    alternative: Alternative
    means: Floats
    statistics: Floats
    clusters: NDArray[np.int64]
    pvalues: Floats
    single_step: Floats
    adjusted: Floats
    floor: Fraction
    patterns: int
    computation: Computation
    notes: tuple[str, ...] = ()
    n_resamples: int | None = None
    seed: int | None = None
    mcse: Floats | None = None
    controls: str = "family-wise error, under any dependence between the contrasts"
    guarantee: Guarantee = "finite-sample"

    def rejected(self, alpha: float = 0.05) -> tuple[str, ...]:
        """Name the contrasts whose adjusted p is at most `alpha`."""
        bound = open_unit("alpha", alpha) * (1.0 + TIE_TOLERANCE)
        return tuple(
            n for n, p in zip(self.names, self.adjusted.tolist(), strict=True) if p <= bound
        )

    def refusal(self, alpha: float = 0.05) -> str | None:
        """Say why no contrast can reach `alpha`, or None if one can."""
        return too_high_floor(self.floor, alpha, self.alternative, "these clusters")

    def to_dict(self) -> dict[str, object]:
        """Give plain values; None stands where there was nothing to test."""
        columns = ("means", "statistics", "pvalues", "single_step", "adjusted")
        return {
            "schema": "simtrack.max-t/1",
            "alternative": self.alternative,
            "names": list(self.names),
            "clusters": self.clusters.tolist(),
            **{name: _plain(getattr(self, name)) for name in columns},
            "floor": float(self.floor),
            "patterns": self.patterns,
            "mcse": None if self.mcse is None else _plain(self.mcse),
            "n_resamples": self.n_resamples,
            "seed": self.seed,
            "controls": self.controls,
            "computation": self.computation,
            "guarantee": self.guarantee,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        least = np.nanmin(self.adjusted) if not np.isnan(self.adjusted).all() else np.nan
        return f"MaxT({len(self.names)} contrasts, {self.patterns} patterns, least p={least:.6g})"


def max_t(
    differences: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    alternative: Alternative = "two-sided",
    n_resamples: int | None = None,
    seed: int = 0,
) -> MaxT:
    """Which of several contrasts over the same clusters stand, given how they go together?

    All differences of a cluster change sign together, so the joint law under the null keeps their
    dependence: the more alike the contrasts, the less is paid for having several. To 20 clusters
    all patterns are counted; beyond that, or where `n_resamples` is given, Monte Carlo with
    (b + 1) / (m + 1). Statistics within 1e-12 are ties.

    It assumes that under the null the vector of a cluster's differences is symmetric about 0
    jointly, as when arms are assigned at random within clusters.

    Parameters
    ----------
    differences : array_like, shape (clusters, hypotheses)
        NaN: the cluster is missing for that contrast.
    names : sequence of str, optional
        By default "1", "2", ...

    Raises
    ------
    InputError
        Not a matrix; infinite values.

    References
    ----------
    Westfall and Young (1993), Resampling-Based Multiple Testing, algorithm 2.8 (step-down max-T);
    sign flips: Romano and Wolf (2005), JASA 100, 94-108, section 4.

    Examples
    --------
    >>> found = max_t([[3, 2], [1, 2], [2, -1], [4, 3], [1, 1], [2, 0]])
    >>> found.pvalues.tolist(), found.adjusted.tolist()
    ([0.03125, 0.1875], [0.03125, 0.1875])
    """
    choice("alternative", alternative, Alternative)
    table = _matrix(differences)
    labels = _labels(names, table.shape[1])
    there = ~np.isnan(table)
    filled = np.where(there, table, 0.0)
    scale = np.sqrt((filled * filled).sum(axis=0))
    live = np.flatnonzero(scale > 0.0)
    moving = filled[(filled != 0.0).any(axis=1)]
    unit = moving[:, live] / scale[live]
    drawn = n_resamples is not None or len(moving) > _MOST_ENUMERATED
    draws = integer("n_resamples", _DEFAULT_RESAMPLES if n_resamples is None else n_resamples, 1)
    blocks = _drawn(unit, draws, seed) if drawn else _all_patterns(unit)
    counts, patterns = _count(unit, blocks, alternative)
    extra = 1 if drawn else 0
    p, single, stepped = _shares(counts, live, patterns + extra, extra, table.shape[1])
    sides = sides_of(alternative)
    return MaxT(
        names=labels,
        alternative=alternative,
        means=_ratio(filled.sum(axis=0), there.sum(axis=0)),
        statistics=np.where(
            scale > 0.0, filled.sum(axis=0) / np.where(scale > 0, scale, 1), np.nan
        ),
        clusters=there.sum(axis=0),
        pvalues=p,
        single_step=single,
        adjusted=stepped,
        floor=max(
            min(Fraction(1), Fraction(sides, 2 ** len(moving))), Fraction(extra, patterns + extra)
        ),
        patterns=patterns,
        computation="monte-carlo" if drawn else "enumeration",
        notes=_notes(labels, scale, there, draws if drawn else None),
        n_resamples=draws if drawn else None,
        seed=seed if drawn else None,
        mcse=np.sqrt(stepped * (1.0 - stepped) / draws) if drawn else None,
    )


def _matrix(differences: ArrayLike) -> Floats:
    try:
        table = np.asarray(differences, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("differences", "numbers, clusters by hypotheses") from None
    if table.ndim != 2 or 0 in table.shape:
        raise InputError("differences", "a table, clusters by hypotheses", table.shape)
    if np.isinf(table).any():
        raise InputError("differences", "finite or NaN", "infinity")
    return table


def _labels(names: Sequence[str] | None, size: int) -> tuple[str, ...]:
    if names is None:
        return tuple(str(k + 1) for k in range(size))
    if isinstance(names, str) or len(names) != size:
        raise InputError("names", f"a name for each of {size} contrasts", names)
    return tuple(map(str, names))


def _all_patterns(unit: Floats) -> Iterator[Floats]:
    """Give the statistics of all 2^G sign patterns, some at a time; the first is the data's."""
    low = min(len(unit), _BLOCK.bit_length() - 1)
    inner = unit[:low].sum(axis=0)[None, :]
    for row in unit[:low]:
        inner = np.concatenate([inner, inner - 2.0 * row])
    outer = np.zeros((1, unit.shape[1]))
    for row in unit[low:]:
        outer = np.concatenate([outer + row, outer - row])
    for shift in outer:
        yield inner + shift


def _drawn(unit: Floats, draws: int, seed: int) -> Iterator[Floats]:
    from simtrack.rng import Stream

    stream = Stream(seed, "max-t")
    for start in range(0, draws, _BLOCK):
        block = range(start, min(start + _BLOCK, draws))
        flips = stream.bernoulli(0.5, len(unit), replicates=block, clusters=1)[:, 0, :]
        yield np.einsum("rg,gh->rh", 1.0 - 2.0 * flips, unit)


def _count(
    unit: Floats, blocks: Iterator[Floats], alternative: Alternative
) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], int]:
    """Count, for each contrast, patterns in which it, any, or any not above it is as extreme."""
    observed = _extremity(unit.sum(axis=0)[None, :], alternative)[0]
    bound = observed - TIE_TOLERANCE * np.abs(unit).sum(axis=0)
    order = np.argsort(-observed, kind="stable")
    own, any_one, stepped = (np.zeros(unit.shape[1], np.int64) for _ in range(3))
    patterns = 0
    for block in blocks:
        seen = _extremity(block, alternative)
        patterns += len(seen)
        own += (seen >= bound).sum(axis=0)
        # From the least extreme upwards: the maximum over those not more extreme than it.
        successive = np.maximum.accumulate(seen[:, order[::-1]], axis=1)[:, ::-1]
        stepped[order] += (successive >= bound[order]).sum(axis=0)
        if successive.shape[1]:
            any_one += (successive[:, :1] >= bound).sum(axis=0)
    if order.size:
        # Stepping down, no p-value is smaller than that of a more extreme contrast.
        stepped[order] = np.maximum.accumulate(stepped[order])
    return (own, any_one, stepped), patterns


def _extremity(statistics: Floats, alternative: Alternative) -> Floats:
    if alternative == "two-sided":
        return np.abs(statistics)
    return statistics if alternative == "greater" else -statistics


def _shares(
    counts: tuple[NDArray[np.int64], ...],
    live: NDArray[np.intp],
    total: int,
    extra: int,
    size: int,
) -> list[Floats]:
    found = []
    for count in counts:
        share = np.full(size, np.nan)
        share[live] = (count + extra) / total
        found.append(share)
    return found


def _ratio(top: Floats, bottom: Floats | NDArray[np.int64]) -> Floats:
    found = np.full(top.size, np.nan)
    np.divide(top, bottom, out=found, where=bottom > 0)
    return found


def _notes(
    names: tuple[str, ...], scale: Floats, there: NDArray[np.bool_], draws: int | None
) -> tuple[str, ...]:
    found = []
    for name, size, here in zip(names, scale.tolist(), there.T, strict=True):
        if size == 0.0:
            why = "every difference is 0" if here.any() else "no cluster has it"
            found.append(f"{name}: {why}, so there is nothing to test")
    if draws is not None:
        found.append(f"{draws} random sign patterns, (b + 1) / (m + 1)")
    return tuple(found)


def _plain(values: Floats) -> list[float | None]:
    return [None if np.isnan(v) else v for v in values.tolist()]


METHODS = (
    Method(
        "max-t", "multiplicity",
        "Several contrasts over the same clusters, jointly symmetric about 0 under the null.",
        "Contrasts nobody randomised; very unequal sets of clusters.",
        "enumeration", "finite-sample", "Westfall & Young 1993, algorithm 2.8; Romano & Wolf 2005",
    ),
)  # fmt: skip
