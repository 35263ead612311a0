"""Mutated files of every text format: one line of refusal, or planned = the sum of all classes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simtrack.errors import SimtrackError
from simtrack.logs import read_log
from simtrack.options import Status
from simtrack.records import account

ROOT = Path(__file__).resolve().parents[2]
#: A run of the tool that takes longer hangs: 20,000 mutants take minutes.
HANG_S = 3600
STATUSES = get_args(Status)
TOKENS = (b"null", b"[]", b"{}", b"NaN", b"-1", b"1e999", b'"x"', b"true", b"9" * 30, b"0.5")
VALUE = re.compile(rb'(?<=[:\[, ])(-?\d+(?:\.\d+)?|"[^"]*"|null|true|false)(?=[,\]}])')
#: A refusal is one line that a person reads.
LINE_MAX = 1000


def jsonl(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def tau2():
    sims = [
        {"id": f"s{k}", "task_id": f"[f]a|b[PERSONA:Easy]{k % 2}", "trial": k // 2, "seed": 7,
         "termination_reason": ("user_stop", "infrastructure_error")[k == 3], "duration": 1.5,
         "reward_info": {"reward": 1.0, "reward_breakdown": {"DB": 1.0}}, "agent_cost": 0.1,
         "messages": [{"role": "assistant", "usage": {"prompt_tokens": 5}}]}
        for k in range(4)
    ]  # fmt: skip
    info = {"num_trials": 2, "git_commit": "a", "agent_info": {"llm": "m"}}
    tasks = [{"id": s["task_id"]} for s in sims[:2]]
    return {"timestamp": "t", "info": info, "tasks": tasks, "simulations": sims}


FILES = {
    "tau": json.dumps(
        [{"task_id": k, "trial": 0, "reward": 1.0, "info": {"error": None}, "traj": []}
         for k in range(3)]
    ).encode(),
    "tau2": json.dumps(tau2()).encode(),
    "lm_eval samples": jsonl(
        *({"doc_id": k, "resps": [["x"]], "filter": "none", "metrics": ["acc"], "acc": k % 2}
          for k in range(4))
    ),
    "lm_eval results": json.dumps(
        {"results": {"g": {"acc,none": 0.5, "acc_stderr,none": 0.1},
                     "a": {"alias": "a", "acc,none": 0.5, "acc_stderr,none": "N/A"}},
         "group_subtasks": {"g": ["a"]}, "groups": {"g": {"acc,none": 0.5}}, "versions": {"a": 1},
         "n-samples": {"a": {"original": 4, "effective": 4}}, "config": {"model_args": "a=b"}}
    ).encode(),
    "helm": json.dumps(
        [{"instance_id": f"id{k}", "train_trial_index": 0, "perturbation": None,
          "stats": [{"name": {"name": "em", "split": "test"}, "count": 1, "mean": 1.0}]}
         for k in range(3)]
    ).encode(),
    "openai": jsonl(
        {"spec": {"run_id": "r", "completion_fns": ["m"], "eval_name": "q"}},
        *({"sample_id": f"s{k}", "type": "match", "data": {"correct": True}} for k in range(3)),
        {"sample_id": "s9", "type": "error", "data": {"type": "E", "message": "x"}},
        {"final_report": {"accuracy": 1.0}},
    ),
    "every_eval_ever": jsonl(
        *({"evaluation_id": "e", "model_id": "m", "evaluation_name": "q", "sample_id": str(k),
           "evaluation": {"score": 1.0, "is_correct": True}, "token_usage": {"input_tokens": 3}}
          for k in range(3))
    ),
    "aggregate": json.dumps(
        {"evaluation_id": "e", "model_info": {"id": "m"}, "evaluation_results": [
            {"evaluation_name": "q", "score_details": {
                "score": 0.5, "uncertainty": {"standard_error": {"value": 0.1}}}}]}
    ).encode(),
    "array": json.dumps([{"id": k, "score": 1, "model": "m"} for k in range(3)]).encode(),
}  # fmt: skip


@st.composite
def mutants(draw):
    data = bytearray(FILES[draw(st.sampled_from(sorted(FILES)))])
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        kind = draw(st.sampled_from(["byte", "cut", "drop", "copy", "token", "token"]))
        if kind == "byte" and data:
            data[at] = draw(st.integers(0, 255))
        elif kind == "cut":
            del data[at:]
        elif kind == "drop":
            del data[at : at + draw(st.integers(1, 40))]
        elif kind == "copy":
            data[at:at] = data[at : at + draw(st.integers(1, 80))]
        else:
            found = list(VALUE.finditer(bytes(data)))
            if found:
                one = found[draw(st.integers(0, len(found) - 1))]
                data[one.start() : one.end()] = draw(st.sampled_from(TOKENS))
    return bytes(data)


def judge(path, data):
    path.write_bytes(data)
    for salvage in (False, True):
        try:
            table = account(read_log(path, salvage=salvage))
        except SimtrackError as error:
            refusal = str(error)
        else:
            refusal = ""
        assert "\n" not in refusal
        assert len(refusal) < LINE_MAX
        if not refusal:
            assert table.planned == sum(table.total(status) for status in STATUSES)


@pytest.mark.parametrize("name", FILES)
def test_the_files_themselves_are_read(name, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(FILES[name])
    assert len(read_log(path)) > 0


@pytest.mark.parametrize(
    "text", ['{"a\\nb": 1, "c": 2}', '{"a\\u001b[2J": {}, "evaluation_id": "e"}']
)
def test_names_that_a_file_holds_cannot_break_a_refusal(tmp_path, text):
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SimtrackError) as caught:
        read_log(path)
    assert str(caught.value).isprintable()


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(mutants())
def test_a_mutant_is_refused_in_one_line_or_adds_up(tmp_path, data):
    judge(tmp_path / "file", data)


def feed(paths, mutants, tmp_path, *more):
    """Let a process of its own, with bounded memory, damage these files and judge every answer."""
    tool = str(ROOT / "tools" / "feed_damaged_logs.py")
    command = [sys.executable, tool, *map(str, paths), "--mutants", str(mutants), *more]
    command += ["--keep", str(tmp_path / "kept")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def made_files(tmp_path):
    """Write the made files, for the formats that no committed log is of."""
    folder = tmp_path / "made"
    folder.mkdir()
    for name, data in FILES.items():
        (folder / name.replace(" ", "_")).write_bytes(data)
    return folder


linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded by Linux's means")


@linux
def test_damaged_logs_of_inspect_itself_lose_nothing_untold(fixtures, tmp_path):
    found = feed([fixtures, made_files(tmp_path)], 300, tmp_path)
    assert "300 mutants" in found
    assert "\n0 faults" in found


@linux
@pytest.mark.shared
def test_damaged_archived_logs_lose_nothing_untold(shared, tmp_path):
    assert "300 mutants" in feed([shared / "logs"], 300, tmp_path, "--seed", "1")


@linux
@pytest.mark.slow
def test_twenty_thousand_mutants(fixtures, tmp_path):
    archived = [folder for folder in (ROOT.parent / "shared" / "logs",) if folder.is_dir()]
    paths = [fixtures, made_files(tmp_path), *archived]
    assert "20000 mutants" in feed(paths, 20_000, tmp_path)


@linux
def test_a_reader_that_loses_a_row_in_silence_is_found(fixtures, tmp_path):
    """The judge can say no: with a reader that drops the last row, or that raises, it does."""
    for fault, said in (("lose", "gone untold"), ("change", "rows differ"), ("raise", "KeyError")):
        broken = tmp_path / f"{fault}.py"
        broken.write_text(BROKEN.format(tools=str(ROOT / "tools"), fault=fault), encoding="utf-8")
        command = [sys.executable, str(broken), str(fixtures / "fates.eval"), "--mutants", "60"]
        command += ["--keep", str(tmp_path / "kept")]
        run = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
        assert run.returncode == 3
        assert said in run.stderr


#: A reader with a fault, in the place of ours, for what comes after the originals were read.
BROKEN = """
import sys
sys.path.insert(0, {tools!r})
import feed_damaged_logs as tool
import judged_logs

real, judge = judged_logs.read_log, tool.judge


def faulty(path, **options):
    records = real(path, **options)
    if "{fault}" == "raise":
        raise KeyError("samples")
    if "{fault}" == "lose":
        return records.take(list(range(len(records) - 1)))
    records.numbers["value"][:1] = 0.125
    return records


def judged(*arguments):
    judged_logs.read_log = faulty
    return judge(*arguments)


tool.judge = judged
tool.main()
"""
