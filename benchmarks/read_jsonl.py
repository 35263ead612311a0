"""Read five fields of a 200 MB JSONL: simtrack against json, polars and DuckDB.

Run: python benchmarks/read_jsonl.py [--megabytes 200] [--pairs 5] [--shape texts|rows]

Every side gives id, model, epoch, score and cost of every record, and the answers are asserted
equal before anything is timed. `read_log` makes the whole trial table (labels coded, statuses,
reasons), the others columns in the form that costs them least: lists for json and msgspec, arrays
of NumPy for polars and DuckDB, whose schema is given. "texts" are transcripts of 4 kB a record,
"rows" records of 90 bytes. Each side's peak memory and the whole time of `simtrack score` are those
of a process of its own.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import compare, heading, process

FIELDS = ("id", "model", "epoch", "score", "cost")
Columns = dict[str, Any]
WORDS = ("agent", "read", "file", "“quoted”", "tool", "result", "\\n", "naïve", "plan", "step")


def write(path: Path, megabytes: float, shape: str = "texts") -> None:
    """Write records of about 4.3 kB, mostly text, as transcripts are, or of the five fields."""
    row, size = 0, 0
    with path.open("wb") as file:
        while size < megabytes * 1e6:
            record = {
                "id": f"q{row // 4:06d}",
                "model": f"provider/model-{row % 3}",
                "epoch": row % 4 + 1,
                "score": float(row * 13 % 8 < 3),
                "cost": row % 97 / 1000,
            }
            if shape == "texts":
                text = " ".join(WORDS[(row * 7 + k * k) % len(WORDS)] for k in range(360))
                said = [("user", text[:1200]), ("assistant", text)]
                messages = [{"role": role, "content": content} for role, content in said]
                record |= {"messages": messages, "output": text[:600]}
            size += file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            row += 1


def ours(path: Path) -> Columns:
    from simtrack.logs import read_log

    names = {"unit": "id", "repetition": "epoch", "value": "score", "cost_usd": "cost"}
    records = read_log(path, map=names | {"model": "model"})
    found: Columns = {name: records.factor(name) for name in ("id", "model")}
    found["epoch"] = records.factor("repetition")
    return found | {"score": records.numbers["value"], "cost": records.numbers["cost_usd"]}


def with_json(path: Path) -> Columns:
    found: Columns = {name: [] for name in FIELDS}
    with path.open("rb") as file:
        for line in file:
            record = json.loads(line)
            for name in FIELDS:
                found[name].append(record[name])
    return found


def with_msgspec(path: Path) -> Columns:
    """The floor of one thread: the five fields, typed, and nothing else."""
    import msgspec

    types = {"id": str, "model": str, "epoch": int, "score": float, "cost": float}
    kind = msgspec.defstruct("Row", list(types.items()), gc=False)
    decode = msgspec.json.Decoder(kind).decode
    with path.open("rb") as file:
        rows = [decode(line) for line in file]
    return {name: [getattr(row, name) for row in rows] for name in FIELDS}


def with_polars(path: Path) -> Columns:
    import polars

    schema = {
        "id": polars.String,
        "model": polars.String,
        "epoch": polars.Int64,
        "score": polars.Float64,
        "cost": polars.Float64,
    }
    frame = polars.read_ndjson(path, schema=schema, ignore_errors=False)
    return {name: frame[name].to_numpy() for name in FIELDS}


def with_duckdb(path: Path) -> Columns:
    import duckdb

    types = "{id: 'VARCHAR', model: 'VARCHAR', epoch: 'BIGINT', score: 'DOUBLE', cost: 'DOUBLE'}"
    query = f"select {', '.join(FIELDS)} from read_json('{path}', format='nd', columns={types})"
    found = duckdb.sql(query).fetchnumpy()
    return {name: found[name] for name in FIELDS}


SIDES: dict[str, Callable[[Path], Columns]] = {
    "simtrack": ours,
    "json": with_json,
    "msgspec": with_msgspec,
    "polars": with_polars,
    "duckdb": with_duckdb,
}


def assert_equal(first: object, second: object) -> None:
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    for name in FIELDS:
        assert plain(first[name], name) == plain(second[name], name), f"column {name} differs"


def plain(column: Any, name: str) -> list[object]:
    """Give a column as a list of Python values, whatever holds it."""
    if hasattr(column, "codes"):
        column = column.values()
    listed = column.tolist() if hasattr(column, "tolist") else list(column)
    return [int(v) for v in listed] if name == "epoch" else listed


def peak_mb(side: str, path: Path) -> float:
    """Give the peak resident memory of one side in a process of its own."""
    command = [sys.executable, __file__, "--alone", side, "--keep", str(path)]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(out.stdout.split()[-1])


def alone(side: str, path: Path) -> None:
    SIDES[side](path)
    # Not getrusage: a child begins with the peak of the process that it was forked from.
    lines = Path("/proc/self/status").read_text().splitlines()
    print(int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--shape", choices=("texts", "rows"), default="texts")
    parser.add_argument("--keep", type=Path, help="write the file here, or take it from here")
    parser.add_argument("--alone", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        alone(options.alone, options.keep)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or Path(folder) / "log.jsonl"
        if not path.exists():
            write(path, options.megabytes, options.shape)
        heading(f"Five fields of a JSONL of {path.stat().st_size / 1e6:.0f} MB ({options.shape})")
        there = [s for s in SIDES if s in {"json", "simtrack"} or importlib.util.find_spec(s)]
        for side in there[1:]:
            compare(
                f"simtrack, against {side}",
                lambda: ours(path),
                lambda side=side: SIDES[side](path),
                equal=assert_equal,
                pairs=options.pairs,
            )
        for side in there:
            print(f"peak memory of {side}: {peak_mb(side, path):.0f} MB")
        score = [sys.executable, "-m", "simtrack", "score", str(path), "--by", "model"]
        process("simtrack score", [*score, "--cluster", "id"], runs=options.pairs)
        alone_json = [sys.executable, __file__, "--alone", "json", "--keep", str(path)]
        process("the loop with json", alone_json, runs=options.pairs)
        for side in set(SIDES) - set(there):
            print(f"{side} is not installed")


if __name__ == "__main__":
    main()
