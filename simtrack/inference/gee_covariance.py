"""Covariances of estimating equations, corrected for few clusters.

All corrections act on the score of a cluster through its leverage H = D B⁻¹ Dᵀ V⁻¹, a matrix of the
size of the cluster. Since Dᵀ V⁻¹ f(H) = f(B_g B⁻¹) Dᵀ V⁻¹, the small matrix B_g B⁻¹ is enough:
(I-H)⁻¹ becomes B (B - B_g)⁻¹, and (I-H)^-½ becomes (I - B_g B⁻¹)^-½.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.gee_equations import Solved
from simtrack.inference.model_algebra import cholesky, forward, inverse, symmetric_eigen

__all__ = ["BOUND", "covariances", "largest_share"]

Floats = NDArray[np.float64]
#: Fay and Graubard's limit to the leverage of a cluster.
BOUND = 0.75


def covariances(solved: Solved) -> dict[str, Floats]:
    """Give all five covariances by name; NaN where a cluster alone determines a coefficient.

    References
    ----------
    Liang and Zeger (1986), Biometrika 73, 13-22, eq. 7 (sandwich). Mancl and DeRouen (2001),
    Biometrics 57, 126-134. Kauermann and Carroll (2001), JASA 96, 1387-1396. Fay and Graubard
    (2001), Biometrics 57, 1198-1206, with b = .75.
    """
    whole = solved.information.sum(axis=0)
    lower = cholesky(whole)
    bread = inverse(lower)
    return {
        "model": bread,
        "sandwich": _outer(bread, solved.score),
        "mancl-derouen": _outer(bread, _mancl_derouen(solved, whole)),
        "kauermann-carroll": _outer(bread, _kauermann_carroll(solved, lower)),
        "fay-graubard": _outer(bread, _fay_graubard(solved, bread)),
    }


def largest_share(solved: Solved) -> tuple[float, int]:
    """Which cluster carries most of the information on some combination of coefficients?

    Gives the largest eigenvalue of B⁻¹ B_g over clusters, from 1/G to 1, and its cluster.
    """
    lower = cholesky(solved.information.sum(axis=0))
    shares = []
    for part in solved.information:
        half = forward(lower, part.T)
        shares.append(float(symmetric_eigen(_symmetric(forward(lower, half.T)))[0].max()))
    place = int(np.argmax(shares))
    return shares[place], place


def _outer(bread: Floats, score: Floats) -> Floats:
    turned = np.einsum("ij,gj->gi", bread, score)
    return np.asarray(np.einsum("gi,gj->ij", turned, turned))


def _mancl_derouen(solved: Solved, whole: Floats) -> Floats:
    rest = inverse(cholesky(whole - solved.information))
    return np.asarray(np.einsum("ij,gjk,gk->gi", whole, rest, solved.score))


def _kauermann_carroll(solved: Solved, lower: Floats) -> Floats:
    """With B = L Lᵀ and M = L⁻¹ B_g L⁻ᵀ the factor is L (I - M)^-½ L⁻¹."""
    out = np.empty_like(solved.score)
    for g, (part, score) in enumerate(zip(solved.information, solved.score, strict=True)):
        half = forward(lower, part.T)  # rows: L⁻¹ times the columns of B_g
        values, vectors = symmetric_eigen(_symmetric(forward(lower, half.T)))
        grown = np.where(values < 1.0 - 1e-12, 1.0 - values, np.nan) ** -0.5
        turned = forward(lower, score)
        turned = np.einsum("ij,j,kj,k->i", vectors, grown, vectors, turned)
        out[g] = np.einsum("ij,j->i", lower, turned)
    return out


def _fay_graubard(solved: Solved, bread: Floats) -> Floats:
    leverage = np.einsum("gij,ji->gi", solved.information, bread)
    return np.asarray(solved.score / np.sqrt(1.0 - np.minimum(BOUND, leverage)))


def _symmetric(matrix: Floats) -> Floats:
    return np.asarray(0.5 * (matrix + matrix.T))
