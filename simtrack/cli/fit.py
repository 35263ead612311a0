"""`simtrack fit`: mixed models and estimating equations on clustered scores."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, get_args

import click

from simtrack.cli.parsing import assignments
from simtrack.cli.reading import LogOptions, log_options, read_records, split_names
from simtrack.errors import InputError
from simtrack.options import Correlation, GeeCovariance, MixedCriterion

if TYPE_CHECKING:
    from simtrack.analysis.fit import Fit, Fits
    from simtrack.inference.models.coefficients import Coefficients

_EPILOG = """\b
Examples:
  simtrack fit trials.csv --formula "stage * arm" --model gee --model glmm --cluster scenario
  simtrack fit scored.csv --design stage-gap --where view=strict --by model --cluster scenario \\
      --model lmm --slope intermediate
  simtrack fit run.eval --formula arm --reference arm=baseline --json
\b
gee    logistic estimating equations: odds averaged over clusters; corrected for few clusters
lmm    linear mixed model: differences of rates; --slope where effects differ by cluster
glmm   logistic mixed model by adaptive quadrature: odds within a cluster, averaged ones beside
two-way  logistic regression, errors clustered by the clusters and by --crossed
firth  penalised logistic regression, for separated data; profile intervals that take trials as
       independent, and errors by cluster in rows of their own
"""


def _with_value(_: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Refuse another option in the place of a value that was forgotten."""
    if value is not None and value.startswith("-"):
        raise InputError(f"--{option.name}", "followed by its value", f"the option {value}")
    return value


@click.command(epilog=_EPILOG)
@log_options
@click.option("--formula", callback=_with_value,
              help="Columns joined by +, : and *, as stage * arm. Left of ~ stands nothing, rate, "
              "value, or the name of the score: its column, metric or estimand.")  # fmt: skip
@click.option("--design", callback=_with_value,
              help="A named design instead: stage-gap, pooled-stage-gap.")  # fmt: skip
@click.option("--model", "models", multiple=True, metavar="NAME",
              help="gee, lmm, glmm, firth, two-way, or a name of simtrack methods model; "
              "repeatable [gee].")  # fmt: skip
@click.option("--estimand", callback=_with_value,
              help="What is a success among which trials [passes over trials].")  # fmt: skip
@click.option("--reference", multiple=True, metavar="COL=LEVEL", help="The level to compare with.")
@click.option("--numeric", multiple=True, help="A column whose labels are numbers.")
@click.option("--slope", metavar="COEFFICIENT", callback=_with_value,
              help="The coefficient that differs by cluster too (lmm, glmm), as printed: "
              "model[gpt]; or its column, if that has two levels: model.")  # fmt: skip
@click.option("--crossed", callback=_with_value,
              help="A factor crossed with the clusters (glmm, two-way).")  # fmt: skip
@click.option("--correlation", type=click.Choice(get_args(Correlation)), default="exchangeable",
              help="Working correlation of gee [exchangeable].")  # fmt: skip
@click.option(
    "--covariance", type=click.Choice(get_args(GeeCovariance)), default="kauermann-carroll",
    help="Standard errors of gee [kauermann-carroll].",
)  # fmt: skip
@click.option("--criterion", type=click.Choice(get_args(MixedCriterion)), default="REML",
              help="Of lmm [REML].")  # fmt: skip
@click.option("--nodes", type=int, help="Quadrature nodes of glmm; 1 is Laplace.")
@click.option("--leave-one-out", "without_each", is_flag=True, help="Refit without each cluster.")
@click.option("--level", type=float, default=0.95, help="Confidence level [0.95].")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def fit(logs: tuple[str, ...], reading: LogOptions, as_json: bool, **given: Any) -> None:
    """Fit models to the trials in LOGS: how do scores depend on a design, given clusters?"""
    from simtrack.analysis.fit import fit as compute

    mapped = reading.mapped
    found = compute(
        read_records(logs, reading),
        given["formula"],
        models=given["models"] or ("gee",),
        by=reading.groups,
        cluster=reading.cluster,
        missing_cluster=reading.missing_cluster,
        reference=assignments("--reference", given["reference"]) or None,
        numeric=split_names(given["numeric"]),
        score=mapped.get("value", mapped.get("outcome")),
        **{name: given[name] for name in _PASSED},
    )
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
    else:
        _show(found)


_PASSED = ("design", "estimand", "slope", "crossed", "correlation", "covariance",
           "criterion", "nodes", "without_each", "level")  # fmt: skip


