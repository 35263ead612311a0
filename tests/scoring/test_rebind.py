"""ReBIND's scoring from replies to tables: one code a reply, clauses beside episodes."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.estimands import estimand
from simtrack.records import Records, Replies
from simtrack.scoring.rebind.protocol import RebindProtocol
from simtrack.scoring.rebind.score import rebind_tables, score_rebind, score_rebind_clauses
from simtrack.taxonomy import CLAUSE, RELAPSE

TOML = """
schema = "simtrack.rebind-protocol/1"
scheme = "rebind"
revoked = "revoked"

[artifact]
empty_below = 10

[recorded]
passed = ["ok"]
failed = ["wrong"]
errored = ["broke"]

[[clause]]
id = "entry point"
check = { function = "{entry_point}" }

[[clause]]
id = "unit tests"
check = { recorded = "tests" }

[[clause]]
id = "library"
check = { stdlib_only = "3.11" }

[[clause]]
id = "helper"
each = "markers"
check = { function = "{each}" }

[[clause]]
id = "replacement"
each = "replacement"
check = { function = "{each}" }
replaces = ["{revoked}"]
"""
SOLVE = "def solve(n):\n    return n\n"
BOTH = SOLVE + "def audit_log(): pass\n"

# task, condition, revoked, replacement, tests, reply -> code of the episode (None: control) and of
# the clauses entry point, tests, library, helper audit_log, helper check_args if in force.
CASES = (
    ("t1", "delayed", "check_args", None, "ok", f"```python\n{BOTH}```", "NO_TRACE", "PPPP"),
    ("t1", "immediate", "check_args", None, "ok", BOTH + "def check_args(): pass", "TRUE_RELAPSE",
     "PPPP"),
    ("t1", "control", None, None, "ok", BOTH, None, "PPPPF"),
    ("t2", "delayed", "check_args", None, "ok", SOLVE + "import numpy", "CLAUSE_MISS", "PPFF"),
    ("t2", "immediate", "check_args", None, "broke", BOTH, "CLAUSE_MISS", "PFPP"),
    ("t2", "control", None, None, "wrong", BOTH + "def check_args(): pass", None, "PFPPP"),
    ("t3", "delayed", "check_args", None, "ok", "The code:\n```python\ndef solve(:\n```",
     "UNPARSEABLE", "UUUU"),
    ("t3", "immediate", "check_args", None, "ok", "...", "EMPTY", "UUUU"),
    ("t3", "control", None, None, "ok", None, None, "TTTTT"),
    ("t4", "delayed", "check_args", None, None, None, "TRANSPORT", "TTTT"),
    ("t4", "immediate", "check_args", "check_arguments", "ok",
     BOTH + "def check_arguments(): pass", "HIGH_OVERLAP_REPLACEMENT", "PPPPP"),
    ("t4", "delayed", "check_args", None, "ok", BOTH + "# no check_args", "LEGIT_REFERENCE",
     "PPPP"),
    ("t4", "immediate", "check_args", None, None, BOTH, "NO_TRACE", "P.PP"),
)  # fmt: skip
LETTERS = {"P": "PASS", "F": "FAIL", "U": "UNPARSEABLE", "T": "TRANSPORT", ".": None}


@pytest.fixture(scope="module")
def protocol(tmp_path_factory: pytest.TempPathFactory) -> RebindProtocol:
    path: Path = tmp_path_factory.mktemp("protocol") / "rebind.toml"
    path.write_text(TOML, encoding="utf-8")
    return RebindProtocol.load(path)


def replies_of(cases: tuple[tuple[object, ...], ...] = CASES) -> Replies:
    task, condition, revoked, replacement, tests, said, _, _ = zip(*cases, strict=True)
    rows = Records.from_columns(
        {
            "unit": [f"{t}:{c}" for t, c in zip(task, condition, strict=True)],
            "cluster": task,
            "condition": condition,
            "revoked": revoked,
            "replacement": replacement,
            "tests": tests,
            "markers": ["audit_log|check_args"] * len(task),
            "entry_point": ["solve"] * len(task),
        }
    )
    return Replies(rows, said, [()] * len(task))


def test_every_reply_has_its_code(protocol: RebindProtocol) -> None:
    tables = rebind_tables(replies_of(), protocol)
    assert tables.control == 3
    assert tables.episodes.kind == "episode"
    codes = tables.episodes.factors["outcome"]
    assert codes.values() == [case[6] for case in CASES if case[6] is not None]
    assert codes.levels == RELAPSE.codes
    assert "3 replies have no revoked clause (control) and are no episodes" in tables.episodes.notes
    # value is 1 at a relapse, 0 at other artifacts that parse, else missing.
    np.testing.assert_array_equal(
        tables.episodes.numbers["value"], [0, 1, 0, 0, np.nan, np.nan, np.nan, 0, 0, 0]
    )
    expected = [case[7] for case in CASES]
    assert tables.clauses.kind == "clause"
    clauses = tables.clauses.factors["outcome"]
    assert clauses.values() == [LETTERS[letter] for word in expected for letter in word]
    assert clauses.levels == CLAUSE.codes


def test_the_papers_estimands_by_name(protocol: RebindProtocol) -> None:
    tables = rebind_tables(replies_of(), protocol)
    counts = tables.episodes.counts(by=["condition"])

    def rate(name: str) -> float:
        totals = estimand(name).totals(counts)
        return float(totals.numerator.sum() / totals.denominator.sum())

    # 10 episodes: 1 TRANSPORT, 1 EMPTY, 1 UNPARSEABLE, 7 parse, 1 of them relapses.
    assert rate("relapse") == pytest.approx(1 / 7)
    assert rate("relapse_after_revocation") == pytest.approx(1 / 7)
    assert rate("worst_case_relapse") == pytest.approx(3 / 9)
    assert rate("parse_failure") == pytest.approx(1 / 9)
    assert rate("empty_share") == pytest.approx(1 / 10)
    # NO_TRACE twice, one replacement, one reference.
    assert rate("final_pass_rate") == pytest.approx(4 / 9)
    adherence = estimand("clause_adherence").totals(tables.clauses.counts(by=["spec"]))
    letters = "".join(case[7] for case in CASES)
    passed, all_rows = letters.count("P"), len(letters) - letters.count("T") - letters.count(".")
    assert adherence.rates()[0] == pytest.approx(passed / all_rows)
    # The clause whose outcome nobody recorded is a loss that is told.
    assert [(x.kind, x.n) for x in adherence.losses.entries] == [("unscored", 1)]


def test_what_led_to_a_code_is_kept_apart(protocol: RebindProtocol) -> None:
    episodes = score_rebind(replies_of(), protocol)
    labels = {name: factor.values() for name, factor in episodes.factors.items()}
    assert labels["implemented"] == ["0", "1", "0", "0", None, None, None, "0", "0", "0"]
    assert labels["missed"] == ["0", "0", "1", "1", None, None, None, "0", "0", "0"]
    assert labels["missed_clauses"][2:4] == ["library + helper:audit_log", "unit tests"]
    assert labels["relapsed_clauses"][1] == "helper:check_args"
    assert labels["unrecorded"][9] == "1"
    assert labels["artifact"][4:7] == ["unparseable", "empty", None]
    assert labels["error"] == [None] * 6 + ["transport"] + [None] * 3
    # checkargs and checkarguments: 8 and 13 pairs, ch he ec ck ka ar rg in common: 14/21.
    assert episodes.numbers["overlap"][7] == pytest.approx(14 / 21)


def test_truth_does_not_see_the_reply(protocol: RebindProtocol) -> None:
    replies = replies_of()
    told = [n for n in score_rebind(replies, protocol).notes if "sha256" in n]
    blank = score_rebind(replies.with_texts([""] * len(replies)), protocol)
    assert [n for n in blank.notes if "sha256" in n] == told
    assert set(blank.factors["outcome"].values()) == {"EMPTY"}


def test_what_makes_a_rate_mean_little_is_told() -> None:
    rows = Records.from_columns({"unit": ["a", "b"], "condition": ["delayed", "delayed"],
                                 "revoked": ["library", None],
                                 "spec": ["full", "ablated"]})  # fmt: skip
    lean = RebindProtocol.from_dict(
        {"clause": [{"id": "library", "check": {"stdlib_only": "3.11"}}]}
    )
    found = score_rebind(Replies(rows, ["import numpy as np"] * 2, [()] * 2), lean)
    assert found.factors["outcome"].values() == ["NO_TRACE"]
    assert list(found.notes[-4:]) == [
        "1 replies have no revoked clause (control) and are no episodes",
        "1 of these are labelled as immediate or delayed: check their labels",
        "several levels of spec: select one for a relapse rate",
        "code that does nothing meets the revoked clause 'library': its relapse rate says little",
    ]


def test_last_reply_of_a_trajectory_counts(protocol: RebindProtocol) -> None:
    four = replies_of((CASES[1], CASES[1], CASES[0], CASES[1]))
    rows = four.records.with_factors(
        role=Factor.from_values(["assistant", "user", "assistant", "assistant"]),
        trajectory=Factor.from_values(["1", "1", "1", "2"]),
    )
    found = score_rebind(Replies(rows, four.texts, four.calls), protocol)
    assert found.factors["outcome"].values() == ["NO_TRACE", "TRUE_RELAPSE"]
    assert "1 replies before the last of their trajectory are not scored" in found.notes


def test_revoked_by_labels_instead_of_a_column() -> None:
    plain = {
        "clause": [
            {"id": "doc", "check": {"docstring": "complexity"},
             "revoked_when": {"condition": ["delayed", "immediate"]}, "words": ["complexity"]},
            {"id": "solve", "check": {"function": "solve"}, "when": {"condition": "delayed"}},
        ]
    }  # fmt: skip
    protocol = RebindProtocol.from_dict(plain)
    assert RebindProtocol.from_dict(protocol.to_dict()) == protocol
    rows = Records.from_columns({"unit": ["a", "b", "c"],
                                 "condition": ["delayed", "immediate", "control"]})  # fmt: skip
    said = ['"""Linear complexity."""', "x = 'complexity'", '"""complexity"""']
    replies = Replies(rows, said, [()] * 3)
    found = score_rebind(replies, protocol)
    assert found.factors["outcome"].values() == ["TRUE_RELAPSE", "LEGIT_REFERENCE"]
    clauses = score_rebind_clauses(replies, protocol)
    assert clauses.factors["clause"].values() == ["solve", "doc"]
    assert clauses.factors["outcome"].values() == ["FAIL", "PASS"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"revoked": ["check_arg"] * 13}, "names the clause 'check_arg', but has entry point"),
        ({"markers": ["a|a"] * 13}, "has the clause 'helper:a' twice"),
        ({"tests": ["fine"] * 13}, "tests must be one of ok, wrong, broke, got 'fine'"),
        ({"entry_point": [None] * 13}, "has no label in entry_point"),
        ({"revoked": [None] * 13}, "no reply has a revoked clause"),
    ],
)
def test_rows_that_do_not_fit_are_refused(
    protocol: RebindProtocol, change: dict[str, list[str | None]], told: str
) -> None:
    replies = replies_of()
    rows = replies.records.with_factors(**Records.from_columns(change).factors)
    with pytest.raises(DataError, match=told) as caught:
        score_rebind(Replies(rows, replies.texts, replies.calls), protocol)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"clauses": []}, "Did you mean clause"),
        ({}, "clause must be given at least once"),
        ({"clause": [{"id": "a", "check": {"function": "f"}}] * 2}, "id must be different"),
        ({"clause": [{"id": "a", "check": {"function": "{each}"}}]}, "each must be given where"),
        ({"clause": [{"id": "a", "chek": {}}]}, "Did you mean check"),
        ({"scheme": "stageif"}, "scheme must be 'rebind'"),
        ({"recorded": {"passed": ["1"]}, "clause": []}, "clause must be given"),
        ({"recorded": {"passed": ["failed"]}}, "recorded must be of different labels"),
        ({"attribution": {"overlap": 2}}, "overlap must be a finite number from 0 to 1"),
    ],
)
def test_a_wrong_protocol_is_refused(content: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        RebindProtocol.from_dict(content)


def test_a_list_of_markers_may_be_json(protocol: RebindProtocol) -> None:
    replies = replies_of()
    listed = Factor.constant('["audit_log", "check_args"]', len(replies))
    same = Replies(replies.records.with_factors(markers=listed), replies.texts, replies.calls)
    found, before = score_rebind(same, protocol), score_rebind(replies, protocol)
    assert found.factors["outcome"].values() == before.factors["outcome"].values()


def test_missing_columns_are_named(protocol: RebindProtocol) -> None:
    without = Records.from_columns({"unit": ["a"], "revoked": ["a"]})
    told = r"one of revoked, unit, got 'entry_point'\. Readers leave lists out"
    with pytest.raises(InputError, match=told):
        score_rebind(Replies(without, ["x"], [()]), protocol)
    rows = Records.from_columns({"unit": ["a"], "markers": ["m"], "entry_point": ["f"],
                                 "replacement": ["r"]})  # fmt: skip
    with pytest.raises(InputError, match="the column of revoked clauses must be one of"):
        score_rebind(Replies(rows, ["x"], [()]), protocol)


def mutants(rounds: int, seed: int) -> Replies:
    rng = random.Random(seed)
    source = [case[5] for case in CASES if case[5] is not None]
    said: list[str | None] = []
    picked = tuple(CASES[k % len(CASES)] for k in range(rounds))
    for case in picked:
        text = case[5] or rng.choice(source)
        for _ in range(rng.randint(1, 3)):
            at, size = rng.randint(0, len(text)), rng.randint(0, 10)
            piece = rng.choice(("", "```\n", '"""', "\n", "#", "check_args", "(", "\x00", "\udc00",
                                text[at : at + 20], rng.choice(source)))  # fmt: skip
            text = text[:at] + piece + text[at + size :]
        said.append(rng.choice((text,) * 50 + (None,)))
    return replies_of(picked).with_texts(said)


