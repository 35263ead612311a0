"""Tables: alignment, CSV, and what a terminal would make of hostile labels."""

from __future__ import annotations

import csv
import io
import sys

from simtrack.report.table import Table, number, percent

TABLE = Table("t:", ("model", "n"), [("a", "10"), ("[red]b", "2")], frozenset({"model"}))


def test_plain_is_aligned():
    assert TABLE.plain().splitlines() == ["t:", "model    n", "a       10", "[red]b   2"]


def test_a_pipe_gets_plain_text(capsys):
    TABLE.show()
    assert capsys.readouterr().out == TABLE.plain() + "\n"


def test_a_terminal_gets_the_same_cells_and_no_markup(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    TABLE.show()
    shown = capsys.readouterr().out
    assert "[red]b" in shown
    assert "10" in shown


def test_a_narrow_terminal_cuts_nothing_off(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "24")
    wide = Table("", ("E[rounds]", "model"), [("12.5", "a-model-with-a-long-name")])
    wide.show()
    shown = capsys.readouterr().out.splitlines()
    assert shown == ["E[rounds]  12.5", "model      a-model-with-a-long-name"]


def test_no_color_is_obeyed(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    TABLE.show()
    assert capsys.readouterr().out == TABLE.plain() + "\n"


def test_csv_keeps_numbers_and_defuses_formulas():
    table = Table("", ("a",), [("-1.5",), ("=1+1",), ("+x",), ("@y",), ('q"r,\n',)])
    read = [row[0] for row in csv.reader(io.StringIO(table.csv()))]
    assert read == ["a", "-1.5", "'=1+1", "'+x", "'@y", 'q"r,\n']


def test_numbers():
    assert number(1 / 3, 2) == "0.33"
    assert percent((0.1, 0.25)) == "10.0 to 25.0 %"


def test_a_label_never_breaks_its_line_or_moves_the_cursor():
    table = Table("", ("a", "n"), [("x\ny\r\x1b[2J\u2028z", "1"), ("é\u00a0ü", "2")])
    assert table.plain().splitlines()[1:] == [
        r"x\ny\r\x1b[2J\u2028z  1", "                 é\u00a0ü  2"
    ]  # fmt: skip
    assert len(table.stacked().splitlines()) == 5
