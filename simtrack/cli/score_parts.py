"""The parts of a score beside its rates: comparison, missing scores, pass@k, as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, get_args

from simtrack.options import MissingPolicy

if TYPE_CHECKING:
    from simtrack.analysis import Sensitivity
    from simtrack.analysis.families import TestFamily
    from simtrack.analysis.pass_rates import PassRates
    from simtrack.analysis.score import Score
    from simtrack.answer import Answer
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


def comparison_text(found: TestFamily) -> str:
    """Say which level is higher, by how much, and whether it may be chance."""
    from simtrack.report.table import number, visible

    row, v = found.rows[0], found.answer
    ends = "no interval"
    if v.low is not None and v.high is not None:
        ends = f"{v.low:+.4f} to {v.high:+.4f}, {v.extra.get('interval', '')}"
    a, b = visible(found.a), visible(found.b)
    lines = [
        f"{a} minus {b}, paired by {found.cluster}:",
        f"  difference {signed(v.estimate)} ({ends}), mean over {row.clusters} clusters that have "
        "both",
        f"  {found.method} p {_chance(v)}",
    ]
    more = {n: _real(v.extra.get(n)) for n in
            ("se", "t_low", "t_high", "pooled_difference", "pooled_se", "unpaired_se")}  # fmt: skip
    if more["se"] is not None:
        t = (
            ""
            if more["t_low"] is None
            else f"{signed(more['t_low'])} to {signed(more['t_high'])}, "
        )
        lines.append(f"  cluster t {t}se {number(more['se'])}; without pairing "
                     f"{number(more['unpaired_se'])}")  # fmt: skip
    if more["pooled_difference"] is not None:
        lines.append(f"  pooled over trials {signed(more['pooled_difference'])}, se "
                     f"{number(more['pooled_se'])}")  # fmt: skip
    return "\n".join(lines)


def _real(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


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
            v, of = part.comparison.answer, f" of {part.metric}" if part.metric else ""
            other += [] if _is_number(v.estimate) else [f"the difference{of}"]
            other += [] if v.pvalue is not None else [f"the p{of}"]
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
    title = (
        "Any (pass@k) and all (pass^k) of k trials; tasks weigh alike, bounded-mean of clusters:"
    )
    return Table(title, heads, rows, frozenset((*by, "too few trials")))


def _chance(v: Answer) -> str:
    if v.pvalue is None:
        return f"refused: {v.refused}" if v.refused else "not given"
    mcse, floor = _real(v.extra.get("mcse")), v.extra.get("floor")
    if v.exact is None:
        how = "a certain upper bound, see the notes" if mcse is None else (
            f"Monte Carlo, standard error {mcse:.1g}")  # fmt: skip
        return f"{v.pvalue:.6g} ({how})"
    short = f" = {v.exact}" if 1 < v.exact.denominator <= SHORT else ""
    least = (
        f"; no smaller than {float(floor):.6g} is possible" if isinstance(floor, Fraction) else ""
    )
    return f"{v.pvalue:.6g}{short} (exact{least})"


def signed(value: float | None) -> str:
    """Format a difference with its sign."""
    return "–" if value is None else f"{value:+.4f}"
