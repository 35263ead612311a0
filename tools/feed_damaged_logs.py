"""Feed damaged logs to the reader and judge every answer.

usage: python tools/feed_damaged_logs.py FILE_OR_FOLDER... [--mutants 300] [--seed 0] [--keep DIR]

What is demanded stands in judged_logs.py; memory may grow by 500 MB. Mutant k of the same files is
the same everywhere. Ends with 3 where a demand is not met, after writing the file to --keep.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from damaged_logs import damaged, draws
from judged_logs import Broken, Source, judge, load

GROWTH_MAX_BYTES = 500 << 20
FILE_MAX_BYTES = 5 << 20
FAULTS_MAX = 20


def main() -> None:
    """Read the files as they are, damage them in turn, and print what became of the mutants."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    files = [f for p in options.paths for f in ([p] if p.is_file() else sorted(p.rglob("*")))]
    with tempfile.TemporaryDirectory() as folder:
        sources = [
            load(file, Path(folder))
            for file in files
            if file.is_file() and 0 < file.stat().st_size <= FILE_MAX_BYTES
        ]
        before = _bounded_memory()
        outcomes, faults, slowest = feed(sources, options, Path(folder))
    grown = _peak_bytes() - before
    if grown > GROWTH_MAX_BYTES:
        faults.append(f"memory grew by {grown / 1e6:.0f} MB")
    report(sources, outcomes, faults, slowest, grown)
    sys.exit(3 if faults else 0)


def feed(
    sources: Sequence[Source], options: argparse.Namespace, folder: Path
) -> tuple[Counter[tuple[str, str]], list[str], float]:
    """Damage and judge: how often each format came to what, the faults, and the slowest seconds."""
    outcomes: Counter[tuple[str, str]] = Counter()
    faults: list[str] = []
    slowest = 0.0
    for k in range(options.first, options.first + options.mutants):
        rng = draws(options.seed, k)
        source = sources[k % len(sources)]
        kin = [s for s in sources if s.reader == source.reader and s.kind == source.kind]
        other = rng.choice(kin) if rng.random() < 0.7 else source
        damage = damaged(source.data, other.data, rng)
        path = folder / source.path.name
        path.write_bytes(damage.data)
        start, wrong = time.process_time(), ""
        try:
            outcome = judge(path, source, other, damage)
        except Broken as broken:
            outcome, wrong = "fault", str(broken)
        slowest = max(slowest, time.process_time() - start)
        path.unlink()
        outcomes[source.reader or "(no log)", outcome] += 1
        if wrong:
            options.keep.mkdir(parents=True, exist_ok=True)
            kept = options.keep / f"mutant-{options.seed}-{k}-{source.path.name}"
            kept.write_bytes(damage.data)
            faults.append(f"{kept} ({damage.way} {damage.touched[:2]}): {wrong}")
            print(faults[-1], file=sys.stderr, flush=True)
            if len(faults) >= FAULTS_MAX:
                break
        if k % 2000 == 1999:
            print(f"{k + 1} mutants, {len(faults)} faults", file=sys.stderr, flush=True)
    return outcomes, faults, slowest


def _bounded_memory() -> int:
    """Let the process have 500 MB more than it has, and give the peak so far."""
    with open("/proc/self/statm", encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + GROWTH_MAX_BYTES,) * 2)
    return _peak_bytes()


def _peak_bytes() -> int:
    """Give the peak of this process; getrusage would count that of the one before exec."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def report(
    sources: Sequence[Source],
    outcomes: Counter[tuple[str, str]],
    faults: Sequence[str],
    slowest: float,
    grown: int,
) -> None:
    """Print what became of the mutants, by format."""
    print(f"{sum(outcomes.values())} mutants of {len(sources)} files")
    for (reader, outcome), n in sorted(outcomes.items()):
        print(f"  {reader:16} {outcome:22} {n:6}")
    totals: Counter[str] = Counter()
    for (_, outcome), n in outcomes.items():
        totals[outcome] += n
    print("in all: " + ", ".join(f"{n} {outcome}" for outcome, n in totals.most_common()))
    print(f"slowest {slowest:.2f} s of processor time, memory grew by {grown / 1e6:.0f} MB")
    print(f"{len(faults)} faults")


if __name__ == "__main__":
    main()
