"""An interval without width, or a standard error of 0, is shown as precision by no method."""

from __future__ import annotations

import csv
import io

import pytest

from simtrack.analysis.catalogue import METHODS, methods_for

#: Quadratures of seconds: one of them stands for both.
SLOW = {"hierarchical-logit", "hierarchical-slope"}
RATES = [n for n in methods_for("score --method") if n not in SLOW]
TWO_LEVELS = [n for n in methods_for("test --method") if n not in SLOW]


def table(tmp_path, rows):
    path = tmp_path / "flat.csv"
    lines = [",".join(map(str, row)) for row in rows]
    path.write_text("id,arm,group,score\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("score", [0, 1])
@pytest.mark.parametrize("method", RATES)
def test_rates_without_spread(method, score, simtrack, tmp_path):
    path = table(tmp_path, [(f"q{k}", "x", "g", score) for k in range(12)])
    done = simtrack("score", path, "--method", method, "--json")
    assert done.code == 0, done.err
    (row,) = done.json["metrics"][0]["estimates"]["rows"]
    assert row["low"] is None or row["low"] < row["high"]
    if row["clustered_se"] == 0.0 or row["naive_se"] == 0.0:
        assert any("no sign of precision" in note["text"] for note in row["notes"])
        (line,) = csv.DictReader(io.StringIO(simtrack("score", path, "--method", method,
                                                      "--csv").out))  # fmt: skip
        assert "flat" in line["notes"].split()
        assert "no sign of precision" in simtrack("score", path, "--method", method).out


@pytest.mark.parametrize("gap", [0, 1])
@pytest.mark.parametrize("method", TWO_LEVELS)
def test_levels_that_differ_alike_everywhere(method, gap, simtrack, tmp_path):
    apart = METHODS[method].pairing == "none"
    rows = [(f"{arm if apart else ''}q{k}", arm, f"g{k % 2}", score)
            for k in range(12) for arm, score in (("x", gap), ("y", 0))]  # fmt: skip
    path = table(tmp_path, rows)
    strata = ("--strata", "group") if METHODS[method].strata == "must" else ()
    command = ("test", path, "--compare", "x", "y", "--method", method, *strata)
    done = simtrack(*command, "--json")
    if done.code:  # a row that refuses such data says so, and shows nothing
        assert "must be" in done.err
        return
    (row,) = done.json["rows"]
    assert row["low"] is None or row["low"] < row["high"]
    if row.get("se") == 0.0:
        assert any(
            "no sign of precision" in n["text"] or "width would be 0" in n["text"]
            for n in row["notes"]
        )
        (line,) = csv.DictReader(io.StringIO(simtrack(*command, "--csv").out))
        assert "flat" in line["notes"].split()
    assert "+0.0000 to +0.0000" not in simtrack(*command).out


def test_pairs_without_discordance_have_the_interval_of_tango(simtrack, tmp_path):
    path = table(tmp_path, [(f"q{k}", arm, "g", int(k % 5 > 0)) for k in range(50) for arm in "xy"])
    for method in ("mcnemar", "tango"):
        (row,) = simtrack("test", path, "--compare", "x", "y", "--method", method,
                          "--json").json["rows"]  # fmt: skip
        # the score interval at b = c = 0: ± z²/(n + z²)
        half = 1.959963984540054**2 / (50 + 1.959963984540054**2)
        assert (row["low"], row["high"]) == pytest.approx((-half, half), abs=1e-6)
    (flips,) = simtrack("test", path, "--compare", "x", "y", "--json").json["rows"]
    assert (flips["low"], flips["high"], flips["pvalue"]) == (None, None, 1.0)
    assert any("no sign of precision" in note["text"] for note in flips["notes"])
