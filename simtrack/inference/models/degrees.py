"""How many degrees of freedom a coefficient has, and how small an exact p-value could be at all.

A term that varies only between clusters is known from fewer of them than there are: two arms of
three clusters give it 4 degrees of freedom, not 5, and no permutation of the clusters a p-value
below 2/20.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.models.coefficients import Coefficients
from simtrack.inference.models.table import ModelTable
from simtrack.inference.numerics.algebra import cholesky, forward, symmetric_eigen
from simtrack.note import Note

__all__ = ["between_within", "is_between", "permutation_notes", "sandwich_degrees"]

Floats = NDArray[np.float64]
#: A cluster that leaves less than this of a direction to the others has all of it.
_ALL = 1e-12
#: Decimals of degrees of freedom that are no rounding, so that 11 is 11.
DIGITS = 9


def sandwich_degrees(information: Floats) -> Floats:
    """How many degrees of freedom does the sandwich variance of each coefficient have?

    Satterthwaite's, 2 E(v)² / Var(v), for the variance v with Kauermann and Carroll's correction,
    if trials had one variance and the working correlation. So they depend on the sizes of clusters
    and on the design, not on the outcomes. With clusters of one size: G - 1 for a column that
    varies alike in each cluster, G - 2 for the difference of two equal arms and for what interacts
    with it, one less than the clusters of the reference arm for a coefficient of that arm alone.

    Parameters
    ----------
    information : float64 array, shape (clusters, columns, columns)
        What each cluster says of the coefficients, at equal variances of all trials.

    Returns
    -------
    float64 array, shape (columns,)
        Clusters - 1 where one cluster alone determines a coefficient, since the corrected
        covariance is not defined there.

    References
    ----------
    Bell and McCaffrey (2002), Survey Methodology 28, 169-181, section 4. Fay and Graubard (2001),
    Biometrics 57, 1198-1206, section 4. Pustejovsky and Tipton (2018), J. Business & Economic
    Statistics 36, 672-683, eq. 11.

    Examples
    --------
    >>> arm = np.array([[1.0, 0.0]] * 3 + [[1.0, 1.0]] * 3)
    >>> sandwich_degrees(np.einsum("gi,gj->gij", arm, arm)).tolist()
    [2.0, 4.0]
    """
    live = information[np.einsum("gii->g", information) > 0.0]
    lower = cholesky(live.sum(axis=0))
    size = len(lower)
    turn = forward(lower[None], np.eye(size)).T  # columns: L⁻¹ e_c
    plain, pulls = np.empty((len(live), size)), np.empty((len(live), size, size))
    for g, part in enumerate(live):
        half = forward(lower, part.T)
        share = forward(lower, half.T)
        values, vectors = symmetric_eigen(0.5 * (share + share.T))
        if not (values < 1.0 - _ALL).all():
            return np.full(size, len(live) - 1.0)
        grown = np.einsum("ij,j,kj,kc->ic", vectors, (1.0 - values) ** -0.5, vectors, turn)
        pulls[g] = np.einsum("ij,jc->ic", share, grown)
        plain[g] = (grown * pulls[g]).sum(axis=0)
    shared = (pulls * pulls).sum(axis=1)
    mean = (plain - shared).sum(axis=0)
    cross = np.einsum("gic,gjc->cij", pulls, pulls)
    spread = (plain * (plain - 2.0 * shared)).sum(axis=0) + (cross * cross).sum(axis=(1, 2))
    return np.asarray((mean * mean / spread).round(DIGITS))


def is_between(n: Floats, design: Floats) -> NDArray[np.bool_]:
    """Which columns do not vary within any cluster?

    Parameters
    ----------
    n : float64 array, shape (..., clusters, patterns)
    design : float64 array, shape (patterns, columns)

    Returns
    -------
    bool array, shape (..., columns)
    """
    there = (n > 0.0)[..., None]
    high = np.where(there, design, -np.inf).max(axis=-2)
    low = np.where(there, design, np.inf).min(axis=-2)
    return np.asarray((high <= low).all(axis=-2))


def between_within(n: Floats, design: Floats) -> Floats:
    """Which degrees of freedom does a coefficient have if clusters share a random intercept?

    Clusters less the columns that vary between clusters alone (the intercept among them) for these;
    clusters - 1 for columns that vary within clusters, which has room for effects that differ from
    cluster to cluster.

    Parameters
    ----------
    n : float64 array, shape (..., clusters, patterns)
    design : float64 array, shape (patterns, columns)

    Returns
    -------
    float64 array, shape (..., columns)

    References
    ----------
    Schluchter and Elashoff (1990), J. Statistical Computation and Simulation 37, 69-87; Li and
    Redden (2015), BMC Medical Research Methodology 15, 38 (the rule at few clusters).

    Examples
    --------
    >>> n = np.array([[5.0, 0.0]] * 3 + [[0.0, 5.0]] * 3)
    >>> between_within(n, np.array([[1.0, 0.0], [1.0, 1.0]])).tolist()
    [4.0, 4.0]
    """
    live = (n.sum(axis=-1) > 0.0).sum(axis=-1)[..., None]
    between = is_between(n, design)
    left = live - between.sum(axis=-1)[..., None]
    return np.asarray(np.where(between, left, live - 1)).astype(np.float64)


def permutation_notes(table: ModelTable, found: Coefficients) -> tuple[Note, ...]:
    """Say of factors between clusters how small an exact p-value could be, where it matters.

    It matters where no permutation of the clusters could reject at this level, or where the
    p-value by Student's t is below the least of the permutations: it then rests on the law of t.
    """
    between = is_between(table.n, table.design)
    notes = []
    for j, name in enumerate(table.names):
        sizes = _groups(table, name) if between[j] else None
        if sizes is None:
            continue
        first, second = sizes
        ways = math.comb(first + second, first)
        least = Fraction(2 if first == second else 1, ways)
        p = float(found.pvalue[j])
        if least > 1.0 - found.level or p < least:
            told = (
                f"{name} compares {first} and {second} clusters: an exact permutation of them has "
                f"no p below {2 if first == second else 1}/{ways} = {float(least):.3g}"
            )
            notes.append(Note("permutation-floor", told, name, first + second))
    return tuple(notes)


def _groups(table: ModelTable, name: str) -> tuple[int, int] | None:
    """Count the clusters of a level, and those of the level that it is compared with."""
    factor, _, level = name.removesuffix("]").partition("[")
    if not level or factor not in table.by or f"{factor}[{level}]" != name:
        return None
    codes, levels = table.codes(factor)
    base = [k for k, other in enumerate(levels) if f"{factor}[{other}]" not in table.names]
    if len(base) != 1 or level not in levels:
        return None
    held = [int((table.n[:, codes == k].sum(axis=1) > 0).sum()) for k in
            (levels.index(level), base[0])]  # fmt: skip
    return (held[0], held[1]) if min(held) else None
