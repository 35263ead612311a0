"""Every number of a preset's file stands beside its source."""

from __future__ import annotations

import pathlib
import re

import pytest

from simtrack.agents.presets.cited import block

HERE = pathlib.Path(__file__).resolve().parents[2] / "simtrack" / "agents" / "presets"
FILES = sorted(path.stem for path in HERE.glob("*.toml"))
CITED = re.compile(r"^(solved from )?(stageif|statetrack|rebind)/\w+\.csv\b|^assumed$")


def test_five_papers_blocks_are_there():
    assert FILES == ["gate", "rebind", "stageif", "statetrack", "tau2"]


@pytest.mark.parametrize("name", FILES)
def test_every_table_and_every_input_cites_its_source(name):
    found = block(name)
    inputs = [x for p in (found.common, *found.presets.values()) if p for x in p.inputs]
    sources = [x.source for x in (*found.numbers.values(), *inputs)]
    assert sources
    assert [source for source in sources if not CITED.match(source)] == []
    assert all(numbers.rows and numbers.quantity for numbers in found.numbers.values())


@pytest.mark.shared
@pytest.mark.parametrize("name", FILES)
def test_every_cited_table_is_in_the_study_material(shared, name):
    found = block(name)
    inputs = [x for p in (found.common, *found.presets.values()) if p for x in p.inputs]
    texts = [x.source for x in (*found.numbers.values(), *inputs)]
    texts += [line for about in found.about.values() for line in about.inputs]
    cited = {file for text in texts for file in re.findall(r"\w+/\w+\.csv", text)}
    assert cited
    assert [file for file in sorted(cited) if not (shared / "reference" / file).is_file()] == []
