"""`simtrack doctor` and `simtrack run` as a user meets them."""

from __future__ import annotations

from simtrack.cli import doctor


def test_doctor_finds_ten_values_in_order(simtrack):
    done = simtrack("doctor", "--json")
    assert done.code == 0
    values = done.json["values"]
    assert len(values) == 10
    assert set(values.values()) == {"ok"}


def test_doctor_ends_with_3_where_a_value_is_wrong(simtrack, monkeypatch):
    checks = (("two and two", lambda: (4.0, 5.0)), ("broken", lambda: 1 / 0))
    monkeypatch.setattr(doctor, "_CHECKS", checks)
    done = simtrack("doctor")
    assert done.code == 3
    assert "FAIL  two and two: 4.0, not 5.0" in done.out
    assert "ZeroDivisionError" in done.out
    assert "not sound: two and two, broken" in done.err


def test_run_and_repeat(simtrack, tmp_path):
    first = simtrack("run", "probe_calibration", "-o", "first", "--json")
    assert first.code == 0
    again = simtrack("run", "first/result.nc", "-o", "second", "--json")
    assert again.json["repeats"] is True
    assert again.json["content_sha256"] == first.json["content_sha256"]
    for name in ("result.nc", "numbers.json"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_run_ends_with_3_where_a_result_is_not_repeated(simtrack, tmp_path):
    import xarray as xr

    simtrack("run", "probe_calibration", "-o", "first")
    with xr.open_dataset(tmp_path / "first" / "result.nc", engine="h5netcdf") as opened:
        changed = opened.load()
    changed["expected_rounds"] = changed["expected_rounds"] * (1 + 1e-9)
    changed.to_netcdf(tmp_path / "changed.nc", engine="h5netcdf")
    done = simtrack("run", "changed.nc", "-o", "second")
    assert done.code == 3
    assert "is not repeated" in done.err


def test_evidence_that_is_not_repeated_stays_as_it_was(simtrack, tmp_path):
    import xarray as xr

    simtrack("run", "probe_calibration", "-o", "first")
    kept = tmp_path / "first" / "result.nc"
    with xr.open_dataset(kept, engine="h5netcdf") as opened:
        changed = opened.load()
    changed["expected_rounds"] = changed["expected_rounds"] * (1 + 1e-9)
    changed.to_netcdf(kept, engine="h5netcdf")
    before = {p.name: p.read_bytes() for p in kept.parent.iterdir()}
    done = simtrack("run", "first/result.nc", "-o", "first")
    assert done.code == 3
    assert "1e-09, so nothing was written" in done.err
    assert {p.name: p.read_bytes() for p in kept.parent.iterdir()} == before
    assert simtrack("run", "first/result.nc", "-o", "elsewhere").code == 3
    assert not (tmp_path / "elsewhere").exists()
