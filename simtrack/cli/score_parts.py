"""The parts of a score beside its rates: comparison, missing scores, pass@k, as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

from simtrack.options import MissingPolicy

if TYPE_CHECKING:
    from simtrack.analysis import Comparison, Sensitivity
    from simtrack.analysis.pass_rates import PassRates
    from simtrack.analysis.score import Score
    from simtrack.report.table import Table

__all__ = [
    "SHORT",
    "comparison_text",
    "not_estimable",
    "pass_table",
    "sensitivity_table",
    "signed",
]

#: Exact p-values with a larger denominator are shown as decimals only.
SHORT = 10**7


def comparison_text(found: Comparison) -> str:
    """Say which level is higher, by how much, and whether it may be chance."""
    from simtrack.report.table import number, visible

    p = found.paired
    ends = "no interval" if p.low is None else f"{p.low:+.4f} to {p.high:+.4f}"
    flips = ""
    if found.sign_flip_low is not None:
        flips = f"; not rejected: {found.sign_flip_low:+.4f} to {signed(found.sign_flip_high)}"
    a, b = visible(found.a), visible(found.b)
    return "\n".join((
        f"{a} minus {b}, paired by {found.cluster}:",
        f"  difference {signed(p.difference)} ({ends}), se {number(p.se)}, "
        f"mean over {p.clusters} clusters that have both",
        f"  sign-flip p {_chance(found)}{flips}",
        f"  pooled over trials {signed(p.pooled_difference)}, se {number(p.pooled_se)}; "
        f"se without pairing {number(p.unpaired_se)}",
    ))  # fmt: skip


def not_estimable(found: Score, most: int = 4) -> list[str]:
    """Name what was asked for and has no number: rates, intervals, comparisons, pass@k."""
    from simtrack.logs.columns import listed

    rates, ends, other = [], [], []
    for part in found.metrics:
        estimates = {row.labels: row for row in part.estimates.rows}
        for line in part.accounting.rows:
            row = estimates.get(line.labels)
            name = "/".join(filter(None, (part.metric, *line.labels))) or "all trials"
            if row is None or not _is_number(row.rate):
                rates.append(name)
            elif not (_is_number(row.low) and _is_number(row.high)):
                ends.append(name)
        if part.comparison is not None:
            p, of = part.comparison.paired, f" of {part.metric}" if part.metric else ""
            other += [] if _is_number(p.difference) else [f"the difference{of}"]
            other += [] if part.comparison.pvalue is not None else [f"the p{of}"]
        short = [a for row in part.pass_k for a in row.at if a.not_estimable]
        other += [f"pass@{a.k} of {len(a.not_estimable)} tasks" for a in short]
    told = [f"{what} {listed(names, most)}" for what, names in
            (("rate of", rates), ("interval of", ends)) if names]  # fmt: skip
    return told + ([listed(other, most)] if other else [])


def _is_number(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def sensitivity_table(found: Sensitivity) -> Table:
    """Lay the rates under every policy for missing scores side by side, each with its interval."""
    from simtrack.report.table import Table, number

    policies: Sequence[Any] = get_args(MissingPolicy)
    heads = (*found.by, "planned", "scored", *policies)
    rows = []
    for row in found.rows:
        cells = []
        for policy in policies:
            rate = row.rate(policy)
            middle = number(rate.rate_low)
            if policy == "bounds":
                middle += f" to {number(rate.rate_high)}"
            cells.append(f"{middle} ({number(rate.low)}, {number(rate.high)})")
        rows.append((*row.labels, str(row.planned), str(row.scored), *cells))
    title = f"{found.estimand} if trials without a score are dropped, failed or passed:"
    return Table(title, heads, rows, frozenset((*found.by, *policies)))


def pass_table(by: Sequence[str], found: Sequence[PassRates]) -> Table:
    """Lay out pass@k and pass^k; tasks that are not estimable are named."""
    from simtrack.report.table import Table, number

    heads = (*by, "k", "tasks", "pass@k", "low", "high", "pass^k", "low", "high", "too few trials")
    rows = []
    for row in found:
        for at, hat in zip(row.at, row.hat, strict=True):
            short = ", ".join(at.not_estimable[:3]) + (", …" if len(at.not_estimable) > 3 else "")
            rows.append((
                *row.labels, str(at.k), str(at.tasks),
                *(number(x) for x in (at.value, at.low, at.high, hat.value, hat.low, hat.high)),
                f"{len(at.not_estimable)}: {short}" if short else "",
            ))  # fmt: skip
    title = "Any (pass@k) and all (pass^k) of k trials; tasks weigh alike, Wilson over clusters:"
    return Table(title, heads, rows, frozenset((*by, "too few trials")))


def _chance(found: Comparison) -> str:
    test = found.paired.test
    if found.pvalue is None or test is None:
        return "refused (see the notes)"
    shown = f"{found.pvalue:.6g}"
    if test.exact is None:
        if test.mcse is None:
            return f"{shown} (a certain upper bound, see the notes)"
        return f"{shown} (Monte Carlo, standard error {test.mcse:.1g})"
    short = f" = {test.exact}" if 1 < test.exact.denominator <= SHORT else ""
    return f"{shown}{short} (exact; no smaller than {float(test.floor):.6g} is possible)"


def signed(value: float | None) -> str:
    """Format a difference with its sign."""
    return "–" if value is None else f"{value:+.4f}"
