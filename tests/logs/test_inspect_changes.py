"""Changes of scoring between versions of Inspect: told where they touch a log, and only there."""

from __future__ import annotations

import json

import pytest

from simtrack.logs import read_log, scan
from simtrack.logs.inspect.changes import CHANGES


def log(path, version, *, scorer="match", value="C", epochs=1, reducer=None, **more):
    samples = [
        {"id": "q1", "epoch": 1, "scores": {scorer: {"value": value}}} | more.pop("sample", {})
    ]
    results = {"total_samples": 1, "completed_samples": 1,
               "scores": [{"name": scorer, "scorer": scorer, "reducer": reducer}]}  # fmt: skip
    found = {
        "version": 2,
        "status": more.pop("status", "success"),
        "plan": {},
        "eval": {"task": "t", "model": more.pop("model", "m/x"), "run_id": path.name,
                 "task_id": path.name, "packages": {"inspect_ai": version},
                 "dataset": {"sample_ids": ["q1"]}, "config": {"epochs": epochs}},
        "results": results,
        "samples": samples,
    }  # fmt: skip
    path.write_text(json.dumps(found), "utf-8")


def told(tmp_path, old, new, **more):
    for name, version in (("a.json", old), ("b.json", new)):
        log(
            tmp_path / name,
            version,
            **{k: v if k != "sample" else dict(v) for k, v in more.items()},
        )
    return [w for w in scan(tmp_path).warnings if "scoring changed" in w]


def just_before(version):
    return ".".join(map(str, (*version[:2], version[2] - 1)))


@pytest.mark.parametrize(
    "change", [c for c in CHANGES if c.scorers], ids=lambda c: f"{c.version[2]}-{c.scorers[0]}"
)
def test_a_change_of_a_scorer_is_told_for_that_scorer_alone(tmp_path, change):
    at = ".".join(map(str, change.version))
    for scorer in change.scorers:
        (found,) = told(tmp_path, just_before(change.version), at, scorer=scorer)
        assert f"from {at} on {change.what}" in found
        assert found.endswith("(before: a.json; since: b.json)")
    assert not any(change.what in w for w in told(tmp_path, just_before(change.version), at,
                                                  scorer="my_own"))  # fmt: skip
    assert not told(tmp_path, at, at, scorer=change.scorers[0])


USAGE = {"model_usage": {"m": {"input_tokens": 5, "output_tokens": 2}}}
TRAITS = [
    ("pass_at", (0, 3, 221), {"reducer": "pass_at_2"}),
    ("superseded", (0, 3, 50), None),
    ("nan", (0, 3, 113), {"value": float("nan")}),
    ("nan in epochs", (0, 3, 123), {"value": float("nan"), "epochs": 2}),
    ("left out", (0, 3, 154), {"sample": {"invalidation": {"author": "me"}}}),
    ("cancelled", (0, 3, 180), {"status": "cancelled"}),
    ("tokens", (0, 3, 184), {"sample": USAGE}),
    ("null", (0, 3, 206), {"value": None}),
    ("google tokens", (0, 3, 245), {"model": "google/gemini-3-pro", "sample": USAGE}),
    ("scored-errors", (0, 3, 217), {"sample": {"error": {"message": "x"}}}),
    ("nested", (0, 3, 253), {"value": {"a": 1, "b": 0}}),
]


@pytest.mark.parametrize(("trait", "version", "more"), TRAITS, ids=[t for t, _, _ in TRAITS])
def test_a_change_that_a_trait_decides_is_told_where_the_trait_is(tmp_path, trait, version, more):
    at = ".".join(map(str, version))
    (what,) = [c.what for c in CHANGES if (c.trait, c.version) == (trait, version)]
    assert not any(what in w for w in told(tmp_path, just_before(version), at))
    if more is not None:
        assert any(what in w for w in told(tmp_path, just_before(version), at, **more))


@pytest.mark.parametrize(("version", "other"), [((0, 3, 50), "q1"), ((0, 3, 104), "\\ud83d")])
def test_ids_that_are_there_twice_or_broken_are_told(tmp_path, version, other):
    at = ".".join(map(str, version))
    for name, text in (("a.json", just_before(version)), ("b.json", at)):
        log(tmp_path / name, text)
        found = json.loads((tmp_path / name).read_text("utf-8"))
        found["samples"].append(found["samples"][0] | {"id": "OTHER"})
        whole = json.dumps(found).replace("OTHER", other)
        (tmp_path / name).write_text(whole, "utf-8")
    assert any(f"from {at} on " in w and "ids" in w for w in scan(tmp_path).warnings)


def test_every_trait_that_a_change_asks_for_is_one_that_logs_have():
    asked = {change.trait for change in CHANGES} - {""}
    assert asked <= {trait for trait, _, _ in TRAITS} | {"surrogates"}
    assert [c.version for c in CHANGES] == sorted(c.version for c in CHANGES)


def test_many_changes_between_two_files_are_one_line(tmp_path):
    (found,) = told(tmp_path, "0.3.30", "0.3.285")
    assert found.count("from 0.3.") == 9
    assert "case folding" in found


def test_samples_answered_by_a_fallback_model_are_counted(tmp_path):
    fallbacks = {"model_fallbacks": [{"model": "m/x", "fallback_model": "m/y", "count": 1}]}
    log(tmp_path / "a.json", "0.3.285", sample=fallbacks)
    (note,) = [n for n in read_log(tmp_path / "a.json").notes if "fallback" in n]
    assert "1 samples were answered by a fallback model" in note
