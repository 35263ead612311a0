"""`simtrack calibrate`: what will a stopping rule tell apart, how fast, and for how much?"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from simtrack.cli.parsing import a_figure, a_pair, one_output, read_text, two_floats
from simtrack.cli.sweep import print_sweep, rules_of
from simtrack.errors import DataError, InputError, SimtrackError
from simtrack.price import MOST_CLAUSES
from simtrack.validate import integer

if TYPE_CHECKING:
    from simtrack.price import Price
    from simtrack.probe import StoppingRule
    from simtrack.probe.calibration import Calibration
    from simtrack.probe.summary import Worst
    from simtrack.report.table import Table

_EPILOG = """\b
Examples:
  simtrack calibrate
  simtrack calibrate --k-max 50 --confidence 0.9 --truth 0.9,0.1 --truth 0.85,0.7
  simtrack calibrate rule.toml --clauses 200 --usd-per-call 0.002 --figure oc.png
  simtrack calibrate --k-max 20,30,40,50 --confidence 0.8,0.9 --usd-per-call 0.002
\b
RULE.toml holds any of: threshold, confidence, zero_band, k_min, k_max, prior,
prior_ablated; options override it. A truth is FULL,ABLATED: the true pass rates under
the full and under the ablated specification. Several values with
commas between give one line a rule, to choose from. Everything is exact; no simulation.
\b
A is the pass rate under the full text, B what the clause adds to it (full - ablated).
"bias B" is how far the plain estimate of B misses on average; "not conf." the probability
of an undecided end; q95 the rounds that 95 % of probes need at most; a truth is judged
when it lies at least the margin from where the true state changes.
"""


class _Given(TypedDict):
    """The options, as click gives them."""

    threshold: str | None
    confidence: str | None
    zero_band: str | None
    k_min: str | None
    k_max: str | None
    prior: str | None
    truths: tuple[str, ...]
    steps: int
    margin: str
    clauses: int
    usd_per_call: float | None
    usd_per_mtok: str | None
    prices: str | None
    model: str | None
    tokens: str | None
    protocol: bool
    figure: str | None


@click.command(epilog=_EPILOG)
@click.argument("rule", required=False, metavar="[RULE.toml]")
@click.option("--threshold", help="Pass rate that separates high from low [0.8].")
@click.option("--confidence", help="Posterior probability that decides a side [0.8].")
@click.option("--zero-band", help="Half-width of effects that count as zero [0.2].")
@click.option("--k-min", help="Fewest rounds [3].")
@click.option("--k-max", help="Most rounds, at most 200 [30].")
@click.option("--prior", help="Beta prior of both pass rates, as A,B [1,1].")
@click.option("--truth", "truths", multiple=True, help="A truth to look at: FULL,ABLATED.")
@click.option("--grid", "steps", type=int, default=20, help="Steps of the summary's grid [20].")
@click.option("--margin", default="0.05", help="Indifference zone around boundaries [0.05].")
@click.option("--clauses", type=int, default=1, help="Clauses to be probed [1].")
@click.option("--usd-per-call", type=float, help="Price of one call.")
@click.option("--usd-per-mtok", help="Prices of a million tokens read and written, as IN,OUT.")
@click.option(
    "--prices", metavar="FILE", help="Price table of models (TOML or JSON); with --model."
)
@click.option("--model", help="Which model of the price table answers the calls.")
@click.option("--tokens", help="Mean tokens read and written by a call, as IN,OUT.")
@click.option("--protocol", is_flag=True, help="Print the rule as a protocol, and no numbers.")
@click.option("--toml", "as_toml", is_flag=True, help="Print the rule as a TOML file to share.")
@click.option("--figure", type=click.Path(dir_okay=False), help="Draw to a .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the chosen truths as CSV.")
def calibrate(
    rule: str | None, as_json: bool, as_csv: bool, as_toml: bool, **given: Unpack[_Given]
) -> None:
    """Operating characteristics of a sequential probe: states, rounds, bias, cost.

    One round draws one reply under the full and one under the ablated specification. Without a
    RULE and options, the frozen rule of the ReBIND paper is calibrated.
    """
    from simtrack.probe.calibration import TRUTHS
    from simtrack.probe.calibration import calibrate as compute

    one_output(json=as_json, csv=as_csv, protocol=given["protocol"], toml=as_toml)
    swept = {
        "threshold": given["threshold"],
        "confidence": given["confidence"],
        "zero_band": given["zero_band"],
        "k_min": given["k_min"],
        "k_max": given["k_max"],
    }
    rules = rules_of(_base(rule, given["prior"]), swept)
    wants_text = given["protocol"] or as_toml
    if len(rules) > 1 and (wants_text or given["figure"] or given["truths"]):
        raise InputError(
            "rule", "one alone for --protocol, --toml, --figure and --truth", len(rules)
        )
    if wants_text:
        if given["figure"]:
            raise InputError("--figure", "used without --protocol and --toml")
        print(rules[0] if given["protocol"] else rules[0].to_toml().rstrip())
        return
    if given["figure"]:
        a_figure(given["figure"])
    calibrated = partial(
        compute,
        truths=[a_pair("truth", text) for text in given["truths"]] or TRUTHS,
        steps=given["steps"],
        margin=given["margin"],
        clauses=integer("clauses", given["clauses"], 1, MOST_CLAUSES),
        price=_price(given),
    )
    if len(rules) > 1:
        print_sweep([calibrated(one) for one in rules], as_json=as_json, as_csv=as_csv)
        return
    found = calibrated(rules[0])
    if given["figure"]:
        _draw(found, given["figure"])
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
    elif as_csv:
        print(_csv(found), end="")
    else:
        _show(found, given["figure"])


def _base(path: str | None, prior: str | None) -> StoppingRule:
    """Read the rule file, if one is given, with the prior of the options over it."""
    from simtrack.probe import StoppingRule

    changes = {} if prior is None else {"prior": a_pair("prior", prior)}
    if path is None:
        return StoppingRule().with_(**changes)
    text = read_text(path)
    read = StoppingRule.from_json if text.lstrip().startswith("{") else StoppingRule.from_toml
    try:
        return read(text).with_(**changes)
    except SimtrackError as error:
        raise DataError(f"{path}: {error}") from None


def _price(given: _Given) -> Price | None:
    from simtrack.price import Price, price_of, read_prices

    asked = {
        "--usd-per-call": given["usd_per_call"],
        "--usd-per-mtok": given["usd_per_mtok"],
        "--prices": given["prices"],
    }
    ways = [option for option, value in asked.items() if value is not None]
    if len(ways) > 1:
        raise InputError("price", "one of --usd-per-call, --usd-per-mtok, --prices", len(ways))
    for option, value, needs in (
        ("--tokens", given["tokens"], "--usd-per-mtok or --prices"),
        ("--model", given["model"], "--prices"),
    ):
        if value is not None and not set(ways) & {"--usd-per-mtok", "--prices"}:
            raise InputError(option, f"given with {needs}")
    if not ways:
        return None
    if given["usd_per_call"] is not None:
        return Price(usd_per_call=given["usd_per_call"])
    if given["prices"] is not None:
        if given["model"] is None:
            raise InputError("--prices", "given with --model", cure="Say which model answers.")
        price = price_of(read_prices(given["prices"]), given["model"])
    else:
        read, written = two_floats("usd-per-mtok", given["usd_per_mtok"] or "")
        price = Price(input_usd_per_mtok=read, output_usd_per_mtok=written)
    if given["tokens"] is not None:
        price = price.with_tokens(*two_floats("tokens", given["tokens"]))
    if price.usd_per_call is None and price.input_tokens is None:
        raise InputError(ways[0], "given with --tokens", cure="Add the mean tokens of a call.")
    return price


def _draw(found: Calibration, path: str) -> None:
    from simtrack.plots import operating_characteristics_map, save_figure
    from simtrack.probe.truth import grid

    fine = grid(100)
    save_figure(
        operating_characteristics_map(found.rule.operating_characteristics(fine, fine)), path
    )


def _show(found: Calibration, figure: str | None) -> None:
    print(_rule_line(found.rule))
    print()
    _truth_table(found).show()
    print()
    print(_grid_text(found))
    print()
    print(_spending_text(found))
    for note in found.notes:
        print(f"Note: {note}")
    if figure:
        print(f"Figure: {figure}")


def _rule_line(rule: StoppingRule) -> str:
    from simtrack.plain import decimal_text

    t, c, z = (decimal_text(x) for x in (rule.threshold, rule.confidence, rule.zero_band))
    priors = repr(rule.prior)
    if rule.prior_ablated is not None:
        priors += f" and {rule.prior_ablated!r}"
    rounds = (
        f"{rule.k_min} to {rule.k_max} rounds"
        if rule.k_min < rule.k_max
        else (f"{rule.k_max} rounds")
    )
    return (
        f"Rule: threshold {t}, confidence {c}, zero band ±{z}, {rounds}, prior {priors}\n"
        "      (--protocol prints it as steps that a colleague can carry out)"
    )


def _truth_table(found: Calibration) -> Table:
    from simtrack.report.table import Table, number

    heads = ("full", "ablated", "true state", "adopted", "redundant", "weak", "dead", "adverse",
             "not conf.", "E[rounds]", "q95", "bias B")  # fmt: skip
    rows = [
        (
            row["full"],
            row["ablated"],
            row["state"],
            *(number(p, 3) for p in row["probability"].values()),
            number(row["expected_rounds"], 2),
            str(row["q95_rounds"]),
            f"{row['bias_effect']:+.3f}",
        )
        for row in found.truths()
    ]
    title = "Probability of each call at chosen truths (exact: no simulation, no seed)"
    return Table(title, heads, rows, frozenset({"true state"}))


def _grid_text(found: Calibration) -> str:
    s = found.summary
    side = len(found.grid.full)
    margin = float(s.margin)
    judged = (
        f"  (truths judged: {s.n_counted} of {s.n_truths}, {margin:g} or more from a boundary)"
        if margin
        else "  (on a boundary full = threshold is low, and |full - ablated| = zero band is zero)"
    )
    lines = (
        f"Over the {side} x {side} grid of truths (full, ablated)",
        f"  expected rounds         mean {s.mean_rounds:7.4f}   most  {_at(s.worst_rounds, '.2f')}",
        f"  no confident call       mean {s.mean_not_confident:7.4f}   most  "
        f"{_at(s.worst_not_confident, '.4f')}",
        f"    among truths judged   {'':14}most  {_at(s.worst_not_confident_counted, '.4f')}",
        f"  bias of the naive B     {'':14}worst {_at(s.largest_bias_effect, '+.4f')}",
        f"  P(correct)              mean {s.mean_correct:7.4f}   least "
        f"{_at(s.worst_correct, '.4f')}",
        f"  P(correct | confident)  mean {s.mean_correct_if_confident:7.4f}   least "
        f"{_at(s.worst_correct_if_confident, '.4f')}",
        f"    pooled over truths    {'':5}{s.pooled_correct_if_confident:7.4f}",
        judged,
    )
    return "\n".join(lines)


def _at(worst: Worst, form: str) -> str:
    return f"{worst.value:{form}} at ({float(worst.full):g}, {float(worst.ablated):g})"


def _spending_text(found: Calibration) -> str:
    s = found.spending
    plural = "" if s.clauses == 1 else "s"
    parts = (
        ("expected", s.expected_calls, "every truth of the grid equally likely"),
        ("costliest", s.costliest_calls, "every clause at the truth that needs most rounds"),
        ("at most", s.most_calls, "every clause at k_max"),
    )
    lines = [f"Cost of {s.clauses:,} clause{plural}: two calls a round"]
    for name, calls, meaning in parts:
        usd = s.usd(calls)
        money = "" if usd is None else f"  ${usd:,.2f}"
        tokens = s.tokens(calls)
        volume = "" if tokens is None else f"  {tokens[0]:,.0f} + {tokens[1]:,.0f} tokens"
        lines.append(f"  {name:<10}{calls:>12,.1f} calls{volume}{money:>14}  ({meaning})")
    if s.usd_per_call is None:
        lines.append("  (dollars: add --usd-per-call, --usd-per-mtok IN,OUT, or --prices)")
    return "\n".join(lines)


def _csv(found: Calibration) -> str:
    from simtrack.report.table import Table

    rows = [{**row, **row["probability"]} for row in found.truths()]
    heads = tuple(key for key in rows[0] if key != "probability")
    return Table("", heads, [tuple(str(row[h]) for h in heads) for row in rows]).csv()
