"""`simtrack init`: a commented study to start from, and the presets that may stand in it."""

from __future__ import annotations

from pathlib import Path

import click

from simtrack.errors import InputError

_EPILOG = """\b
Examples:
  simtrack init                        what there is
  simtrack init pair                   writes study.toml
  simtrack init stageif -o gap.toml && simtrack power gap.toml
  simtrack init --presets rebind       agents at published operating points, and their sources
"""


@click.command(epilog=_EPILOG)
@click.argument("shape", required=False)
@click.option("-o", "--output", default="study.toml", type=click.Path(dir_okay=False),
              help="File to write [study.toml].")  # fmt: skip
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option("--presets", is_flag=True, help="List agents at published points; SHAPE filters.")
def init(shape: str | None, output: str, force: bool, presets: bool) -> None:
    """Write a commented study.toml for power, plan and simulate: one for each papers' shape."""
    from simtrack.runs.starters import STARTERS, starter_text

    if presets:
        _list_presets(shape or "")
        return
    if shape is None:
        for name, asks in STARTERS.items():
            print(f"  {name:<12} {asks}")
        print("Write one with: simtrack init SHAPE [-o study.toml]")
        return
    text = starter_text(shape)
    if Path(output).exists() and not force:
        raise InputError("output", "a file that is not there yet", output, cure="Or give --force.")
    from simtrack.files import write_text

    write_text(output, text)
    print(f"{output}: {STARTERS[shape]}\nNext: simtrack power {output}")


def _list_presets(part: str) -> None:
    from simtrack.agents.presets.catalogue import PRESETS, preset

    chosen = [name for name in PRESETS if part in name]
    if not chosen:
        raise InputError("shape", "part of a preset's name", repr(part))
    for name in chosen:
        if len(chosen) > 10:
            print(name)
            continue
        about = preset(name)
        print(name)
        for head, lines in (("made from", about["inputs"]), ("assumed", about["assumed"])):
            for line in lines:
                print(f"  {head}: {line}")
    if len(chosen) > 10:
        print("Sources and assumptions of a few: simtrack init --presets PART-OF-NAME")
