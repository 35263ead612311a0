"""`simtrack test`: does one level do better than another, group by group, beyond chance?"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

from simtrack.cli.parsing import method_options, one_output
from simtrack.cli.reading import LogOptions, log_options, read_records, split_names, strict_option
from simtrack.cli.score_parts import SHORT, signed
from simtrack.cli.table_parts import codes_of, folded_notes, tell
from simtrack.errors import Finding, InputError
from simtrack.note import Note
from simtrack.options import Alternative

if TYPE_CHECKING:
    from simtrack.analysis import TestFamily, TestRow
    from simtrack.analysis.families import TestAdjustment
    from simtrack.answer import Answer
    from simtrack.report.table import Table

_EPILOG = """\b
Examples:
  simtrack test a.eval b.eval --compare openai/gpt-4o anthropic/claude
  simtrack test logs/*.eval --compare full ablated --by model --adjust holm
  simtrack test logs/*.eval --compare full ablated --by model,stage --adjust max-t
  simtrack test trials.csv --compare x y --method mcnemar --on id,epoch
  simtrack test trials.csv --compare new old --margin 0.05 --alternative greater
  simtrack test graded.csv --compare judge1 judge2 --method cohen-kappa --option weights=linear
\b
Every group of --by is a hypothesis; together they are the family that --adjust pays for. A group
that cannot be tested keeps its place and counts. Methods: simtrack methods test, and difference,
contrast, bayes, agreement (the levels are raters, the units what they rate) and rank.
"""
_ADJUSTMENTS = ("none", "bonferroni", "holm", "hochberg", "benjamini-hochberg",
                "benjamini-yekutieli", "max-t")  # fmt: skip


@click.command(epilog=_EPILOG)
@log_options
@click.option(
    "--compare",
    "levels",
    nargs=2,
    required=True,
    metavar="A B",
    help="Two levels, first minus second.",
)
@click.option("--factor", help="The column that they are levels of [found by the levels].")
@click.option("--method", default="sign-flip", help="A method for two levels [sign-flip].")
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE",
              help="What the method takes besides, as prior=0.5,0.5.")  # fmt: skip
@click.option(
    "--on", "on", multiple=True, help="What names a trial, to pair single trials [id, repetition]."
)
@click.option("--strata", help="The column of strata, for methods that take them.")
@click.option(
    "--alternative", type=click.Choice(get_args(Alternative)), default="two-sided",
    help="greater: the first is higher [two-sided].",
)  # fmt: skip
@click.option(
    "--adjust", type=click.Choice(_ADJUSTMENTS), default="none",
    help="Adjust the p-values for their family [none].",
)  # fmt: skip
@click.option(
    "--margin", metavar="M|LOW:HIGH",
    help="The smallest difference that matters: test equivalence (with --alternative greater, "
         "non-inferiority of the first).",
)  # fmt: skip
@click.option("--family", metavar="N|COL", help="Hypotheses declared, or columns of families.")
@click.option("--estimand", help="A named estimand, such as adherence [the plain rate].")
@click.option("--level", type=float, default=0.95, help="Confidence level; alpha is 1 - it [0.95].")
@strict_option
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print one line a hypothesis as CSV.")
def test(
    logs: tuple[str, ...],
    reading: LogOptions,
    levels: tuple[str, str],
    factor: str | None,
    method: str,
    options: tuple[str, ...],
    on: tuple[str, ...],
    strata: str | None,
    alternative: Alternative,
    adjust: TestAdjustment | Literal["none"],
    margin: str | None,
    family: str | None,
    estimand: str | None,
    level: float,
    strict: bool,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Test two levels in every group of LOGS: files, folders or globs.

    The default is the exact sign-flip test on cluster differences, which keeps repeated trials of
    one task together, with the interval that inverts it. A test that has too few clusters to
    reject is refused. With --margin it is tested that the two differ by less than that.
    """
    from simtrack.analysis.testing import test as compute

    one_output(json=as_json, csv=as_csv)
    found = compute(
        read_records(logs, reading),
        *levels,
        factor=factor,
        by=reading.groups,
        method=method,
        alternative=alternative,
        adjust=None if adjust == "none" else adjust,
        family=_family(family),
        estimand=estimand,
        cluster=reading.cluster,
        on=split_names(on),
        strata=strata,
        level=level,
        margin=None if margin is None else _margin(margin),
        missing_cluster=reading.missing_cluster,
        options=method_options(options),
    )
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
    elif as_csv:
        print(_csv(found), end="")
    else:
        _show(found)
    refused = sum(bool(row.answer.refused) for row in found.rows)
    if strict and refused:
        raise Finding(f"--strict: {refused} of {len(found.rows)} tests are refused.")


def _margin(text: str) -> float | tuple[float, float]:
    """Read "0.05" or "-0.05:0.1"."""
    low, sign, high = text.partition(":")
    try:
        return (float(low), float(high)) if sign else float(low)
    except ValueError:
        rule = "a number such as 0.05, or two such as -0.05:0.1"
        raise InputError("--margin", rule, repr(text)) from None


def _family(text: str | None) -> int | list[str] | None:
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        return split_names((text,))


def _show(found: TestFamily) -> None:
    _table(found).show()
    sides = "two-sided" if found.alternative == "two-sided" else f"one-sided ({found.alternative})"
    level = found.level
    if found.margin is not None:
        alpha = round(1.0 - level, 12)
        level = round(1.0 - 2.0 * alpha, 12)
        each = "each side tested " if len(found.margin.nulls) == 2 else ""
        sides = f"that the difference is {found.margin.words}, {each}at alpha {alpha:g}"
    kinds = dict.fromkeys(str(row.answer.extra.get("interval", "")) for row in found.rows)
    ends = (
        f"{100 * level:g} % intervals, two-sided: {', '.join(filter(None, kinds))}"
        if any(kinds)
        else ""
    )
    print(f"p {sides}; clusters: {found.cluster}" + (f"; {ends}" if ends else ""))
    if found.adjust is not None:
        sizes = [f"{n}" if name == "all" else f"{name}: {n}" for name, n in found.sizes.items()]
        print(f"adjusted by {found.adjust}, family of {', '.join(sizes)}: {found.controls}")
    for row in found.rows:
        if row.answer.refused:
            name = "/".join(row.labels)
            tell(f"Refused [{name}]" if name else "Refused", row.answer.refused)
    if any(loss.kind != "unpaired" for loss in found.losses):
        told: dict[tuple[str, str], int] = {}
        for loss in found.losses:
            if loss.kind != "unpaired":
                told[loss.kind, loss.reason] = told.get((loss.kind, loss.reason), 0) + loss.n
        for (kind, reason), n in told.items():
            tell("Left out", f"{n} {kind}: {reason}")
    for note in _notes(found):
        tell("Note", note)


def _table(found: TestFamily) -> Table:
    from simtrack.report.table import Table, number

    what = found.quantity
    extra = ("adjusted",) if found.adjust is not None else ()
    told = ("verdict",) if found.margin is not None else ()
    heads = (*found.by, "clusters", "trials", "unpaired", what, "low", "high", "p", "exact",
             "floor", *extra, *told)  # fmt: skip
    rows = []
    for row in found.rows:
        v = row.answer
        show = signed if what in {"difference", "median"} else number
        adjusted = (_p(row.adjusted, row),) if extra else ()
        rows.append((
            *row.labels, str(row.clusters), f"{row.trials_a}+{row.trials_b}", str(row.unpaired),
            show(v.estimate), show(v.low), show(v.high), _p(v.pvalue, row), _exact(v),
            _floor(v), *adjusted, *(str(v.extra.get(name, "refused")) for name in told),
        ))  # fmt: skip
    joined = {"difference": "minus", "median": "minus", "d": "minus", "h": "minus",
              "ratio": "over", "auroc": "above"}.get(what, "and")  # fmt: skip
    title = f"{found.a} {joined} {found.b}, {found.method}:"
    return Table(title, heads, rows, frozenset((*found.by, *told)))


def _p(value: float | None, row: TestRow) -> str:
    if value is None:
        return "refused" if row.answer.refused else "–"
    return f"{value:.6g}"


def _floor(found: Answer) -> str:
    floor: Any = found.extra.get("floor")
    return "–" if floor is None else f"{float(floor):.2g}"


def _exact(found: Answer) -> str:
    if found.exact is None or found.exact.denominator > SHORT:
        mcse = found.extra.get("mcse")
        return "" if mcse is None else f"±{mcse:.1g}"
    return str(found.exact)


def _notes(found: TestFamily) -> list[str]:
    """List the notes of the family, then those of groups, equal ones together."""
    groups: dict[Note, list[str]] = {}
    for row in found.rows:
        for note in row.answer.notes:
            groups.setdefault(note, []).append("/".join(row.labels))
    return [*dict.fromkeys(found.notes), *folded_notes(groups, len(found.rows))]


def _csv(found: TestFamily) -> str:
    from simtrack.report.table import Table

    heads = (*found.by, "clusters", "trials_a", "trials_b", "unpaired", "difference", "low",
             "high", "interval", "pvalue", "exact", "floor", "refused", "adjusted",
             "family", *(("verdict",) if found.margin is not None else ()))  # fmt: skip
    rows = []
    for row in found.rows:
        cells = []
        for head in heads[len(found.by) :]:
            name = "estimate" if head == "difference" else head
            value: Any = next((getattr(x, name) for x in (row, row.answer) if hasattr(x, name)),
                              row.answer.extra.get(name, ""))  # fmt: skip
            if isinstance(value, Fraction) and head == "floor":
                value = float(value)
            cells.append("" if value is None else str(value))
        rows.append((*row.labels, *cells, codes_of(row.answer.notes)))
    return Table("", (*heads, "notes"), rows).csv()
