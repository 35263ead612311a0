"""`simtrack ledger`: what a dialogue requires, compiled, ablated, sliced and screened."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from simtrack.cli.ledger_parts import (
    check_clause,
    check_document,
    read_either,
    read_input,
    read_ledger,
    show_clauses,
    show_screening,
    show_slices,
    wants_json,
    write,
)
from simtrack.errors import DataError, Finding, InputError, SimtrackError

_EPILOG = """\b
Example: a dialogue asks for three helpers and withdraws the second.
  simtrack ledger example -o ledger.json              a ledger to start from
  simtrack ledger show ledger.json                    what binds, what was revoked
  simtrack ledger compile ledger.json                 the one specification to send
  simtrack ledger compile ledger.json --turn 4        as it was before the revocation
  simtrack ledger ablate ledger.json --clause stdlib  the same without one clause
\b
And a benchmark of such dialogues:
  simtrack ledger example tasks -o tasks.json
  simtrack ledger slice tasks.json --seed 7 -o slices.json
  simtrack ledger screen slices.json --fail
  simtrack ledger compile slices.json --slice palindrome:delayed:m5
\b
A ledger is JSON; only task, and id, text and checker_id of a clause, must be there:
  {"task": "Write a function f.",
   "clauses": [{"id": "log", "turn": 1, "text": "Define audit_log.",
                "checker_id": "presence:audit_log"}],
   "tombstones": [{"clause": "log", "turn": 5}]}
"""
_NEW = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
Command = Callable[..., None]


@click.group(epilog=_EPILOG, context_settings=_NEW)
def ledger() -> None:
    """Keep the contract of a dialogue: clauses, tombstones, and the specification they make.

    A clause is a requirement with the name of a program that checks it. Revoking a clause leaves a
    tombstone: the record stays, the obligation does not. The clauses in force are the net state;
    compiled, they are one numbered specification. No verb here calls a model or runs a checker.
    """


def _source(command: Command) -> Command:
    command = click.option("--slice", "slice_id", metavar="ID",
                           help="Which slice, if the file holds slices.")(command)  # fmt: skip
    command = click.option("--turn", type=click.IntRange(0),
                           help="Net state after this turn [the last].")(command)  # fmt: skip
    return click.argument("source", metavar="[LEDGER]", default="-")(command)


def _output(command: Command) -> Command:
    command = click.option("-o", "--output", type=click.Path(dir_okay=False),
                           help="File to write; JSON if it ends in .json.")(command)  # fmt: skip
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


@ledger.command(name="compile", short_help="The specification that states what binds.")
@_source
@_output
def compile_(
    source: str, turn: int | None, slice_id: str | None, as_json: bool, output: str | None
) -> None:
    """Print the specification that states what binds: numbered clauses and a final check.

    LEDGER is a file, or standard input. Revoked clauses do not occur. Example:

    \b
      $ simtrack ledger example | simtrack ledger compile
      Task: Write a function is_palindrome(text).
    \b
      1. Pass all unit tests.
      2. Use the standard library only.
      3. Also define a helper audit_log.
      4. Also define a helper verify_bounds.
    """
    from simtrack.ledger import compile_ledger

    found = compile_ledger(read_ledger(source, slice_id), turn)
    told = found.to_json() if wants_json(as_json, output) else found.text
    write(told, output, f"{len(found.clauses)} clauses in force at turn {found.turn}")
    if found.prefill and not wants_json(as_json, output):
        _note(f"the reply opens with {found.prefill!r} (prefill)")


@ledger.command(short_help="The specification without one clause, layout held fixed.")
@_source
@click.option("--clause", metavar="ID", help="The clause to make neutral.")
@_output
def ablate(
    source: str,
    turn: int | None,
    slice_id: str | None,
    clause: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Print the specification with one clause replaced by a neutral text of the same length.

    Length is counted in characters, and the lines stay as long as they were, so the layout is held
    fixed. --json gives both specifications. Example:

    \b
      $ simtrack ledger example | simtrack ledger ablate --clause stdlib
      ...
      2. The archive room on courtyard.
      ...
    """
    from simtrack.ledger import ablate as ablate_clause

    found_ledger = read_ledger(source, slice_id)
    clause = check_clause(found_ledger, clause, turn)
    found = ablate_clause(found_ledger, clause, turn)
    told = found.to_json() if wants_json(as_json, output) else found.ablated.text
    length = len(found.placeholder)
    write(told, output, f"{length} characters of {clause} made neutral")


@ledger.command(name="slice", short_help="Scripts that ask for markers and withdraw one.")
@click.argument("source", metavar="[TASKS]", default="-")
@click.option("--seed", type=int, required=True, help="Which draw of markers and requests.")
@click.option("--load", type=int, default=5, help="Markers of a script, at least 2 [5].")
@click.option("--condition", "conditions", multiple=True, metavar="NAME",
              help="immediate, delayed or control; may be given often [all three].")  # fmt: skip
@click.option("--delay", type=int, default=1,
              help="Unrelated turns before the delayed revocation [1].")  # fmt: skip
