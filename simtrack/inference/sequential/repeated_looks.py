"""What looking again and again costs: exact chances of stopping for any rule on one stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from simtrack.errors import InputError
from simtrack.options import Computation, Guarantee
from simtrack.validate import decimal_fraction, integer

__all__ = ["RepeatedLooks", "repeated_looks"]


@dataclass(frozen=True, slots=True)
class RepeatedLooks:
    """How often does the rule stop, where, and after how many trials?

    Attributes
    ----------
    p : Fraction
        The true share of passes.
    stopped : dict of str to Fraction
        The chance of stopping with each label, at any look.
    never : Fraction
        The chance of reaching the last look without a stop.
    expected_n : Fraction
        Expected number of trials, those of runs without a stop included.
    looks : tuple of int
    """

    p: Fraction
    stopped: dict[str, Fraction]
    never: Fraction
    expected_n: Fraction
    looks: tuple[int, ...]
    computation: Computation = "enumeration"
    guarantee: Guarantee = "finite-sample"

    def __repr__(self) -> str:
        shares = ", ".join(f"{label} {float(x):.6g}" for label, x in self.stopped.items())
        return f"RepeatedLooks({len(self.looks)} looks, {shares or 'never stops'})"


def repeated_looks(
    looks: Sequence[int],
    stop: Callable[[int, int], str | None],
    *,
    p: Fraction | float | str = Fraction(1, 2),
) -> RepeatedLooks:
    """How often does a rule that looks again and again stop, if the true share of passes is `p`?

    With `p` at its null value this is the true error of a test that is repeated as data come in:
    far more than the level of one look.

    Parameters
    ----------
    looks : sequence of int
        Numbers of trials after which the rule looks, ascending.
    stop : callable
        stop(trials, passes) gives a label ("reject", "futile") or None to go on.
    p : Fraction, float or str, 0 to 1
        A float is taken as typed.

    Notes
    -----
    Paths are counted in integers, and every count is weighted by p^s (1-p)^(n-s): exact.

    References
    ----------
    Armitage, McPherson and Rowe (1969), JRSS A 132, 235-244, section 2.

    Examples
    --------
    Five looks at a fair coin, stopping at a two-sided sign test of .1 or less:

    >>> from simtrack.inference.exact.sign_test import sign_test_counts
    >>> repeated_looks(
    ...     [5, 10, 15, 20, 25],
    ...     lambda n, s: "reject" if sign_test_counts(s, n - s).pvalue <= 0.1 else None,
    ... )
    RepeatedLooks(5 looks, reject 0.124255)
    """
    at = [integer("looks", n, 1) for n in looks]
    if not at or any(b <= a for a, b in pairwise(at)):
        raise InputError("looks", "ascending numbers of trials, at least one", list(looks))
    share = decimal_fraction("p", p)
    if not 0 <= share <= 1:
        raise InputError("p", "from 0 to 1", p)
    stopped: dict[str, Fraction] = {}
    expected, paths, wanted = Fraction(0), {0: 1}, set(at)
    for n in range(1, at[-1] + 1):
        paths = _one_more(paths)
        if n not in wanted:
            continue
        for s in sorted(paths):
            label = stop(n, s)
            if label is not None:
                chance = paths.pop(s) * share**s * (1 - share) ** (n - s)
                stopped[label] = stopped.get(label, Fraction(0)) + chance
                expected += n * chance
    never = 1 - sum(stopped.values(), Fraction(0))
    return RepeatedLooks(share, stopped, never, expected + at[-1] * never, tuple(at))


def _one_more(paths: dict[int, int]) -> dict[int, int]:
    """Count the paths to each number of passes after one more trial."""
    longer: dict[int, int] = {}
    for s, count in paths.items():
        longer[s] = longer.get(s, 0) + count
        longer[s + 1] = longer.get(s + 1, 0) + count
    return longer
