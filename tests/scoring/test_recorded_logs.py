"""The recorded logs of stage reports, rescored and recounted from the raw JSON by other code."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from simtrack.analysis.scheme_score import score_replies
from simtrack.logs import read_log, read_replies
from simtrack.logs.zips import Archive
from simtrack.scoring.corruption import corruption_gate
from simtrack.scoring.schemes import SCHEMES

pytestmark = pytest.mark.shared


def _samples(path):
    if path.suffix == ".json":
        return json.loads(path.read_text("utf-8"))["samples"]
    with path.open("rb") as file:  # unpacked by our own code: Python's knows no zstd
        archive = Archive(file, path.name)
        return [json.loads(archive.read(n)) for n in archive.members if n.startswith("samples/")]


def _recount(samples):
    """Count codes as a reader of the paper would, line by line, strict and out of envelopes."""
    found = {"strict": Counter(), "stripped": Counter()}
    for sample in samples:
        text, gold = sample["output"]["choices"][0]["message"]["content"], sample["target"]
        inner = json.loads(text)["message"] if text.startswith("{") else text
        for view, words in (("strict", text), ("stripped", inner)):
            last = words.rstrip("\n").split("\n")[-1]
            if "<stage>" not in words:
                code = "APP_MISS"
            elif not (last.startswith("<stage>") and last.endswith("</stage>")):
                code = "MALFORMED"
            else:
                code = "CLEAN" if last == f"<stage>{gold}</stage>" else "STATE_WRONG"
            found[view][code] += 1
    return found


@pytest.mark.parametrize("name", ["stage_reports.eval", "stage_reports.json"])
def test_codes_are_those_of_an_independent_count(shared, name) -> None:
    path = shared / "logs" / "inspect_mock" / name
    score, tables = score_replies(read_replies(path), "stageif")
    wanted = _recount(_samples(path))
    for view in ("strict", "stripped"):
        scored = tables["checkpoint"].select(view=view)
        assert Counter(scored.factors["outcome"].values()) == wanted[view]
        row = next(r for r in score.rows if r.estimand == "adherence" and r.labels == (view,))
        assert (row.numerator, row.denominator) == (wanted[view]["CLEAN"], 144)
    account = score.accounting.rows[0]
    assert (account.planned, account.n("scored")) == (144, 144)


@pytest.mark.parametrize("name", ["stage_reports.eval", "stage_reports.json"])
def test_the_strict_reading_is_the_verdict_of_the_scorer_that_ran(shared, name) -> None:
    path = shared / "logs" / "inspect_mock" / name
    _, tables = score_replies(read_replies(path), "stageif")
    ours = tables["checkpoint"].select(view="strict").numbers["value"].tolist()
    theirs = read_log(path, metric="stage.clean").numbers["value"].tolist()
    assert ours == theirs


@pytest.mark.parametrize("name", ["stage_reports.eval", "stage_reports.json"])
def test_no_success_survives_corruption(shared, name) -> None:
    scheme = SCHEMES["stageif"]
    path = shared / "logs" / "inspect_mock" / name
    assert corruption_gate(read_replies(path), scheme, scheme.load({}, "protocol")).passed
