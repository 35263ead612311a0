"""Read tables of 2 GB, 2 kB a row, and print the peak memory and time of a process of its own.

Run: python benchmarks/large_tables.py [--gigabytes 2] [--folder FOLDER]

The same records as JSON lines, as a JSON array and as CSV, every one with an id of its own; the
three trial tables are asserted equal in their labels and scores. Needs room for one file at a time.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import heading

NAMES = {"unit": "id", "repetition": "epoch", "value": "score", "cost_usd": "cost"}
WORDS = ("agent", "read", "file", "“quoted”", "tool,", "result", "naïve", "plan", "step", "\n")
TEXTS = [" ".join(WORDS[(k * 7 + j * j) % len(WORDS)] for j in range(330)) for k in range(97)]
BASE_MB = 1e6


def record(row: int) -> dict[str, object]:
    return {
        "id": f"q{row:07d}",
        "model": f"provider/model-{row % 3}",
        "epoch": row % 4 + 1,
        "score": float(row * 13 % 8 < 3),
        "cost": row % 97 / 1000,
        "reply": TEXTS[row % len(TEXTS)],
    }


def write(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            writer = csv.writer(file)
            writer.writerow(record(0))
            writer.writerows(record(row).values() for row in range(rows))
            return
        before, between, behind = (
            ("[", ",\n", "]\n") if path.suffix == ".json" else ("", "\n", "\n")
        )
        file.write(before)
        for row in range(rows):
            file.write((between if row else "") + json.dumps(record(row), ensure_ascii=False))
        file.write(behind)


def alone(path: Path) -> None:
    """Read the file in this process: a digest of the table, the seconds and the peak in MB."""
    from simtrack.logs import read_log

    start = time.perf_counter()
    records = read_log(path, map=NAMES | {"model": "model"})
    seconds = time.perf_counter() - start
    digest = hashlib.blake2b(records.numbers["value"].tobytes(), digest_size=8)
    for name in ("unit", "model", "repetition"):
        digest.update(repr(records.factor(name).levels).encode())
        digest.update(records.factor(name).codes.tobytes())
    # Not getrusage: a child begins with the peak of the process that it was forked from.
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
    print(digest.hexdigest(), seconds, peak)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--folder", type=Path, help="where the files are written")
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        alone(options.alone)
        return
    heading(f"Tables of {options.gigabytes:g} GB, 2 kB a row")
    lines = (json.dumps(record(row), ensure_ascii=False) for row in range(len(TEXTS)))
    rows = round(
        options.gigabytes * 1e9 / sum(len(line.encode()) + 1 for line in lines) * len(TEXTS)
    )
    digests = set()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for suffix in (".jsonl", ".csv", ".json"):
            path = Path(folder) / f"table{suffix}"
            write(path, rows)
            command = [sys.executable, __file__, "--alone", str(path)]
            out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            digest, seconds, peak = out.split()
            digests.add(digest)
            size = path.stat().st_size / BASE_MB
            print(
                f"{suffix}: {rows} rows, {size:.0f} MB: {float(seconds):.1f} s, "
                f"peak {float(peak):.0f} MB",
                flush=True,
            )
            path.unlink()
    assert len(digests) == 1, "the tables differ"


if __name__ == "__main__":
    main()