def check_mutants(protocol: RebindProtocol, replies: Replies) -> set[str]:
    tables = rebind_tables(replies, protocol)
    codes = tables.episodes.factors["outcome"]
    assert (codes.codes >= 0).all()
    assert len(codes) + tables.control == len(replies)
    parsed = np.array([kind == "parsed" for kind in tables.episodes.factors["artifact"].values()])
    lost = np.isin(codes.values(), ("TRANSPORT", "EMPTY", "UNPARSEABLE"))
    np.testing.assert_array_equal(parsed, ~lost)
    implemented = np.array(tables.episodes.factors["implemented"].values()) == "1"
    np.testing.assert_array_equal(implemented, np.array(codes.values()) == "TRUE_RELAPSE")
    return set(codes.values())


def test_mutated_artifacts_have_one_code_each(protocol: RebindProtocol) -> None:
    # All codes but NEAR_COMPLIANT, which no clause of this protocol allows.
    assert check_mutants(protocol, mutants(1_000, 3)) == set(RELAPSE.codes) - {"NEAR_COMPLIANT"}


@pytest.mark.slow
def test_ten_thousand_mutated_artifacts_have_one_code_each(protocol: RebindProtocol) -> None:
    check_mutants(protocol, mutants(10_000, 4))


def test_equal_replies_are_judged_alike_however_many_stand_between(
    protocol: RebindProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = replies_of(CASES * 3)
    before = rebind_tables(replies, protocol)
    monkeypatch.setattr("simtrack.scoring.rebind.rows._REMEMBERED", 2)
    after = rebind_tables(replies, protocol)
    for name in ("episodes", "clauses"):
        codes = [getattr(t, name).factors["outcome"].codes.tolist() for t in (before, after)]
        assert codes[0] == codes[1]
