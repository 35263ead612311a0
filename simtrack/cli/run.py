"""`simtrack run`: from a study's TOML file to a result that says where it comes from."""

from __future__ import annotations

import json
import math

import click

from simtrack.errors import Finding

_EPILOG = """\b
Examples:
  simtrack run probe_calibration           a study in ./studies, or one that comes with simtrack
  simtrack run studies/mine/study.toml -o results/mine
  simtrack run results/mine/result.nc      make the same call again; exit 3 if it differs
"""


@click.command(epilog=_EPILOG)
@click.argument("study")
@click.option("-o", "--output", type=click.Path(file_okay=False), help="Folder for the result.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def run(study: str, output: str | None, as_json: bool) -> None:
    """Run STUDY: a TOML file, a folder with a study.toml, a name, or an earlier result.nc.

    Writes result.nc (arrays, with the study and the code that made them) and numbers.json (what a
    text quotes), each whole or not at all.
    """
    from simtrack.runs import run_study

    done = run_study(study, output)
    if as_json:
        told = {
            "schema": "simtrack.run/1",
            "study": done.study.name,
            "result": str(done.result) if done.result else None,
            "numbers": str(done.numbers) if done.numbers else None,
            "content_sha256": done.sha256,
            "repeats": done.repeats,
            "difference": _finite(done.difference),
        }
        print(json.dumps(told, indent=1))
    else:
        print(f"{done.study.name}: {done.study.title}")
        if done.result:
            print(f"  result   {done.result}")
            print(f"  numbers  {done.numbers}")
        print(f"  content  sha256 {done.sha256}")
    if done.repeats is False:
        raise Finding(
            f"{study} is not repeated: the largest relative difference is {done.difference:g}, so "
            "nothing was written. Compare the versions in its provenance with yours."
        )
    if done.repeats and not as_json:
        print(f"  repeated: largest relative difference to the earlier result {done.difference:g}")


def _finite(difference: float | None) -> float | None:
    """Give a difference as JSON can hold it: tables of another shape differ without measure."""
    return difference if difference is not None and math.isfinite(difference) else None
