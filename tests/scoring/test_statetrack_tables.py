"""The published tables of StateTrack, written out as logs and scored back by the names of shares.

Each table fixes how many probes lie in each cell; which probe of a model it is, is no matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import pytest

from simtrack.errors import DataError
from simtrack.estimands.catalogue import estimand
from simtrack.records import Records, Replies
from simtrack.scoring import (
    StateTrackProtocol,
    score_changed_rule,
    score_recovery,
    score_statetrack,
)

ROUNDING = 0.05  # the tables print one decimal of a percentage
FLASH = "DeepSeek-v4-Flash"


def replies_of(rows: Iterable[dict[str, object]]) -> Replies:
    """Make replies of rows; the words are in `text`, None is no reply."""
    listed = [dict(row) for row in rows]
    texts = [row.pop("text", "said") for row in listed]
    names = dict.fromkeys(name for row in listed for name in row)
    columns = {name: [row.get(name) for row in listed] for name in names}
    return Replies(Records.from_columns(columns), texts, [None] * len(listed))


def share(records: Records, name: str, by: str = "model") -> dict[str, Fraction]:
    """Give an estimand by group as exact fractions; a group without a denominator is left out."""
    grouped = [by, *(n for n in ("task", "joint", "r", "c1", "c2") if n in records.factors)]
    counts = records.counts(cluster="unit", by=grouped)
    found: dict[str, Fraction] = {}
    for level in records.factors[by].levels:
        totals = estimand(name).totals(counts.select(**{by: level}))
        top, bottom = totals.numerator.sum(), totals.denominator.sum()
        if bottom:
            found[level] = Fraction(int(top), int(bottom))
    return found


def pooled(records: Records, name: str) -> Fraction:
    names = [n for n in ("task", "joint", "r", "c1", "c2") if n in records.factors]
    totals = estimand(name).totals(records.counts(cluster="unit", by=names))
    return Fraction(int(totals.numerator.sum()), int(totals.denominator.sum()))


# Table 15, n = 10 a model: task, constraint, strict joint, recall, SIC+, SIC- in tenths.
SPLIT = {
    "GPT-5.4": (8, 10, 8, 10, 0, 0),
    "GPT-5.4-mini": (8, 9, 7, 10, 1, 0),
    "Claude-Sonnet-4-6": (8, 6, 4, 1, 1, 6),
    "Gemini-3.1-Pro": (4, 3, 2, 0, 0, 3),
    "DeepSeek-v4-Pro": (6, 9, 5, 9, 1, 1),
    FLASH: (5, 10, 5, 10, 0, 0),
    "Qwen3.6-Plus": (9, 10, 9, 10, 0, 0),
}


def split_audit() -> list[dict[str, object]]:
    """Two rows a probe whose cells are those that the margins of Table 15 leave."""
    rows: list[dict[str, object]] = []
    for model, (task, kept, joint, recalled, plus, minus) in SPLIT.items():
        both = recalled - plus
        cells = [(1, 1)] * both + [(0, 1)] * minus + [(1, 0)] * plus
        cells += [(0, 0)] * (10 - len(cells))
        assert sum(b for _, b in cells) == kept
        # The task is done in `joint` of the kept probes and in the rest of it among the others.
        done = [1] * joint + [0] * (kept - joint) + [1] * (task - joint)
        done += [0] * (10 - len(done))
        for k, ((r, b), t) in enumerate(zip(cells, done, strict=True)):
            probe = {"unit": f"p{k}", "model": model}
            rows.append({**probe, "branch": "compliance", "b_ok": str(b), "task_ok": str(t)})
            rows.append({**probe, "branch": "recall", "r_ok": str(r)})
    return rows


def test_table_15_by_the_names_of_its_columns() -> None:
    columns = {"constraint": "b_ok", "recall": "r_ok", "task": "task_ok"}
    found = score_statetrack(replies_of(split_audit()), StateTrackProtocol(columns=columns))
    assert len(found) == 70
    names = ("immediate_task", "constraint_compliance", "strict_retention", "recall_rate",
             "behavioural_drift", "declarative_fade")  # fmt: skip
    for place, name in enumerate(names):
        wanted = {model: Fraction(line[place], 10) for model, line in SPLIT.items()}
        assert share(found, name) == wanted, name
    # Pooled: constraint 57, recall 50, SIC+ 3, SIC- 10, SIC 13, strict joint 40 of 70.
    wanted = {"constraint_compliance": 57, "recall_rate": 50, "behavioural_drift": 3,
              "declarative_fade": 10, "dissociation": 13, "strict_retention": 40}  # fmt: skip
    assert {name: pooled(found, name) for name in wanted} == {
        name: Fraction(n, 70) for name, n in wanted.items()
    }


def test_the_two_definitions_differ_where_a_task_fails() -> None:
    columns = {"constraint": "b_ok", "recall": "r_ok", "task": "task_ok"}
    found = score_statetrack(replies_of(split_audit()), StateTrackProtocol(columns=columns))
    # GPT-5.4 recalls all ten, keeps all ten, and fails two tasks: SIC+ is 0, with the joint 2/10.
    assert share(found, "behavioural_drift")["GPT-5.4"] == 0
    assert share(found, "joint_drift")["GPT-5.4"] == Fraction(2, 10)
    # Claude: r = 1 and J = 0. Cells in order: 6 of (0, 1), whose first four do the task, and
    # 1 of (1, 0), 3 of (0, 0): r = 1 once, and there J = 0; r = 0 and J = 1 four times.
    assert share(found, "joint_drift")["Claude-Sonnet-4-6"] == Fraction(1, 10)
    assert share(found, "joint_fade")["Claude-Sonnet-4-6"] == Fraction(4, 10)
    assert share(found, "joint_dissociation")["Claude-Sonnet-4-6"] == Fraction(5, 10)
    # The same with the joint as B of the codes: its SIC+ is the other's joint drift.
    columns = {"constraint": "b_ok", "recall": "r_ok", "task": "task_ok"}
    joint = score_statetrack(
        replies_of(split_audit()), StateTrackProtocol(columns=columns, kept="joint")
    )
    for plain, strict in (
        ("behavioural_drift", "joint_drift"),
        ("declarative_fade", "joint_fade"),
        ("dissociation", "joint_dissociation"),
    ):
        assert share(joint, plain) == share(found, strict)
        assert share(joint, strict) == share(found, strict)
    assert any("strict joint, as in Table 6" in note for note in joint.notes)


# Table 6: failures of 125, and how many of them recall the rule; printed share and SIC+.
FAILURES = {
    "Gemini-3.1-Pro": (47, 43, 91.5, 34.4),
    "Claude-Sonnet-4-6": (12, 10, 83.3, 8.0),
    "GPT-5.4": (7, 6, 85.7, 4.8),
    "GPT-5.4-mini": (2, 2, 100.0, 1.6),
    FLASH: (0, 0, None, 0.0),
    "DeepSeek-v4-Pro": (5, 4, 80.0, 3.2),
    "Qwen3.6-Plus": (6, 5, 83.3, 4.0),
}


def failure_audit() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for model, (failed, recalled, _, _) in FAILURES.items():
        for k in range(125):
            probe = {"unit": f"p{k}", "model": model}
            rows.append({**probe, "branch": "compliance", "j": "fail" if k < failed else "pass"})
            if k < failed:
                rows.append({**probe, "branch": "recall", "r_ok": str(int(k < recalled))})
    return rows


def test_table_6_where_recall_was_asked_after_failures_only() -> None:
    protocol = StateTrackProtocol(
        columns={"joint": "j", "recall": "r_ok"}, kept="joint", recall_asked="failures"
    )
    found = score_statetrack(replies_of(failure_audit()), protocol)
    assert len(found) == 875
    shares, drift = share(found, "integrity_failure_share"), share(found, "joint_drift")
    assert FLASH not in shares  # undefined without a failure, not 0
    for model, (failed, recalled, printed, plus) in FAILURES.items():
        if failed:
            assert shares[model] == Fraction(recalled, failed)
            assert abs(100 * float(shares[model]) - printed) <= ROUNDING
        assert drift[model] == Fraction(recalled, 125)
        assert abs(100 * float(drift[model]) - plus) <= ROUNDING
    assert pooled(found, "integrity_failure_share") == Fraction(70, 79)
    assert pooled(found, "memory_failure_share") == Fraction(9, 79)
    assert pooled(found, "joint_drift") == Fraction(70, 875)
    assert pooled(found, "strict_retention") == Fraction(796, 875)
    for name in ("declarative_fade", "dissociation", "recall_rate", "joint_fade",
                 "joint_dissociation"):  # fmt: skip
        with pytest.raises(DataError, match="asked after failures only"):
            pooled(found, name)


def test_that_the_same_log_is_no_forked_audit() -> None:
    protocol = StateTrackProtocol(columns={"joint": "j", "recall": "r_ok"}, kept="joint")
    found = score_statetrack(replies_of(failure_audit()), protocol)
    assert len(found) == 79
    assert found.losses.by_kind() == {"unpaired": 875 - 79}
    flash = [loss.n for loss in found.losses.entries if dict(loss.where) == {"model": FLASH}]
    assert flash == [125]


# Table 19: probes, and how many keep the first, the second, both, recall, and SIC+.
TWO = {
    "GPT-5.4": (4, 4, 4, 4, 4, 0),
    "GPT-5.4-mini": (5, 5, 5, 5, 5, 0),
    "Claude-Sonnet-4-6": (5, 4, 5, 4, 3, 0),
    "Gemini-3.1-Pro": (5, 1, 0, 0, 0, 0),
    "DeepSeek-v4-Pro": (5, 5, 4, 4, 3, 1),
    FLASH: (5, 4, 5, 4, 5, 1),
    "Qwen3.6-Plus": (5, 5, 5, 5, 5, 0),
}


def two_constraint_audit() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for model, (n, first, second, both, recalled, plus) in TWO.items():
        pairs = [(1, 1)] * both + [(1, 0)] * (first - both) + [(0, 1)] * (second - both)
        pairs += [(0, 0)] * (n - len(pairs))
        # Recall: `plus` of the broken ones, the rest among those that keep both.
        asks = [1] * (recalled - plus) + [0] * (both - recalled + plus)
        asks += [1] * plus + [0] * (n - both - plus)
        for k, ((c1, c2), r) in enumerate(zip(pairs, asks, strict=True)):
            probe = {"unit": f"p{k}", "model": model}
            rows.append({**probe, "branch": "compliance", "first": str(c1), "second": str(c2)})
            rows.append({**probe, "branch": "recall", "r_ok": str(r)})
    lost = {"unit": "p4", "model": "GPT-5.4", "status": "infrastructure", "reason": "upstream 502"}
    rows.append({**lost, "branch": "compliance", "text": None})
    rows.append({**lost, "branch": "recall", "status": "scored", "reason": None, "r_ok": "1"})
    for row in rows:
        row.setdefault("status", "scored")
    return rows


def test_table_19_with_two_constraints() -> None:
    protocol = StateTrackProtocol(columns={"c1": "first", "c2": "second", "recall": "r_ok"})
    found = score_statetrack(replies_of(two_constraint_audit()), protocol)
    assert len(found) == 35
    wanted = {"first_constraint": 28, "second_constraint": 28, "two_constraints": 26,
              "recall_rate": 25, "two_constraint_drift": 2, "behavioural_drift": 2}  # fmt: skip
    assert {name: pooled(found, name) for name in wanted} == {
        name: Fraction(n, 34) for name, n in wanted.items()
    }
    assert share(found, "two_constraints") == {
        model: Fraction(line[3], line[0]) for model, line in TWO.items()
    }
    lost = found.counts(cluster="unit", by=["model"]).losses
    assert [(x.kind, x.n, x.reason) for x in lost.entries] == [
        ("infrastructure", 1, "upstream 502")
    ]


# Table 7: collapsed probes; full, partial with full, and no recovery, from their percentages.
RECOVERED = {
    "Gemini-3.1-Pro": (47, 25, 38, 9),
    "Claude-Sonnet-4-6": (12, 9, 11, 1),
    "GPT-5.4": (7, 5, 6, 1),
    "GPT-5.4-mini": (2, 2, 2, 0),
    "DeepSeek-v4-Pro": (5, 4, 5, 0),
    "Qwen3.6-Plus": (6, 4, 5, 1),
}


def test_table_7_full_is_part_of_partial() -> None:
    rows: list[dict[str, object]] = []
    for model, (n, full, partial, _) in RECOVERED.items():
        for k in range(125):
            probe = {"unit": f"p{k}", "model": model}
            rows.append({**probe, "branch": "compliance", "j": "0" if k < n else "1"})
            if k < n:
                said = "Full" if k < full else "partial" if k < partial else "NONE"
                rows.append({**probe, "branch": "restated", "mended": said})
    protocol = StateTrackProtocol(columns={"joint": "j", "recovery": "mended"}, kept="joint")
    found = score_recovery(replies_of(rows), protocol)
    assert len(found) == 79
    assert not found.losses
    for model, (n, full, partial, none) in RECOVERED.items():
        assert share(found, "full_recovery")[model] == Fraction(full, n)
        assert share(found, "partial_recovery")[model] == Fraction(partial, n)
        assert share(found, "no_recovery")[model] == Fraction(none, n)
    assert any(note.startswith("671 probes did not collapse") for note in found.notes)


def test_table_18_by_checkers_of_the_old_and_the_new_rule() -> None:
    # Stale and updated of 35 in each condition; the rule was that answers end in END, then DONE.
    table = {"base": (1, 33), "stale": (26, 7), "updated": (0, 34)}
    rows = [
        {"unit": f"p{k}", "arm": arm,
         "text": "So. END" if k < stale else "So. DONE" if k < stale + new else "So."}
        for arm, (stale, new) in table.items() for k in range(35)
    ]  # fmt: skip
    protocol = StateTrackProtocol.from_dict(
        {"rule": [{"old": {"kind": "ends_with", "text": "END"},
                   "new": {"kind": "ends_with", "text": "DONE"}}]}
    )  # fmt: skip
    found = score_changed_rule(replies_of(rows), protocol)
    assert share(found, "stale_enforcement", "arm") == {
        arm: Fraction(stale, 35) for arm, (stale, _) in table.items()
    }
    assert share(found, "updated_or_clean", "arm") == {
        arm: Fraction(new, 35) for arm, (_, new) in table.items()
    }


@pytest.mark.shared
def test_that_the_figures_here_are_the_printed_ones(shared) -> None:
    import csv

    folder = shared / "reference" / "statetrack"

    def printed(name: str) -> list[dict[str, str]]:
        return list(csv.DictReader((folder / name).read_text(encoding="utf-8").splitlines()))

    order = ("task", "constraint", "strict_joint", "recall", "sic_plus", "sic_minus")
    for row in printed("table15_split_audit.csv"):
        if row["model"] in SPLIT:
            tenths = SPLIT[row["model"]][order.index(row["measure"])]
            assert float(row["value_percent"]) == 10.0 * tenths
    for row in printed("table6_sic_decomposition.csv"):
        if row["row_type"] == "model":
            assert FAILURES[row["model"]][:2] == (
                int(row["failures"]), int(row["integrity_failures"])
            )  # fmt: skip
    two = ("c1", "c2", "joint", "recall", "sic_plus")
    for row in printed("table19_two_constraint.csv"):
        if row["model"] in TWO:
            n, *counts = TWO[row["model"]]
            count = counts[two.index(row["measure"])]
            assert abs(float(row["value_percent"]) - 100 * count / n) <= ROUNDING
    parts = ("full_recovery", "partial_recovery_cumulative", "no_recovery")
    for row in printed("table7_reinstatement.csv"):
        n, *counts = RECOVERED[row["model"]]
        count = counts[parts.index(row["outcome"])]
        assert abs(float(row["value_percent"]) - 100 * count / n) <= ROUNDING
