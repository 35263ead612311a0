"""Read a 2,000-sample Inspect log: simtrack against inspect_ai's samples_df, answers equal first.

Run: python benchmarks/read_log.py [--samples 2000] [--log FILE] [--pairs 3]

The log is made by Inspect itself with its mock model (dict and letter scores, some errors).
Neither side's import is timed: inspect_ai.analysis takes seconds to import, which is stated.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness import compare

EPOCHS = 4
TAGS = ("needs_information", "ready_for_action", "post_observation_continue", "completed")


def make_log(folder: Path, samples: int, context: int) -> Path:
    """Let Inspect run `samples` sample-epochs on its mock model and give the log's path.

    `context` words are added to every prompt, to make transcripts longer.
    """
    stub_tokenizer()
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.scorer import Score, accuracy, mean, scorer, stderr
    from inspect_ai.solver import generate, solver

    @scorer(metrics={"clean": [mean()], "emitted": [mean()]})
    def stage():
        async def score(state, target):
            text = state.output.completion.strip()
            last = text.splitlines()[-1]
            clean = last == f"<stage>{target.text}</stage>"
            return Score(value={"clean": int(clean), "emitted": int("<stage>" in text)})

        return score

    @scorer(metrics=[accuracy(), stderr()])
    def letter():
        async def score(state, target):
            text = state.output.completion
            return Score(value="C" if target.text in text else "P" if "<stage>" in text else "I")

        return score

    @solver
    def sometimes_fails():
        async def solve(state, generate):
            if hash_of(str(state.sample_id), state.epoch) % 97 == 0:
                raise RuntimeError("upstream 502")
            return await generate(state)

        return solve

    ids = samples // EPOCHS
    dataset = [
        Sample(
            input=f"scenario {i // 4} checkpoint {i % 4}: " + "context " * context,
            target=TAGS[i % 4],
            id=f"sc{i // 4:03d}-cp{i % 4}",
            metadata={"scenario": f"sc{i // 4:03d}", "stage": TAGS[i % 4], "duty": 1},
        )
        for i in range(ids)
    ]
    replies = (ModelOutput.from_content("mockllm/model", reply(k)) for k in itertools.count())
    model = get_model("mockllm/model", custom_outputs=replies)
    task = Task(
        dataset=dataset,
        solver=[sometimes_fails(), generate()],
        scorer=[stage(), letter()],
        epochs=EPOCHS,
        name="stage_reports",
    )
    log = eval(
        task,
        model=model,
        log_dir=str(folder),
        display="none",
        fail_on_error=False,
        log_format="eval",
    )[0]
    return Path(log.location.removeprefix("file://"))


def stub_tokenizer() -> None:
    """Put a byte tokenizer in place of the one that Inspect would download."""
    import tiktoken

    tiny = tiktoken.Encoding(
        "tiny",
        pat_str=r"\s+|\S+",
        mergeable_ranks={bytes([i]): i for i in range(256)},
        special_tokens={},
    )
    tiktoken.get_encoding = lambda name: tiny
    tiktoken.encoding_for_model = lambda name: tiny


def hash_of(text: str, epoch: int) -> int:
    return sum(ord(c) * (k + 1) for k, c in enumerate(text)) * 31 + epoch * 17


def reply(k: int) -> str:
    tag, other = TAGS[k // 3 % 4], TAGS[k * 7 % 4]
    return (
        f"Working on it.\n<stage>{tag}</stage>",
        "Working on it.",
        f"Working.\n<stage>{other}</stage>",
        f"<stage>{tag}</stage>\nAnything else?",
    )[k * 13 % 11 % 4]


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
    """Check id, epoch, score and error of every sample, on every metric."""
    ours, theirs = rows_of_ours(records), rows_of_inspect(frame)
    assert ours.keys() == theirs.keys(), "the two readers disagree on which trials there are"
    for key, (value, errored) in ours.items():
        their_value, their_error = theirs[key]
        same = value == their_value or (math.isnan(value) and math.isnan(their_value))
        assert same, (key, value, their_value)
        assert errored == their_error, (key, errored, their_error)
    print(f"equal on {len(ours)} readings of {len(frame)} samples")


def import_seconds(module: str) -> float:
    code = f"import time; s = time.perf_counter(); import {module}; print(time.perf_counter() - s)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(out.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--log", type=Path, help="a log that this script made before")
    parser.add_argument("--context", type=int, default=0, help="words to add to a prompt")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="folder to make the log in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = options.log or make_log(
            options.keep or Path(folder), options.samples, options.context
        )
        from inspect_ai.analysis import samples_df

        from simtrack.logs import read_log

        print(f"{log.name}: {log.stat().st_size / 1e6:.2f} MB")
        compare(
            "all samples: read_log against samples_df(full=True)",
            lambda: read_log(log),
            lambda: samples_df(str(log), full=True, quiet=True),
            equal=assert_equal,
            pairs=options.pairs,
        )
        compare(
            "summaries: read_log(detail='summaries') against samples_df()",
            lambda: read_log(log, detail="summaries"),
            lambda: samples_df(str(log), quiet=True),
            equal=assert_equal,
            pairs=options.pairs,
        )
    for module in ("inspect_ai.analysis", "simtrack.logs"):
        print(f"import {module}: {import_seconds(module):.2f} s, not in the times above")


if __name__ == "__main__":
    main()