@click.option("--depth", type=int, default=0, help="Unrelated turns at the end [0].")
@click.option("--markers", "markers_file", type=click.Path(dir_okay=False),
              help="Own pool: a name a line; a blank line begins an appended part.")  # fmt: skip
@click.option("--requests", "requests_file", type=click.Path(dir_okay=False),
              help="Own unrelated requests, in a file of the same form.")  # fmt: skip
@_output
def slice_(source: str, as_json: bool, output: str | None, **given: Any) -> None:
    """Make scripts that ask for markers and, outside the control, withdraw the second one.

    TASKS is JSON ({"tasks": [{"id", "statement", "entry_point", "solution"}]}), JSON lines of such
    tasks, or HumanEval's own file. A pool that grows by appended parts, more tasks and higher loads
    leave every script as it was. Example:

    \b
      $ simtrack ledger example tasks | simtrack ledger slice --seed 7 --load 2
    """
    from simtrack.ledger import CONDITIONS, FILLERS, MARKERS, make_slices, read_tasks

    try:
        text = read_input(source)
        check_document(text, "tasks")
        tasks = read_tasks(text)
    except SimtrackError as error:
        raise DataError(f"{'standard input' if source == '-' else source}: {error}") from None
    markers, requests = given["markers_file"], given["requests_file"]
    found = make_slices(
        tasks,
        seed=given["seed"],
        load=given["load"],
        conditions=given["conditions"] or CONDITIONS,
        delay=given["delay"],
        depth=given["depth"],
        markers=MARKERS if markers is None else _pool(markers),
        fillers=FILLERS if requests is None else _pool(requests),
    )
    told = found.to_json() if wants_json(as_json, output) else show_slices(found)
    write(told, output, f"{len(found.slices)} slices of {len(found.tasks)} tasks")


@ledger.command(short_help="Words that stand where they must not.")
@click.argument("source", metavar="[SLICES|LEDGER]", default="-")
@click.option("--turn", type=click.IntRange(0), help="Net state of a ledger [the last].")
@click.option("--word", "words", multiple=True, help="Another word that must not occur.")
@click.option("--hint", "hints", multiple=True, help="Another word that hints at the verdict.")
@click.option("--fragment", type=int, default=20,
              help="Characters from which on a part of a solution counts [20].")  # fmt: skip
@click.option("--fail", is_flag=True, help="End with 3 if anything leaks.")
@_output
def screen(source: str, as_json: bool, output: str | None, fail: bool, **given: Any) -> None:
    """Look mechanically for words that stand where they must not.

    Of slices: entry points, parts of the gold solution, other markers, words of clauses and hints
    at the verdict, turn by turn. Of a ledger: words of revoked clauses in what is compiled, and of
    any clause in the placeholders of its ablations. Example:

    \b
      $ simtrack ledger example | simtrack ledger screen
      0 of 5 specifications leak (9 passages)
    """
    from simtrack.ledger import Slices, screen_ledger, screen_slices

    found = read_either(source)
    extra = {"words": given["words"], "hints": given["hints"]}
    if isinstance(found, Slices):
        if given["turn"] is not None:
            raise InputError("--turn", "left out for slices, whose every turn is screened")
        result = screen_slices(found, fragment=given["fragment"], **extra)
    else:
        result = screen_ledger(found, given["turn"], **extra)
    told = result.to_json() if wants_json(as_json, output) else show_screening(result)
    counted = f"{result.units_with_leaks} of {result.units} leak"
    write(told, output, counted)
    if fail and not result.clean:
        raise Finding(f"{counted}; --fail asked to end with 3")


@ledger.command(short_help="Every clause: does it bind, what was done about it?")
@_source
@_output
def show(
    source: str, turn: int | None, slice_id: str | None, as_json: bool, output: str | None
) -> None:
    """List every clause: does it bind, was it revoked, what was done about it?"""
    found = read_ledger(source, slice_id)
    told = found.to_json() if wants_json(as_json, output) else show_clauses(found, turn)
    write(told, output, f"{len(found.clauses)} clauses")


@ledger.command(short_help="A small ledger, or tasks, to start from.")
@click.argument("what", type=click.Choice(["ledger", "tasks"]), default="ledger")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="File to write.")
def example(what: str, output: str | None) -> None:
    """Print a small ledger, or tasks for slices, to start from."""
    from simtrack.ledger import example_ledger, example_tasks
    from simtrack.ledger.fields import as_json
    from simtrack.ledger.tasks import tasks_document

    told = (
        example_ledger().to_json() if what == "ledger" else as_json(tasks_document(example_tasks()))
    )
    write(told, output, f"an example of {'a ledger' if what == 'ledger' else 'tasks'}")


def _pool(path: str) -> Any:
    """Read a pool: a name a line, generations apart by blank lines."""
    from simtrack.ledger import Pool

    blocks: list[list[str]] = [[]]
    for line in map(str.strip, read_input(path).splitlines()):
        if line:
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    try:
        return Pool(*(block for block in blocks if block))
    except InputError as error:
        raise DataError(f"{path}: {error}") from None


def _note(text: str) -> None:
    print(f"Note: {text}", file=sys.stderr)
