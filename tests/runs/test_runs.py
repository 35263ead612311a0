"""Studies, provenance and the store."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
import xarray as xr

from simtrack.errors import DataError, InputError
from simtrack.probe import StoppingRule
from simtrack.runs import content_hash, find_study, load_study, read_result, run_study
from simtrack.runs.calibration import run_calibration
from simtrack.runs.coverage import run_coverage
from simtrack.runs.provenance import largest_difference
from simtrack.runs.study import parse_study

ROOT = pathlib.Path(__file__).resolve().parents[2]
ABOUT = dict.fromkeys(("name", "kind", "title", "what", "why", "primary"), "x")


def test_shipped_studies_equal_those_of_the_checkout():
    shipped = sorted((ROOT / "simtrack" / "runs" / "data").glob("*.toml"))
    assert shipped
    for path in shipped:
        assert path.read_bytes() == (ROOT / "studies" / path.stem / "study.toml").read_bytes()


def test_a_result_rebuilds_its_own_call(tmp_path):
    done = run_study("probe_calibration", tmp_path)
    result = read_result(done.result)
    exact = StoppingRule().operating_characteristics(
        result["full"].values, result["ablated"].values
    )
    np.testing.assert_array_equal(result["probability"].values, exact["probability"].values)
    assert result.attrs["content_sha256"] == done.sha256 == content_hash(result)
    assert run_study(str(done.result), tmp_path / "again").repeats


def test_content_hash_sees_values_labels_and_names_but_not_attributes():
    base = xr.Dataset({"a": ("x", [1.0, 2.0])}, {"x": ["p", "q"]})
    same = base.assign_attrs(note="other")
    assert content_hash(same) == content_hash(base)
    others = [
        base.assign(a=base["a"] + 1e-16 + 1e-15),
        base.assign_coords(x=["p", "r"]),
        base.rename(a="b"),
    ]
    assert len({content_hash(d) for d in (base, *others)}) == 4


def test_largest_difference():
    base = xr.Dataset({"a": ("x", [1.0, np.nan]), "n": ("x", [1, 2])})
    assert largest_difference(base, base) == 0
    moved = base.assign(a=("x", [1.0 + 1e-9, np.nan]))
    assert largest_difference(base, moved) == pytest.approx(1e-9, rel=1e-3)
    assert largest_difference(base, base.assign(n=("x", [1, 3]))) == np.inf
    assert largest_difference(base, base.assign(a=("x", [1.0, 2.0]))) == np.inf


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, r"has no \[study\] table"),
        ({"study": {"name": "x"}}, "lacks kind, title"),
        ({"study": ABOUT | {"titel": "x"}}, "Did you mean title"),
    ],
)
def test_incomplete_studies_are_refused(content, message):
    with pytest.raises((DataError, InputError), match=message):
        parse_study(content, "study.toml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('[rule]\nk_maxx = 3', "key must be one of threshold"),
        ('[grid]\nstep = "0.3"', "step must be one that divides 1"),
        ("[gird]\nstep = 1", "table must be one of rule, grid"),
        ('[rule]\nconfidence = "0.4"', "confidence must be above 1/2"),
    ],
)  # fmt: skip
def test_wrong_settings_write_nothing(tmp_path, change, message):
    lines = [f'{k} = "{v}"' for k, v in (ABOUT | {"kind": "probe-calibration"}).items()]
    path = tmp_path / "study.toml"
    path.write_text("[study]\n" + "\n".join(lines) + "\n" + change + "\n")
    with pytest.raises(InputError, match=message):
        run_study(str(path), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_unknown_kind_and_broken_files(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text("[study]\n" + "\n".join(f'{k} = "x"' for k in ABOUT))
    with pytest.raises(InputError, match="kind must be one of probe-calibration"):
        run_study(str(path), tmp_path / "out")
    path.write_text("[study\n")
    with pytest.raises(DataError, match="not valid TOML"):
        load_study(path)
    with pytest.raises(DataError, match="Did you mean probe_calibration"):
        find_study("probe_calibratoin")
    xr.Dataset({"a": 1}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(DataError, match="carries no provenance"):
        run_study(str(tmp_path / "other.nc"), tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("[grid]\ntruths = [1]", r"truths must be a list of pairs \[full, ablated\], got 1"),
        ("[grid]\ntruths = 3", "truths must be a list, got 3"),
        ("[grid]\nmargins = 3", "margins must be a list, got 3"),
        ('[cost]\nusd_per_call = "abc"', "usd_per_call must be a finite number"),
        ("[cost]\nusd_per_call = -1", "usd_per_call must be a finite number from 0"),
        ("[cost]\nclauses = 1" + "0" * 400, "clauses must be an integer from 1 to"),
        ("[published]\nrate = nan", "holds a date, NaN, infinity or endless number"),
        ("[published]\nwhen = 2020-01-01", "holds a date, NaN, infinity or endless number"),
        ("[cost]\nclauses = " + "7" * 5000, "is not valid TOML: Exceeds the limit"),
        ("x = " + "[" * 5000, "is nested too deeply to be a study"),
    ],
    ids=range(10),
)
def test_settings_of_another_shape_write_nothing(tmp_path, change, message):
    lines = [f'{k} = "{v}"' for k, v in (ABOUT | {"kind": "probe-calibration"}).items()]
    path = tmp_path / "study.toml"
    path.write_text("[study]\n" + "\n".join(lines) + "\n" + change + "\n")
    with pytest.raises((DataError, InputError), match=message) as caught:
        run_study(str(path), tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_published_numbers_must_be_a_table(tmp_path):
    content = {"study": ABOUT | {"kind": "probe-calibration"}, "published": 3}
    with pytest.raises(InputError, match="published must be a table, got int"):
        run_calibration(parse_study(content, "study.toml"))


@pytest.mark.parametrize("name", ["../../x", "a/b", "..", ".hidden", "", "a\\b", "x" * 101, "a b"])
def test_a_name_is_one_plain_component_of_a_path(name):
    with pytest.raises(InputError, match="name must be letters, digits"):
        parse_study({"study": ABOUT | {"name": name}}, "study.toml")


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[]", "{}", '{"study": 3}', "[" * 100_000, '{"study": {"name": "x"}}']
)
def test_a_damaged_provenance_is_refused(tmp_path, text):
    done = run_study("probe_calibration", tmp_path / "first")
    result = read_result(done.result)
    result.attrs["simtrack_provenance"] = text[:40_000]
    result.to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    with pytest.raises(DataError, match=r"the provenance of .*x.nc"):
        run_study(str(tmp_path / "x.nc"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("grid", "run", "message"),
    [
        ({}, {"seed": 1}, "clusters must be a list, got None"),
        ({"clusters": 3}, {"seed": 1}, "clusters must be a list, got 3"),
        (None, {}, "seed must be given"),
        (None, {"seed": 1, "slow": [[1]]}, "slow must be a list of names"),
        ({"rates": ["high"]}, {"seed": 1}, "rates must be a finite number from 0 to 1, got 'high'"),
    ],
    ids=range(5),
)
def test_a_coverage_study_of_another_shape_is_refused(grid, run, message):
    whole = {"clusters": [6], "rates": ["0.5"], "icc": ["0"], "slope_sd": ["0"], "trials": [10]}
    content = {"study": ABOUT | {"kind": "coverage"}, "run": run}
    content["grid"] = whole | grid if grid else whole if grid is None else grid
    with pytest.raises(InputError, match=message):
        run_coverage(parse_study(content, "study.toml"))
