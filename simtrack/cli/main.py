"""The door of the command line: which verb was meant, and how does it end?

Help texts of the verbs stand in a static table, so that `simtrack --help` imports none of them.
Exit codes: 0 fine; 2 bad input or usage; 3 a finding that the user asked to fail on; 70 a fault of
simtrack itself; 130 interrupted.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TextIO

try:
    import click

    from simtrack import __version__
    from simtrack.errors import SimtrackError
except KeyboardInterrupt:  # an impatient user is not shown where the imports were
    raise SystemExit(130) from None

__all__ = ["app", "main", "run"]

BAD_INPUT, FAULT, INTERRUPTED = 2, 70, 130
REPORT_TO = "Please report it with the command and this text."

#: verb -> one line of help. The module simtrack.cli.<verb> holds a command of that name.
VERBS = {
    "calibrate": "Operating characteristics and cost of a sequential probe, exactly.",
    "score": "Rates, intervals and paired comparisons from logs you already have.",
    "gate": "Destroy the replies of a log and score them again: nothing may succeed.",
    "rescore": "Verdicts of a log against those of a stricter or fairer parser.",
    "replay": "Recorded sessions cut where another termination gate would have stopped.",
    "scan": "What is in these logs, how complete are they, can they be compared?",
    "ingest": "All logs as one trial table: CSV, JSON lines or Parquet, losses included.",
    "export": "A trial table as CSV, JSON lines, Parquet, NetCDF counts or an Inspect log.",
    "test": "Exact tests of two levels in every group, adjusted for the family.",
    "fit": "Mixed models and estimating equations on clustered scores.",
    "monitor": "What may be said of a running study, however often one looks.",
    "init": "Write a commented study to start from, one for each shape of the papers.",
    "simulate": "Draw a study that was never paid for, to rehearse the analysis on.",
    "power": "What a design buys: power, precision, error rates, before paying.",
    "plan": "How many clusters, repetitions and dollars a target power takes.",
    "ledger": "Clauses and tombstones of a dialogue: compile, ablate, slice, screen.",
    "methods": "Every statistical method: when it holds, when not, what it promises.",
    "run": "Run a study from its TOML file; the result carries its provenance.",
    "doctor": "Check this installation: versions, extras, cache, exact values.",
}

_EPILOG = """\b
Examples:
  simtrack calibrate                       the frozen ReBIND rule
  simtrack calibrate --k-max 50 --clauses 200 --usd-per-call 0.002
  simtrack score run.eval --by model --cluster id
  simtrack score a.eval b.eval --compare model-a model-b
"""


class _Verbs(click.Group):
    """A group that imports a verb when it is called, not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the verbs in the order in which people meet them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one verb."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(import_module(f"simtrack.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the static table."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest verb where there is none of that name."""
        if args and args[0] not in VERBS:
            from difflib import get_close_matches

            near = get_close_matches(args[0], VERBS, 1)
            cure = f"Did you mean {near[0]}?" if near else f"Verbs: {', '.join(VERBS)}."
            raise click.UsageError(f"there is no verb {args[0]!r}. {cure}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Verbs,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="simtrack")
@click.option("-v", "--verbose", count=True, help="Log more (twice: everything).")
@click.option("-q", "--quiet", is_flag=True, help="Log errors only, and leave routine notes out.")
def app(verbose: int, quiet: bool) -> None:
    """Calibrate, rehearse, score and publish evaluations of LLMs and agents: exact first."""
    level = logging.ERROR if quiet else (logging.WARNING, logging.INFO)[min(verbose, 1)]
    logging.basicConfig(
        level=logging.DEBUG if verbose > 1 else level, format="%(levelname)s: %(message)s"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code; errors go to standard error in one line."""
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal of few characters is no fault
    try:
        result = app.main(
            args=list(arguments) if arguments is not None else None,
            prog_name="simtrack",
            standalone_mode=False,
        )
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # click turns a closed pipe into an exit
        _silence(sys.stdout)
        return 0
    except (Exception, KeyboardInterrupt) as error:
        return _explain(error)
    return result if isinstance(result, int) else 0


def run() -> None:
    """Run the command line of this process."""
    sys.exit(main())


def _explain(error: BaseException) -> int:
    """Say in one line what went wrong, and give the exit code that it stands for."""
    if isinstance(error, KeyboardInterrupt | click.exceptions.Abort):
        for note in getattr(error, "__notes__", ()):  # what is kept, and how to go on
            _say(note)
        return INTERRUPTED
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        _tell(error.message)
        return BAD_INPUT
    if isinstance(error, SimtrackError):
        _say(str(error))
        return error.exit_code
    known = _usage(error) if isinstance(error, click.ClickException) else _resources(error)
    if known:
        _say(known)
        return BAD_INPUT
    logging.getLogger("simtrack").debug("traceback", exc_info=error)
    _say(f"a fault of simtrack {__version__}: {type(error).__name__}: {error}. {REPORT_TO}")
    return FAULT


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    hint = f" See {context.command_path} --help." if context is not None else ""
    return error.format_message() + hint


def _resources(error: BaseException) -> str:
    """Put into words what the machine refused, or nothing if it was something else."""
    if isinstance(error, MemoryError):
        return "not enough memory for this input. Split it, or ask for less at once."
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}."
    return ""


def _open_streams() -> None:
    """Put something in place of closed streams: Python has None there, and print would misplace."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for good
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _say(message: str) -> None:
    from simtrack.report.table import visible

    _tell(f"simtrack: {visible(' '.join(message.split()))}")


def _tell(text: str) -> None:
    """Print to standard error; if that cannot be, the exit code has to tell."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _silence(sys.stderr)


def _silence(stream: TextIO) -> None:
    """Point a stream at nothing, so that the interpreter's last flush cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
