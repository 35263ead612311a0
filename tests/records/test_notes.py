"""What a table tells its reader keeps its codes: in the table, in its file, and beside a label."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from simtrack.logs import read_log
from simtrack.logs.trials import write_trials
from simtrack.note import Note
from simtrack.records import Records

NOTE = Note("columns-guessed", "a.csv: value = passed", "passed", 3)


def _records(*notes: str) -> Records:
    found = Records.from_columns({"unit": ["q1", "q2"], "value": [1, 0]})
    return replace(found, notes=notes)


def _parts(note: str) -> tuple[str, str, str, int]:
    assert isinstance(note, Note)
    return str(note), note.code, note.where, note.n


def test_a_table_keeps_notes_and_makes_notes_of_texts() -> None:
    first, second = _records(NOTE, "two\n lines").notes
    assert first is NOTE
    assert _parts(second) == ("two lines", "", "", 0)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_trial_table_gives_notes_back_with_their_codes(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t.{suffix}"
    write_trials(_records(NOTE, "plain"), path)
    assert [_parts(n) for n in read_log(path).notes] == [_parts(NOTE), ("plain", "", "", 0)]


def test_a_label_is_put_before_and_taken_away() -> None:
    note = Note("salvaged", "line 3 is torn", n=1)
    told = note.at("a.jsonl")
    assert _parts(told) == ("a.jsonl: line 3 is torn", "salvaged", "a.jsonl", 1)
    assert _parts(told.bare("a.jsonl")) == _parts(note)
    assert _parts(NOTE.at("b")) == ("b: a.csv: value = passed", "columns-guessed", "passed", 3)


def test_a_note_survives_a_pickle() -> None:
    assert _parts(pickle.loads(pickle.dumps(NOTE))) == _parts(NOTE)
