"""Read an Inspect log: simtrack against inspect_ai's samples_df, answers equal first.

Run: python benchmarks/read_log.py [--samples 2000] [--log FILE] [--pairs 3] [--large-gb 2]

The log is made by Inspect itself with its mock model (dict and letter scores, some errors); above
`--run` samples it is grown from a real one, with ids, uuids, summaries and header of its own. Up
to 5,000 samples the two sides are timed in turn; every size is then read once by each side in a
process of its own, which gives peak memory. Neither side's import is timed. `--large-gb` adds a
log of that size, mostly attachments, read by simtrack alone.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import compare
from inspect_log import grow, make_log

#: Above this, one pair in processes of their own: samples_df takes minutes.
IN_TURN_MAX_SAMPLES = 5000

Rows = dict[tuple[str, int, str], tuple[float, bool]]


def rows_of_inspect(frame: Any) -> Rows:
    """Give {(id, epoch, metric): (score, errored)} from a samples_df frame."""
    letters = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
    found: Rows = {}
    columns = {name: frame[name].tolist() for name in frame.columns}
    errors = columns["error"]
    for k in range(len(frame)):
        key = str(columns["id"][k]), int(columns["epoch"][k])
        errored = isinstance(errors[k], str) and errors[k] != ""
        cells: dict[str, Any] = {"letter": columns["score_letter"][k]}
        pair = columns["score_stage"][k]
        pair = json.loads(pair) if isinstance(pair, str) else {}
        cells |= {f"stage.{name}": pair.get(name) for name in ("clean", "emitted")}
        for metric, value in cells.items():
            number = letters.get(value, value) if isinstance(value, str) else value
            number = float(number) if isinstance(number, (int, float)) else math.nan
            found[(*key, metric)] = number, errored
    return found


def rows_of_ours(records: Any) -> Rows:
    """Give the same from our trial table."""
    label = {name: f.values() for name, f in records.factors.items()}
    return {
        (unit, int(epoch), metric): (value, status == "errored")
        for unit, epoch, metric, status, value in zip(
            label["unit"],
            label["repetition"],
            label["metric"],
            label["status"],
            records.numbers["value"].tolist(),
            strict=True,
        )
    }


def assert_equal(records: Any, frame: Any) -> None:
    assert_same(rows_of_ours(records), rows_of_inspect(frame))


def assert_same(ours: Rows, theirs: Rows) -> None:
    """Check id, epoch, score and error of every sample, on every metric."""
    assert ours.keys() == theirs.keys(), "the two readers disagree on which trials there are"
    for key, (value, errored) in ours.items():
        their_value, their_error = theirs[key]
        same = value == their_value or (math.isnan(value) and math.isnan(their_value))
        assert same, (key, value, their_value)
        assert errored == their_error, (key, errored, their_error)


def import_seconds(module: str) -> float:
    code = f"import time; s = time.perf_counter(); import {module}; print(time.perf_counter() - s)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(out.stdout.split()[-1])


def read(side: str, detail: str, log: Path) -> Any:
    """Read a log by one side, its imports done before."""
    if side == "simtrack":
        from simtrack.logs import read_log

        return read_log(log, detail="samples" if detail == "full" else "summaries")
    from inspect_ai.analysis import samples_df

    return samples_df(str(log), full=detail == "full", quiet=True)


def child(side: str, detail: str, log: Path, out: Path) -> None:
    """Read once, in this process: print seconds and peak memory, leave the rows in a file."""
    if side == "simtrack":
        import simtrack.logs  # noqa: F401
    else:
        import inspect_ai.analysis  # noqa: F401
    before = peak_mb()
    start, busy = time.perf_counter(), time.process_time()
    answer = read(side, detail, log)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    found = {"s": seconds, "cpu_s": busy, "before_mb": before, "peak_mb": peak_mb()}
    print(json.dumps(found))
    rows = rows_of_ours(answer) if side == "simtrack" else rows_of_inspect(answer)
    out.write_bytes(pickle.dumps(rows))


def peak_mb() -> float:
    """Give the peak memory of this process; getrusage would count that of the one before exec."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def alone(side: str, detail: str, log: Path) -> tuple[dict[str, float], Rows]:
    """Let a process of its own read a log: its figures, and its rows."""
    with tempfile.NamedTemporaryFile() as out:
        command = [sys.executable, __file__, "--child", side, detail, str(log), out.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return json.loads(done.stdout.splitlines()[-1]), pickle.loads(Path(out.name).read_bytes())


def side_by_side(detail: str, log: Path, pairs: int) -> None:
    """Read by each side in turn, each time in a process of its own; print medians and peaks."""
    found: dict[str, list[dict[str, float]]] = {"simtrack": [], "inspect_ai": []}
    for _ in range(pairs):
        rows = []
        for side, figures in found.items():
            figure, its_rows = alone(side, detail, log)
            figures.append(figure)
            rows.append(its_rows)
        assert_same(*rows)
    print(f"{detail}, a process each, {pairs} pairs; equal on {len(rows[0])} readings")
    for side, figures in found.items():
        print(
            f"  {side:10} {statistics.median(f['s'] for f in figures):8.3f} s   "
            f"{statistics.median(f['cpu_s'] for f in figures):8.3f} s of processor time   "
            f"peak {max(f['peak_mb'] for f in figures):6.0f} MB, "
            f"{figures[0]['before_mb']:.0f} MB of it by imports"
        )
    wall, busy = (
        statistics.median(b[key] / a[key] for a, b in zip(*found.values(), strict=True))
        for key in ("s", "cpu_s")
    )
    print(f"  inspect_ai / simtrack = {wall:.1f}, in processor time {busy:.1f}", flush=True)


def assert_consistent(log: Path) -> None:
    """Check that Inspect, computing anew, finds the header and reductions that a log states."""
    from inspect_ai.log import read_eval_log, recompute_metrics

    whole = read_eval_log(str(log))
    stated = whole.results.model_copy(deep=True), whole.reductions
    recompute_metrics(whole)
    for old, new in zip(stated[0].scores, whole.results.scores, strict=True):
        assert (old.name, old.scored_samples) == (new.name, new.scored_samples)
        for name, metric in new.metrics.items():
            assert math.isclose(old.metrics[name].value, metric.value, rel_tol=1e-12)
    reduced = [
        {(r.scorer, s.sample_id): s.value for r in found for s in r.samples}
        for found in (stated[1], whole.reductions)
    ]
    assert reduced[0] == reduced[1]


def in_turn(log: Path, pairs: int) -> None:
    for detail in ("full", "summaries"):
        compare(
            f"{detail}: read_log against samples_df",
            lambda detail=detail: read("simtrack", detail, log),
            lambda detail=detail: read("inspect_ai", detail, log),
            equal=assert_equal,
            pairs=pairs,
        )


def large(real: Path, gigabytes: float, folder: Path) -> None:
    """Read a log of so many GB, mostly attachments: 2,000 samples."""
    samples = 2000
    # Random base64 packs to three quarters.
    attached = int(gigabytes * 1e9 / samples / 0.757)
    log = grow(real, samples, folder / "large.eval", attached)
    size = log.stat().st_size
    for detail in ("full", "summaries"):
        found, rows = alone("simtrack", detail, log)
        print(
            f"{size / 1e9:.2f} GB, {samples} samples, {detail}: {found['s']:.1f} s, "
            f"peak {found['peak_mb']:.0f} MB, {len(rows)} readings",
            flush=True,
        )
    log.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--run", type=int, default=200, help="samples that Inspect itself runs")
    parser.add_argument("--log", type=Path, help="a log that this script made before")
    parser.add_argument("--context", type=int, default=0, help="words to add to a prompt")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="folder to make the log in")
    parser.add_argument("--large-gb", type=float, default=0)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        side, detail, log, out = options.child
        return child(side, detail, Path(log), Path(out))
    with tempfile.TemporaryDirectory() as made:
        folder = options.keep or Path(made)
        log = real = options.log or make_log(
            folder, min(options.samples, options.run), options.context
        )
        if options.samples > options.run and not options.log:
            log = grow(real, options.samples, folder / f"grown_{options.samples}.eval")
        print(f"{log.name}: {log.stat().st_size / 1e6:.2f} MB")
        if options.samples <= IN_TURN_MAX_SAMPLES:
            assert_consistent(log)
            in_turn(log, options.pairs)
        side_by_side("full", log, 1)
        side_by_side("summaries", log, options.pairs)
        if options.large_gb:
            large(real, options.large_gb, folder)
    for module in ("inspect_ai.analysis", "simtrack.logs"):
        print(f"import {module}: {import_seconds(module):.2f} s, not in the times above")
    return None


if __name__ == "__main__":
    main()
