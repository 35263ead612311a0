"""`simtrack gate`: does any success metric survive when the replies are destroyed?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from simtrack.cli.reading import LogOptions, read_options
from simtrack.cli.reply_reading import (
    SCHEMES_OFFERED,
    TURNS_OPTION,
    example_option,
    read_asked_replies,
)
from simtrack.cli.table_parts import tell
from simtrack.options import Turns

if TYPE_CHECKING:
    from simtrack.scoring.corruption import CorruptionGate

_EPILOG = """\b
Examples:
  simtrack gate run.eval
  simtrack gate replies.jsonl --scheme stageif --protocol protocol.toml --json
\b
Every reply is blanked, every value inverted, a marker injected, and the whole pipeline run again.
Exit code 3: a success survived, so the metric measures the harness; or there was none to begin
with, so the gate tested nothing.
"""
_FINDING = 3


@click.command(epilog=_EPILOG)
@read_options
@click.option("--scheme", type=click.Choice(SCHEMES_OFFERED[1:]), default="stageif",
              help="How replies are scored [stageif].")  # fmt: skip
@TURNS_OPTION
@click.option("--protocol", type=click.Path(dir_okay=False), metavar="FILE",
              help="The protocol, in TOML or JSON [the paper's].")  # fmt: skip
@example_option()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def gate(logs: tuple[str, ...], reading: LogOptions, scheme: str, turns: Turns,
         protocol: str | None, as_json: bool) -> int:  # fmt: skip
    """Destroy the replies of LOGS and score them again: nothing may succeed."""
    from simtrack.scoring.corruption import corruption_gate
    from simtrack.scoring.schemes import load_protocol, scheme_of

    how = scheme_of(scheme)
    settings = load_protocol(how, protocol)
    found = corruption_gate(read_asked_replies(logs, reading, turns), how, settings)
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
    else:
        _show(found)
    return 0 if found.passed else _FINDING


def _show(found: CorruptionGate) -> None:
    from simtrack.report.table import Table

    several = len({row.table for row in found.rows}) > 1
    heads = ("corruption", *(("rows",) if several else ()), "view", "successes before", "tested",
             "survivors")  # fmt: skip
    rows = [
        (r.name, *((r.table,) if several else ()), r.view, str(r.successes_before), str(r.tested),
         str(r.survivors))
        for r in found.rows
    ]  # fmt: skip
    Table(f"{found.scheme}: successes of destroyed replies", heads, rows,
          frozenset(("corruption", "rows", "view"))).show()  # fmt: skip
    for row in found.rows:
        if row.survivors:
            more = row.survivors - len(row.examples)
            listed = "; ".join(row.examples) + (f"; and {more} more" if more else "")
            tell(f"Survived {row.name}", listed)
    for note in found.notes:
        tell("Note", note)
    if found.vacuous:
        print("Nothing was tested: the replies have no success, or verdicts were recorded and not "
              "made from the words.")  # fmt: skip
    else:
        print("Passed: no success survives." if found.passed else "Failed: what survives measures "
              "the harness, not the model.")  # fmt: skip
