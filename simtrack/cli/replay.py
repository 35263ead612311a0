"""`simtrack replay`: how would recorded sessions have ended under another termination gate?"""

from __future__ import annotations

import json
from shlex import quote
from typing import TYPE_CHECKING, get_args

import click

from simtrack.cli.reading import LogOptions, log_options
from simtrack.cli.reply_reading import example_option, read_asked_replies
from simtrack.cli.score_parts import comparison_text
from simtrack.cli.table_parts import counted, refuse_ending, refuse_overwriting, tell
from simtrack.errors import InputError
from simtrack.options import GateName, Status

if TYPE_CHECKING:
    from simtrack.analysis.replayed import Replay
    from simtrack.scoring.replay.protocol import ReplayProtocol

_EPILOG = """\b
Examples:
  simtrack replay run.eval --gate marker --protocol gate.toml
  simtrack replay sessions.jsonl --gate no-tool-call --gate marker --by model
  simtrack replay sessions.jsonl --gate runtime --done-call create_event --done-call send_invites
\b
A table needs one row a message, with trajectory, turn, role (user, assistant, tool), the words and
the tool calls. Sessions that another gate cut or re-prompted before are refused.
"""
_SHOWN_NOTES = 12


@click.command(epilog=_EPILOG)
@log_options
@click.option("--gate", "gates", type=click.Choice(get_args(GateName)), multiple=True,
              required=True, help="Who ends a session (repeatable; two are compared).")  # fmt: skip
@click.option("--protocol", type=click.Path(dir_okay=False), metavar="FILE",
              help="Markers, done, and the gate of the record, in TOML or JSON.")  # fmt: skip
@example_option("replay")
@click.option("--done", metavar="COL", help="The column that says when a task is done [done].")
@click.option("--done-call", "calls", multiple=True, metavar="NAME",
              help="A task is done once these tools were called (repeatable).")  # fmt: skip
@click.option("--recorded", metavar="GATE", help="The gate of the record: none, marker, ...")
@click.option("--level", type=float, default=0.95, help="Confidence level [0.95].")
@click.option("--icc", type=float, help="Intracluster correlation where clusters show no spread.")
@click.option("-o", "--output", metavar="FILE", help="Write the table of sessions.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def replay(
    logs: tuple[str, ...],
    reading: LogOptions,
    gates: tuple[GateName, ...],
    protocol: str | None,
    done: str | None,
    calls: tuple[str, ...],
    recorded: str | None,
    level: float,
    icc: float | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Cut the sessions in LOGS where another gate would have stopped them, without any call.

    Marker (B1): a message without a stage marker is a dead end, COMPLETED stops. No-tool-call
    (B2): a message ends the session if the task is done or nobody answers. Runtime (A): stops as
    soon as the task is done.
    """
    from simtrack.analysis.replayed import replay as compute
    from simtrack.logs import TRIAL_SUFFIXES, write_trials

    for on, option in ((reading.metrics, "--metric"), (reading.summaries, "--summaries")):
        if on:
            raise InputError(option, "left out", cure="A replay reads every message of LOGS.")
    aside: tuple[str, ...] = ()
    if output:
        refuse_ending(output, TRIAL_SUFFIXES)
        aside = refuse_overwriting(output, logs)
    found, sessions = compute(
        read_asked_replies(logs, reading, "all", aside),
        tuple(dict.fromkeys(gates)),
        protocol=_protocol(protocol, done, calls, recorded),
        by=reading.groups,
        cluster=reading.cluster,
        level=level,
        icc=icc,
        missing_cluster=reading.missing_cluster,
    )
    if output:
        write_trials(sessions, output)
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
    else:
        _show(found, output)


def _protocol(
    file: str | None, column: str | None, calls: tuple[str, ...], recorded: str | None
) -> ReplayProtocol:
    """Put what the options say over what the file says."""
    from simtrack.scoring.protocol_file import load_plain
    from simtrack.scoring.replay.protocol import ReplayProtocol

    plain = load_plain(file) if file else {}
    done = [("column", column), ("calls", list(calls))]
    told = {key: value for key, value in done if value}
    if told:
        rest = plain.get("done", {})
        kept = {k: v for k, v in rest.items() if k == "rejected"} if isinstance(rest, dict) else {}
        plain["done"] = kept | told
    if recorded:
        record = plain.get("record", {})
        plain["record"] = (record if isinstance(record, dict) else {}) | {"gate": recorded}
    return ReplayProtocol.from_dict(plain, file or "options")


def _show(found: Replay, output: str | None) -> None:
    from simtrack.report.table import Table, number
    from simtrack.scoring.replay.protocol import GATE_CODES

    accounts = found.accounting
    statuses = [s for s in get_args(Status) if accounts.total(s) or s == "scored"]
    heads = ("gate", *found.by, "planned", *statuses)
    names = {code: f"{gate} ({code})" for gate, code in GATE_CODES.items()}
    rows = [(names[r.labels[0]], *r.labels[1:], str(r.planned), *(str(r.n(s)) for s in statuses))
            for r in accounts.rows]  # fmt: skip
    Table("Sessions:", heads, rows, frozenset(("gate", *found.by))).show()
    print()
    heads = ("gate", *found.by, "end", "outcome", "sessions", "of", "share", "low", "high",
             "clusters")  # fmt: skip
    cells = [
        (names[GATE_CODES[row.gate]], *row.labels, row.end, row.outcome, str(row.n),
         str(row.sessions), number(row.share), number(row.low), number(row.high), str(row.clusters))
        for row in found.rows
    ]  # fmt: skip
    text = frozenset(("gate", *found.by, "end", "outcome"))
    Table("How they end:", heads, cells, text).show()
    for group in found.comparisons:
        where = f" [{'/'.join(group.labels)}]" if group.labels else ""
        said = comparison_text(group.comparison) if group.comparison else "not compared"
        print(f"\nTask success{where}: {said}")
    print()
    print(f"{100 * found.level:g} % intervals; clusters: {found.cluster}.")
    of_rows = [note for row in found.rows for note in row.notes]
    compared = [note for group in found.comparisons for note in group.notes]
    notes = list(dict.fromkeys((*found.notes, *of_rows, *compared)))
    for note in notes[:_SHOWN_NOTES]:
        tell("Note", note)
    if len(notes) > _SHOWN_NOTES:
        print(f"Note: {counted(len(notes) - _SHOWN_NOTES, 'more note')} (--json)")
    if output:
        two = [GATE_CODES[gate] for gate in found.gates[:2]]
        then = f"--compare {' '.join(two)}" if len(two) > 1 else "--by gate"
        print(f"Table of sessions: {output}")
        print(f"Read it: simtrack score {quote(output)} --estimand task_success {then} "
              f"--cluster {found.cluster}")  # fmt: skip
