"""Human labels replayed through the frozen rule: diagnoses, agreement and κ."""

from __future__ import annotations

import numpy as np
import pytest

from simtrack.errors import DataError, InputError
from simtrack.probe import StoppingRule
from simtrack.records import Records
from simtrack.scoring.diagnosis import HumanLabels, replay_diagnoses

CODE = {"P": "PASS", "F": "FAIL", "U": "UNPARSEABLE", "T": "TRANSPORT"}


def table(diagnoses: list[tuple[str, str, str, str]]) -> Records:
    """Codes and labels of full and ablated artifacts, a letter a round: (PPP, FFF, AAA, BBB)."""
    columns: dict[str, list[str | None]] = {
        n: [] for n in ("diagnosis", "round", "spec", "outcome", "human")
    }
    for d, (full, ablated, human_full, human_ablated) in enumerate(diagnoses, 1):
        for spec, codes, labels in (
            ("full", full, human_full),
            ("ablated", ablated, human_ablated),
        ):
            for k, (code, label) in enumerate(zip(codes, labels, strict=True), 1):
                row = (f"d{d}", str(k), spec, CODE[code], None if label == "." else label)
                for name, value in zip(columns, row, strict=True):
                    columns[name].append(value)
    return Records.from_columns(columns, kind="clause")


ADOPTED = ("P" * 12, "F" * 12, "A" * 12, "B" * 12)
DEAD = ("F" * 12, "F" * 12, "B" * 12, "B" * 12)
#: Right code in broken markup: the checker sees nothing that parses, the human sees the behaviour.
FORMAT = ("U" * 12, "F" * 12, "A" * 12, "B" * 12)
#: Three of four pass: too near the threshold of .8 for a confidence of .8 in 12 rounds.
UNSURE = ("PPPF" * 3, "F" * 12, "AAAB" * 3, "B" * 12)


def test_the_papers_agreement() -> None:
    # 36 diagnoses, one not confident; 32 of 35 agree (0.914), the others at the format boundary.
    found = replay_diagnoses(table([ADOPTED] * 20 + [DEAD] * 12 + [FORMAT] * 3 + [UNSURE]))
    assert (len(found.diagnoses), found.confident, found.agree) == (36, 35, 32)
    assert round(found.agreement.value or 0.0, 3) == 0.914
    # States of the system: 20 adopted, 15 dead; of the human: 23 and 12. By chance
    # (20·23 + 15·12) / 35² = 640/1225; κ = (1120 - 640) / (1225 - 640).
    assert found.kappa.value == pytest.approx(480 / 585)
    states = {(d.system, d.human) for d in found.diagnoses}
    assert states == {("adopted", "adopted"), ("dead", "dead"), ("dead", "adopted"),
                      ("not_confident", "not_confident")}  # fmt: skip
    # 864 artifacts; 36 full ones of FORMAT differ.
    assert found.samples == 864
    assert found.sample_agreement.value == pytest.approx(1 - 36 / 864)
    assert "32 of 35" in repr(found)
    assert found.to_dict()["schema"] == "simtrack.diagnosis-replay/1"


def test_replay_stops_where_the_probe_stops() -> None:
    found = replay_diagnoses(table([ADOPTED])).diagnoses[0]
    session = StoppingRule().session()
    rounds = 0
    while session.decision is None:
        session.update(full=True, ablated=False)
        rounds += 1
    assert (found.system_rounds, found.human_rounds, found.recorded_rounds) == (rounds, rounds, 12)


def test_what_the_human_cannot_judge_is_no_draw() -> None:
    # Every other round cannot be judged on one side: 6 usable rounds, one too few to decide
    # (an adopted clause of this kind takes 7).
    unclear = ("P" * 12, "F" * 12, "AC" * 6, "B" * 12)
    found = replay_diagnoses(table([unclear]))
    only = found.diagnoses[0]
    assert (only.system, only.human, only.human_rounds) == ("adopted", "not_confident", 6)
    assert (only.cannot_judge, found.cannot_judge, found.samples) == (6, 6, 18)
    assert (found.confident, found.agree, found.agreement.value) == (0, 0, None)
    other_side = ("P" * 12, "F" * 12, "A" * 12, "BC" * 6)
    assert replay_diagnoses(table([other_side])).diagnoses[0].human_rounds == 6
    # Other names for the three labels.
    labels = HumanLabels(("A", "C"), ("B",), ())
    assert replay_diagnoses(table([unclear]), labels=labels).agree == 1


def test_missing_labels_and_replies_are_counted() -> None:
    some = ("P" * 11 + "T", "F" * 12, "A" * 10 + "..", "B" * 12)
    found = replay_diagnoses(table([some]))
    assert (found.unlabelled, found.cannot_judge, found.samples) == (2, 0, 22)
    assert found.agree == 1


def test_order_of_rounds_is_by_number() -> None:
    # Rounds 1 to 9 pass, 10 to 12 fail: as text, round 10 would come second.
    late = ("P" * 9 + "F" * 3, "F" * 12, "A" * 9 + "B" * 3, "B" * 12)
    records = table([late])
    backwards = records.take(np.arange(len(records))[::-1])
    for rows in (records, backwards):
        assert replay_diagnoses(rows).diagnoses[0].system_rounds == 7


def test_rounds_must_be_pairs() -> None:
    records = table([ADOPTED])
    half = records.select(spec="full")
    with pytest.raises(DataError, match="diagnosis d1, round 1 has no ablated artifact"):
        replay_diagnoses(half)
    with pytest.raises(DataError, match="diagnosis d1, round 1 has two full artifacts"):
        replay_diagnoses(Records.concatenate([records, half]))
    with pytest.raises(DataError, match="a human label must be one of A, B, C, got 'X'"):
        replay_diagnoses(table([("P", "F", "X", "B")]))
    other = table([ADOPTED]).with_factors(spec=records.factors["human"])
    with pytest.raises(InputError, match="spec must be full or ablated, got A, B"):
        replay_diagnoses(other)
