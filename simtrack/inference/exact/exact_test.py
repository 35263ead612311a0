"""What every test with an exact p-value returns, and the law of fair coins."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

from simtrack.inference.numerics.special import beta_cdf
from simtrack.inference.numerics.ties import as_pvalue
from simtrack.options import Alternative, Computation, Guarantee
from simtrack.validate import decimal_fraction, open_unit

__all__ = ["MOST_COINS", "ExactTest", "fair_coin_tail", "sides_of", "too_high_floor"]

#: A p-value over 2^n is given as a fraction up to this n, and nobody reads 300 digits more.
MOST_COINS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExactTest:
    """How unusual is what was seen, if chance alone had assigned it?

    Attributes
    ----------
    statistic : float or None
        What the test speaks of; None where nothing was compared, with the reason in `notes`.
    alternative : str
        "two-sided", "greater" or "less".
    pvalue : float, in (0, 1]
    exact : Fraction or None
        The p-value as a fraction; None by Monte Carlo, by a closed form in floats, or over more
        than 2^1000.
    floor : Fraction
        The smallest p-value that a test of these sizes can give.
    mcse, n_resamples, seed
        Monte Carlo only: standard error of the p-value, draws and seed.
    notes : tuple of str
    """

    statistic: float | None
    alternative: Alternative
    pvalue: float
    exact: Fraction | None
    floor: Fraction
    computation: Computation
    guarantee: Guarantee = "finite-sample"
    notes: tuple[str, ...] = ()
    mcse: float | None = None
    n_resamples: int | None = None
    seed: int | None = None

    schema: ClassVar[str] = "simtrack.exact-test/1"

    def refusal(self, alpha: float = 0.05) -> str | None:
        """Say why this test cannot reach `alpha`, or None if it can."""
        return too_high_floor(self.floor, alpha, self.alternative, self._sizes())

    def to_dict(self) -> dict[str, object]:
        """Give plain values, with the p-value as a fraction where it is exact."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        own["pvalue_exact"] = None if self.exact is None else str(own["exact"])
        own["floor"] = float(self.floor)
        own["notes"] = list(self.notes)
        del own["exact"]
        return {"schema": self.schema} | own

    def _sizes(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.pvalue:.6g}, {self._sizes()})"


def too_high_floor(
    floor: Fraction, alpha: float, alternative: Alternative, sizes: str
) -> str | None:
    """Say that no p-value of a test of these sizes can reach `alpha`; None if one can."""
    open_unit("alpha", alpha)
    if floor <= decimal_fraction("alpha", alpha):
        return None
    side = "two" if sides_of(alternative) == 2 else "one"
    return (
        f"the smallest {side}-sided p of {sizes} is {floor} = {float(floor):.4g}, above {alpha:g}"
    )


def sides_of(alternative: Alternative) -> int:
    """Give 2 for a two-sided test, else 1."""
    return 2 if alternative == "two-sided" else 1


def fair_coin_tail(heads: int, tosses: int) -> tuple[Fraction | None, float]:
    """How likely are at most `heads` heads in `tosses` of a fair coin?

    Returns
    -------
    Fraction or None, float
        None beyond 1,000 tosses, where the float is an incomplete beta function, right to 1e-12 of
        itself; below 1e-300 it is given as 1e-300.

    Examples
    --------
    >>> fair_coin_tail(1, 4)
    (Fraction(5, 16), 0.3125)
    """
    if heads < 0 or heads >= tosses:
        whole = Fraction(int(heads >= 0))
        return whole, float(whole)
    if tosses > MOST_COINS:
        return None, as_pvalue(beta_cdf(0.5, tosses - heads, heads + 1))
    ways = term = 1
    for k in range(heads):
        term = term * (tosses - k) // (k + 1)
        ways += term
    tail = Fraction(ways, 1 << tosses)
    return tail, float(tail)
