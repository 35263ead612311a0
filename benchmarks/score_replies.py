"""Score archived replies: simtrack against a plain loop that restates Algorithm 1 line by line.

Run: python benchmarks/score_replies.py [--replies 200000] [--words 60]

Replies are drawn by an agent and rendered as text, so the right code of each is known; both sides
must give it. Printed: replies a second in one process and in two, from memory and from a file of
JSON lines, and the peak memory of a process that does no more than that.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import compare

from simtrack.agents import StageAgent
from simtrack.design import Design
from simtrack.logs import read_replies
from simtrack.records import Replies
from simtrack.scoring import score_stageif
from simtrack.scoring.stageif.rendered import render_stage_replies
from simtrack.taxonomy import STAGES

AGENT = StageAgent(
    speaks=0.9, emits=0.8, well_formed=0.9, right=0.8, false_alarm=0.2, transport=0.01
)
PLACES = (*STAGES, "pre_tool", "mid_chain")
VALUES = {"NEEDS_INFO": "needs_information", "READY": "ready_for_action",
          "POST_OBS": "post_observation_continue", "COMPLETED": "completed"}  # fmt: skip
TAG = re.compile(r"<stage>([^<>]*)</stage>")


def drawn(replies: int, words: int) -> tuple[Replies, list[str]]:
    """Draw an archive and the codes that it must be scored as; texts are made `words` longer."""
    repetitions = max(replies // (12 * len(PLACES)), 1)
    records = AGENT.records(Design(12, repetitions, {"checkpoint": PLACES}), seed=1)
    made = render_stage_replies(records)
    filler = " ".join(f"word{k}" for k in range(words)) + "\n"
    texts = [None if text is None else filler + text for text in made.texts]
    return made.with_texts(texts), [str(code) for code in records.factors["outcome"].values()]


def plain_loop(replies: Replies) -> list[str]:
    """Say the code of every reply as the paper words it, one after the other."""
    duty = replies.records.factors["duty"].values()
    gold = replies.records.factors["stage"].values()
    codes = []
    for text, call, due, stage in zip(replies.texts, replies.calls, duty, gold, strict=True):
        if text is None:
            codes.append("TRANSPORT")
            continue
        lines = [line for line in text.splitlines() if line.strip()]
        tags = [TAG.findall(line) for line in lines]
        ends = [
            t for line, t in zip(lines, tags, strict=True) if line.rstrip().endswith("</stage>")
        ]
        emitted = "<stage>" in text or "</stage>" in text
        formed = sum(map(len, ends)) == 1 and lines[-1].rstrip().endswith("</stage>")
        if due == "0":
            codes.append("APP_FALSE_ALARM" if emitted else "CLEAN")
        elif call:
            codes.append("APP_DIVERGENCE")
        elif not emitted:
            codes.append("APP_MISS")
        elif not formed:
            codes.append("MALFORMED")
        else:
            codes.append("CLEAN" if tags[-1][-1] == VALUES[str(stage)] else "STATE_WRONG")
    return codes


def ours(replies: Replies) -> list[str]:
    """Score one view and give the codes."""
    outcome = score_stageif(replies, views=("strict",)).factors["outcome"]
    return [outcome.levels[code] for code in outcome.codes.tolist()]


def write(replies: Replies, path: Path) -> None:
    labels = {n: replies.records.factors[n].values() for n in ("unit", "cluster", "duty", "stage")}
    with path.open("w", encoding="utf-8") as file:
        for row, (text, call) in enumerate(zip(replies.texts, replies.calls, strict=True)):
            line = {n: column[row] for n, column in labels.items()}
            file.write(json.dumps(line | {"reply": text, "calls": list(call or ())}) + "\n")


def score_file(path: str) -> int:
    """Read and score both views of a file: what `simtrack score --scheme stageif` does."""
    return len(score_stageif(read_replies(path))) // 2


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--replies", type=int, default=200_000)
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        started = time.perf_counter()
        n = score_file(options.file)
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"one process, from the file, both views: {n / seconds:,.0f} replies/s, "
              f"peak {peak:,.0f} MB")  # fmt: skip
        return
    replies, codes = drawn(options.replies, options.words)
    n = len(replies)
    size = sum(len(text) for text in replies.texts if text) / n
    print(f"{n:,} replies of {size:.0f} characters")

    def equal(a: object, b: object) -> None:
        assert a == b == codes

    timing = compare("codes of the strict view against a plain loop", lambda: ours(replies),
                     lambda: plain_loop(replies), equal=equal, pairs=3)  # fmt: skip
    print(f"  {n / timing.ours_s:,.0f} replies/s in one process, plain loop "
          f"{n / timing.peer_s:,.0f}")  # fmt: skip
    started = time.perf_counter()
    score_stageif(replies)
    print(f"  both views: {n / (time.perf_counter() - started):,.0f} replies/s")
    with tempfile.TemporaryDirectory() as folder:
        half = n // 2
        import numpy as np

        parts = []
        for k, rows in enumerate((np.arange(half), np.arange(half, n))):
            path = Path(folder) / f"part{k}.jsonl"
            write(replies.take(rows), path)
            parts.append(str(path))
        whole = Path(folder) / "whole.jsonl"
        whole.write_bytes(b"".join(Path(p).read_bytes() for p in parts))
        print(f"file of {whole.stat().st_size / 1e6:.0f} MB:")
        subprocess.run([sys.executable, __file__, "--file", str(whole)], check=True)
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            pool.map(score_file, parts)  # imports and caches
            started = time.perf_counter()
            done = sum(pool.map(score_file, parts))
            seconds = time.perf_counter() - started
        print(f"two processes, a file each, both views: {done / seconds:,.0f} replies/s")


if __name__ == "__main__":
    main()
