"""`simtrack plan`: how many clusters and repetitions does a target power take?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from simtrack.cli.parsing import a_figure
from simtrack.cli.rehearse import Described, analysis_of, described, progress_line, rehearsal_of
from simtrack.errors import InputError

if TYPE_CHECKING:
    from simtrack.planning import Goal, Plan

_EPILOG = """\b
Examples:
  simtrack plan --rate 0.85 --drop 0.15 --icc 0.2 --over clusters=6:60
  simtrack plan study.toml --over clusters=6:60:2 --over repetitions=1,3,5 --usd-per-call 0.01
  simtrack plan study.toml --target 0.9 --budget 50 --figure front.png
\b
Every design in range is looked at, since power is a sawtooth: "first" is the smallest
that works, "from" the one from which all larger ones in range work.
"""
_DEFAULT = ("clusters=6:60",)
_WIDEST = 5_000


@click.command(epilog=_EPILOG)
@described
@click.option("--target", type=float, help="Target power [0.8].")
@click.option("--over", "ranges", multiple=True, metavar="NAME=RANGE",
              help="clusters or repetitions: A:B, A:B:STEP or A,B,C [clusters=6:60].")  # fmt: skip
@click.option("--alpha", type=float, help="Level of the test [0.05].")
@click.option("--mcse", type=float, help="Monte Carlo standard error of a power [0.01].")
@click.option("--usd-per-call", type=float, help="Price of one trial.")
@click.option("--budget", type=float, help="Most dollars to spend.")
@click.option("--figure", type=click.Path(dir_okay=False), help="Draw to a .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def plan(
    what: Described,
    target: float | None,
    ranges: tuple[str, ...],
    alpha: float | None,
    mcse: float | None,
    usd_per_call: float | None,
    budget: float | None,
    figure: str | None,
    as_json: bool,
) -> None:
    """The smallest or cheapest design with the target power: STUDY.toml, or two arms by options."""
    from simtrack.planning import plan as compute
    from simtrack.price import Price
    from simtrack.runs.rehearsal import goal_of

    study = rehearsal_of(what)
    analysis, said = analysis_of(study), study.plan
    over = _over(said.over, ranges)
    if figure:
        a_figure(figure)
    goal = goal_of(study, said.alpha if alpha is None else alpha, said.alternative)
    found = compute(
        study.agent, study.design, analysis, over=over, goal=goal, seed=what.seed,
        target_power=said.target_power if target is None else target,
        price=study.price if usd_per_call is None else Price(usd_per_call),
        budget_usd=said.budget_usd if budget is None else budget,
        mcse=said.mcse if mcse is None else mcse, max_draws=said.max_draws, block=said.block,
        exact=said.exact, progress=progress_line("plan"),
    )  # fmt: skip
    if figure:
        from simtrack.plots import plan_plot, save_figure

        save_figure(plan_plot(found), figure)
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
    else:
        _show(goal, found)


def _over(stated: Mapping[str, list[int]], texts: tuple[str, ...]) -> Mapping[str, list[int]]:
    """Take the ranges of the options, else those of [plan.over], else the default."""
    if stated and not texts:
        return stated
    ranges = [_range(text) for text in texts or _DEFAULT]
    names = [name for name, _ in ranges]
    if len(set(names)) < len(names):
        raise InputError("--over", "given once for each of clusters and repetitions", names)
    return dict(ranges)


def _range(text: str) -> tuple[str, list[int]]:
    """Read "clusters=6:60", "clusters=6:60:2" or "repetitions=1,3,5"."""
    name, sign, values = text.partition("=")
    try:
        if not sign:
            raise ValueError
        if ":" in values:
            low, high, step, *more = [int(v) for v in values.split(":")] + [1]
            if more not in ([], [1]) or step < 1 or high < low or high - low > _WIDEST * step:
                raise ValueError
            return name.strip(), list(range(low, high + 1, step))
        return name.strip(), [int(v) for v in values.split(",")]
    except ValueError:
        rule = (
            "of the form clusters=6:60, clusters=6:60:2 or repetitions=1,3,5, "
            f"ascending, at most {_WIDEST:,} steps"
        )
        raise InputError("--over", rule, repr(text)) from None


def _show(goal: Goal, found: Plan) -> None:
    from simtrack.report.table import Table

    print(f"Target power {found.target_power:g}: {found.analysis}, {goal.words()}")
    if found.why is not None:
        print(f"Impossible in range: {found.why}")
    for name, point in (("first that works", found.first), ("all work from", found.all_larger),
                        ("cheapest", found.cheapest if found.first is None else None)):  # fmt: skip
        if point is not None:
            print(f"  {name:<17} {_place(point.settings)}: power {point.power:.3f}"
                  f"{'' if point.mcse is None else f' ± {point.mcse:.3f}'}, {point.trials:,} trials"
                  f"{'' if point.cost_usd is None else f', ${point.cost_usd:,.2f}'}")  # fmt: skip
    rows = [
        (*(str(v) for _, v in p.settings), f"{p.trials:,}",
         "–" if p.cost_usd is None else f"{p.cost_usd:,.2f}", f"{p.power:.3f}",
         "exact" if p.mcse is None else f"{p.mcse:.3f}")
        for p in found.front
    ]  # fmt: skip
    if rows:
        print()
        heads = (*found.over, "trials", "$", "power", "mcse")
        Table("Designs to which no other is better in both cost and power:", heads, rows).show()
    for note in found.notes:
        print(f"Note: {note}")


def _place(settings: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{value} {name}" for name, value in settings)
