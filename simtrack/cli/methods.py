"""`simtrack methods`: which methods are there, and when should each be used?"""

from __future__ import annotations

import json
import textwrap
from typing import get_args

import click

from simtrack.cli.estimand_list import show_estimands
from simtrack.errors import InputError

_EPILOG = """\b
Examples:
  simtrack methods                 one line each
  simtrack methods rate --verbose  when each holds, when not, its source
  simtrack methods wilson-clustered
  simtrack methods --estimands     what is estimated: the quantities of the papers by name
  simtrack methods --estimands false_completion
"""


@click.command(epilog=_EPILOG)
@click.argument("what", required=False, metavar="[TOPIC|NAME]")
@click.option("--verbose", is_flag=True, help="When each holds, when not, its source.")
@click.option("--estimands", is_flag=True, help="List the estimands instead, and what they are.")
@click.option("--json", "as_json", is_flag=True, help="Print the catalogue as JSON.")
def methods(what: str | None, verbose: bool, estimands: bool, as_json: bool) -> None:
    """List the statistical methods that score and test offer by name.

    `computation` says how a number comes about, `guarantee` what it promises: an exactly computed
    number is not yet an interval with the right coverage.
    """
    if estimands:
        show_estimands(what, verbose, as_json)
        return
    from simtrack.analysis.catalogue import METHODS
    from simtrack.method import Topic

    topics = get_args(Topic)
    if what is not None and what not in topics and what not in METHODS:
        raise InputError("topic or name", f"one of {', '.join((*topics, *METHODS))}", repr(what))
    chosen = [m for m in METHODS.values() if what is None or what in {m.topic, m.name}]
    if as_json:
        told = {"schema": "simtrack.methods/1", "methods": [m.to_dict() for m in chosen]}
        print(json.dumps(told, indent=1, ensure_ascii=False))
        return
    if verbose or what in METHODS:
        for method in chosen:
            print(f"{method.name} ({method.topic}; {method.computation}, {method.guarantee})")
            asked = f"simtrack {method.command}" if method.command else f"-: {method.unasked}"
            if method.command.endswith(("--method", "--model", "--adjust")):
                asked += f" {method.name}"
            told = {"holds": method.holds, "fails": method.fails, "source": method.source,
                    "asked by": asked, "options": ", ".join(method.options)}  # fmt: skip
            for head, text in ((head, text) for head, text in told.items() if text):
                print(textwrap.fill(f"{head}: {text}", 96, initial_indent="  ",
                                    subsequent_indent=" " * (4 + len(head))))  # fmt: skip
        return
    from simtrack.report.table import Table

    rows: list[tuple[str, ...]] = [(m.name, m.topic, m.computation, m.guarantee) for m in chosen]
    heads = ("name", "topic", "computation", "guarantee")
    Table("", heads, rows, frozenset(heads)).show()