def _show(found: Fits) -> None:
    from simtrack.report.table import Table, number

    print(f"{found.what} ~ {found.formula.rsplit('~', maxsplit=1)[-1].strip()}; clusters: "
          f"{found.cluster}")  # fmt: skip
    print()
    heads = (*found.by, "fit", "coefficient", "estimate", "se", "low", "high", "df", "p (t)",
             "p (z)", "odds ratio")  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for row in found.rows:
        for title, c in _readings(row):
            for j, name in enumerate(c.names):
                low, high, p_normal = float(c.low[j]), float(c.high[j]), float(c.pvalue_normal[j])
                if title == "firth":
                    low, high, p_normal = _profile(row, j)
                ratio = _odds(float(c.estimate[j])) if c.scale == "log odds" else None
                p_t = math.nan if title == "firth" else float(c.pvalue[j])
                rows.append((
                    *row.labels, title, name, number(_or_none(c.estimate[j])),
                    number(_or_none(c.standard_error[j])), number(_or_none(low)),
                    number(_or_none(high)), _df(float(c.df[j])), _p(p_t), _p(p_normal),
                    "–" if ratio is None else f"{ratio:.4g}",
                ))  # fmt: skip
    text = frozenset((*found.by, "fit", "coefficient"))
    Table(f"{100 * found.level:g} % intervals with Student's t:", heads, rows, text).show()
    print()
    checks: list[tuple[str, ...]] = [
        (*row.labels, row.model, row.result.status, f"{row.result.n:.0f}",
         str(len(row.table.clusters)), _spread(row))
        for row in found.rows
    ]  # fmt: skip
    heads = (*found.by, "fit", "status", "trials", "clusters", "between clusters")
    Table("Diagnostics:", heads, checks,
          frozenset((*found.by, "fit", "status", "between clusters"))).show()  # fmt: skip
    _show_marginal(found)
    _show_without(found)
    for kind, n in found.losses.by_kind().items():
        print(f"Left out: {n} {kind}")
    for note in _notes(found):
        print(f"Note: {note}")


def _readings(row: Fit) -> list[tuple[str, Coefficients]]:
    """Give the rows of one fit: Firth's have independent trials first, then the clusters."""
    found: list[tuple[str, Coefficients]] = [(row.model, row.result.coefficients)]
    clustered = getattr(row.result, "clustered", None)
    if clustered is not None:
        found.append(("firth, clustered", clustered))
    return found


def _profile(row: Fit, j: int) -> tuple[float, float, float]:
    """Give the ends of Firth's profile interval, and the p-value of its likelihood ratio."""
    ends = (getattr(row.result, f"profile_{name}") for name in ("low", "high", "pvalue"))
    low, high, pvalue = (float(values[j]) for values in ends)
    return low, high, pvalue


def _show_marginal(found: Fits) -> None:
    """Print the population-averaged log odds beside the conditional ones of a logistic model."""
    from simtrack.report.table import Table, number

    rows: list[tuple[str, ...]] = []
    for row in found.rows:
        marginal = getattr(row.result, "marginal", None)
        if marginal is None:
            continue
        c = marginal.log_odds
        rows += [
            (*row.labels, row.model, name, number(_or_none(c.estimate[j])),
             number(_or_none(c.standard_error[j])), number(_or_none(c.low[j])),
             number(_or_none(c.high[j])))
            for j, name in enumerate(c.names)
        ]  # fmt: skip
    if not rows:
        return
    print()
    heads = (*found.by, "fit", "effect", "log odds", "se", "low", "high")
    text = frozenset((*found.by, "fit", "effect"))
    Table("Averaged over clusters:", heads, rows, text).show()


def _show_without(found: Fits) -> None:
    """Print between which values each coefficient moves when one cluster is left out."""
    from simtrack.report.table import Table, number

    rows: list[tuple[str, ...]] = []
    for row in found.rows:
        if row.without is None:
            continue
        for j, name in enumerate(row.without.full.names):
            low, high = row.without.range(name)
            rows.append((
                *row.labels, row.model, name, number(_or_none(low)), number(_or_none(high)),
                row.without.most_influential(name) or "–",
                number(_or_none(row.without.jackknife_error[j])),
            ))  # fmt: skip
    if not rows:
        return
    print()
    heads = (*found.by, "fit", "coefficient", "least", "most", "furthest without", "jackknife se")
    text = frozenset((*found.by, "fit", "coefficient", "furthest without"))
    Table("Without each cluster in turn:", heads, rows, text).show()


def _spread(row: Fit) -> str:
    """Say how much clusters differ, in the words of the model."""
    result = row.result
    icc = getattr(result, "icc", None)
    if icc is not None:
        return f"ICC {icc:.4f}"
    alpha = getattr(result, "alpha", None)
    if alpha is not None:
        return f"correlation {alpha:.4f}"
    names = getattr(result, "random_names", ())
    if names:
        sds = getattr(result, "random_sd", ())
        if not all(math.isfinite(sd) for sd in sds):
            return "–"
        return ", ".join(f"SD {n} {sd:.4f}" for n, sd in zip(names, sds, strict=True))
    spread = getattr(result, "random_covariance", None)
    if spread is not None and len(spread) == 2:
        sds = [math.sqrt(max(float(spread[k][k]), 0.0)) for k in (0, 1)]
        return f"SD intercept {sds[0]:.4f}, SD slope {sds[1]:.4f}"
    return "–"


def _notes(found: Fits) -> list[str]:
    groups: dict[str, list[str]] = {}
    for row in found.rows:
        for note in row.result.notes:
            groups.setdefault(note, []).append("/".join((*row.labels, row.model)))
    told = [
        f"{note} [{', '.join(names[:3])}{', …' if len(names) > 3 else ''}]"
        for note, names in groups.items()
    ]
    return [*dict.fromkeys(found.notes), *told]


def _odds(value: float) -> float | None:
    return math.exp(value) if math.isfinite(value) and value < 700 else None


def _or_none(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


def _df(value: float) -> str:
    return "–" if math.isnan(value) else "∞" if math.isinf(value) else f"{value:.1f}"


def _p(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4g}"
