"""Make Inspect logs of any size: a real one, run by Inspect, and larger ones grown from it."""

from __future__ import annotations

import base64
import itertools
import json
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["grow", "make_log"]

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


def grow(log: Path, samples: int, path: Path, attached_bytes: int = 0) -> Path:
    """Write a log of at least `samples` sample-epochs by repeating those of a real one.

    Every copy has ids and uuids of its own; summaries, journal, reductions, the plan, counts and
    standard errors in the header follow, as Inspect would have written them. `attached_bytes` of
    random text are added to the attachments of each sample, which is where large logs are large.
    """
    import zipfile_zstd  # noqa: F401 - lets zipfile pack as Inspect does

    with zipfile.ZipFile(log) as real:
        found = {name: json.loads(real.read(name)) for name in real.namelist()}
    bodies = {n: body for n, body in found.items() if n.startswith("samples/")}
    copies = -(-samples // len(bodies))
    noise = random.Random(7)
    journals = [n for n in found if n.startswith("_journal/summaries/")]
    number = itertools.count(1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_ZSTANDARD) as out:  # type: ignore[attr-defined]
        out.writestr("_journal/start.json", text(planned(found["_journal/start.json"], copies)))
        for copy in range(copies):
            for body in bodies.values():
                own = relabelled(body, copy)
                for event in own.get("events", ()):
                    if event["event"] == "sample_init":
                        event["sample"] = relabelled(event["sample"], copy)
                if attached_bytes:
                    raw = base64.b64encode(noise.randbytes(attached_bytes * 3 // 4)).decode()
                    own["attachments"] = {**own.get("attachments", {}), "0" * 32: raw}
                out.writestr(f"samples/{own['id']}_epoch_{own['epoch']}.json", text(own))
            for name in journals:
                rows = [relabelled(row, copy) for row in found[name]]
                out.writestr(f"_journal/summaries/{next(number)}.json", text(rows))
        out.writestr("summaries.json", text(list(repeated(found["summaries.json"], copies))))
        reduced = [
            {**r, "samples": list(repeated(r["samples"], copies, "sample_id"))}
            for r in found["reductions.json"]
        ]
        out.writestr("reductions.json", text(reduced))
        out.writestr("header.json", text(header(found["header.json"], copies)))
    return path


def text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def named(identity: str, copy: int) -> str:
    return f"r{copy:04d}-{identity}"


def relabelled(row: dict[str, Any], copy: int, key: str = "id") -> dict[str, Any]:
    own = {**row, key: named(row[key], copy)}
    return own | ({"uuid": f"{row['uuid'][:-4]}{copy:04d}"} if "uuid" in row else {})


def repeated(rows: list[Any], copies: int, key: str = "id") -> Iterator[dict[str, Any]]:
    return (relabelled(row, copy, key) for copy in range(copies) for row in rows)


def planned(start: dict[str, Any], copies: int) -> dict[str, Any]:
    """Give a start or header whose plan holds every copy."""
    dataset = start["eval"]["dataset"]
    ids = [named(i, copy) for copy in range(copies) for i in dataset["sample_ids"]]
    dataset = {**dataset, "samples": len(ids), "sample_ids": ids}
    return {**start, "eval": {**start["eval"], "dataset": dataset}}


def header(found: dict[str, Any], copies: int) -> dict[str, Any]:
    """Give the header of the grown log: counts times `copies`, standard errors as they become."""
    made = planned(json.loads(json.dumps(found)), copies)
    results = made["results"]
    for name in ("total_samples", "completed_samples"):
        results[name] *= copies
    for score in results["scores"]:
        n = score["scored_samples"]
        score["scored_samples"] *= copies
        score["unscored_samples"] *= copies
        if "stderr" in score["metrics"]:  # of the same values, each `copies` times
            score["metrics"]["stderr"]["value"] *= ((n - 1) / (n * copies - 1)) ** 0.5
    for usage in made["stats"]["model_usage"].values():
        for name, amount in usage.items():
            usage[name] = amount * copies
    return made
