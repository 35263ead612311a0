"""The table of estimands: every one that simtrack can name, as data, in one place.

Sources: StageIF ("The Unreliable Progress Bar") with its equation numbers. Factor names are those
of the trial table: `duty` "0" or "1", `stage` the gold stage, `reported` the value that the reply
named, `emitted` "1" where the reply carried a report at all.
"""

from __future__ import annotations

from itertools import combinations

from simtrack.errors import InputError
from simtrack.estimands.catalogue_more import MORE, Unavailable
from simtrack.estimands.estimand import Condition, Contrast, Estimand, where
from simtrack.taxonomy import GATE, REPAIR, SEED, STAGEIF, STAGES, TRAJECTORY, Taxonomy

__all__ = ["CATALOGUE", "RATE", "Unavailable", "estimand"]

#: The plain rate: passes over trials.
RATE = Estimand(
    "rate", frozenset({"PASS"}), symbol="p", interpretation="Share of scored trials that pass."
)


_DUE = where(duty="1")
_INTERMEDIATE = STAGES[:-1]
_VALID = frozenset({"TRANSPORT"})


def _stageif(
    name: str, symbol: str, codes: str, meaning: str, source: str, **more: object
) -> Estimand:
    settings: dict[str, object] = {"excluded": _VALID, "where": _DUE, "taxonomy": STAGEIF} | more
    return Estimand(
        name,
        frozenset(codes.split()),
        symbol=symbol,
        interpretation=meaning,
        source=f"StageIF {source}",
        **settings,  # type: ignore[arg-type]
    )


def _share(name: str, code: str, meaning: str, taxonomy: Taxonomy, source: str) -> Estimand:
    return Estimand(
        name,
        frozenset({code}),
        interpretation=meaning,
        source=f"StageIF {source}",
        taxonomy=taxonomy,
    )


_BEFORE = Condition(("reported", "gold"), frozenset(combinations(STAGES, 2)))
_COMPLETED_EARLY = (
    Condition(("reported",), frozenset({("COMPLETED",)})),
    Condition(("gold",), frozenset({("COMPLETED",)}), negated=True),
    Condition(("emitted",), frozenset({("1",)})),
)
_EMITTED = where(emitted="1")

_ADHERENCE = _stageif(
    "adherence", "θ", "CLEAN",
    "Share of due reports that are issued, well formed and right.", "Eq. 3, 6",
)  # fmt: skip
_EMISSION = _stageif(
    "emission", "E", "", "Share of due replies that carry a report, right or wrong.", "§3.1",
    among=_EMITTED,
)  # fmt: skip
_FALSE_COMPLETION = _stageif(
    "false_completion", "μ", "",
    "Share of valid replies that report COMPLETED on an unfinished task.", "Eq. 10",
    where=(), among=_COMPLETED_EARLY,
)  # fmt: skip
_BROAD = _stageif(
    "broad_adherence", "θ̄", "CLEAN",
    "Share of checkpoints, due or not, that end CLEAN.", "Tables 11, 12", where=(),
)  # fmt: skip
_TASK_SUCCESS = Estimand(
    "task_success", frozenset({"TASK_OK"}), symbol="K", taxonomy=GATE,
    interpretation="Share of all rollouts, transport failures included, that finish the task.",
    source="StageIF Tables 19, 20",
)  # fmt: skip
_INTERMEDIATE_ADHERENCE = Estimand(
    "intermediate_adherence", frozenset({"CLEAN"}), _VALID, _DUE + where(stage=_INTERMEDIATE),
    symbol="θ_int", taxonomy=STAGEIF, source="StageIF §4",
    interpretation="Adherence over the three stages before completion, pooled over records.",
)  # fmt: skip
_TERMINAL_ADHERENCE = Estimand(
    "terminal_adherence", frozenset({"CLEAN"}), _VALID, _DUE + where(stage="COMPLETED"),
    symbol="θ_COMPLETED", taxonomy=STAGEIF, source="StageIF §4",
    interpretation="Adherence at completion.",
)  # fmt: skip

_ENTRIES: tuple[Estimand | Contrast | Unavailable, ...] = (
    RATE,
    _ADHERENCE,
    _INTERMEDIATE_ADHERENCE,
    _TERMINAL_ADHERENCE,
    Contrast.difference(
        "stage_gap", _INTERMEDIATE_ADHERENCE, _TERMINAL_ADHERENCE, symbol="Δ", source="StageIF §4",
        interpretation="Intermediate minus terminal adherence; negative is worse mid-task.",
    ),
    _stageif("report_validity", "φ", "CLEAN",
             "Among due replies without a tool call, share that are CLEAN; undefined without any.",
             "Eq. 4, 7", excluded=frozenset({"TRANSPORT", "APP_DIVERGENCE"})),
    _stageif("withholding", "ω", "CLEAN", "Share of replies without a duty that carry no report.",
             "Eq. 8", where=where(duty="0")),
    _stageif("false_alarm", "1-ω", "APP_FALSE_ALARM",
             "Share of replies without a duty that report all the same.", "Table 13",
             where=where(duty="0")),
    _EMISSION,
    _stageif("speech", "M", "APP_MISS MALFORMED STATE_WRONG CLEAN",
             "Share of due replies that speak rather than call a tool.", "App. R"),
    _stageif("omission_share", "", "APP_MISS", "Share of due replies without a report.", "Fig. 5"),
    _stageif("divergence_share", "", "APP_DIVERGENCE",
             "Share of due replies that call a tool instead.", "Fig. 5"),
    _stageif("malformed_share", "", "MALFORMED", "Share of due reports that are ill-formed.",
             "Fig. 5"),
    _stageif("wrong_value_share", "", "STATE_WRONG",
             "Share of due reports that are well formed and wrong.", "Fig. 5"),
    _stageif("stale_share", "", "STATE_WRONG",
             "Among well-formed wrong reports, share that name a stage already left.", "§2.2",
             excluded=frozenset(set(STAGEIF.codes) - {"STATE_WRONG"}), among=(_BEFORE,)),
    _stageif("premature_share", "", "STATE_WRONG",
             "Among well-formed wrong reports before completion, share that name COMPLETED.",
             "§2.2", excluded=frozenset(set(STAGEIF.codes) - {"STATE_WRONG"}),
             where=_DUE + where(stage=_INTERMEDIATE), among=where(reported="COMPLETED")),
    _FALSE_COMPLETION,
    _stageif("false_completion_reported", "ν", "",
             "Among replies that report, share that say COMPLETED too early; descriptive only.",
             "Eq. 11", where=_EMITTED, among=_COMPLETED_EARLY[:2]),
    _BROAD,
    Contrast.difference(
        "bundle_effect_on_emission", _EMISSION.at(stage="POST_OBS", arm="bundle"),
        _EMISSION.at(stage="POST_OBS", arm="control"), symbol="Δ_E^B", source="StageIF Table 10",
        interpretation="Emission after an observation, bundle minus control, pooled over records.",
    ),
    Contrast.difference(
        "bundle_effect_on_false_completion",
        _FALSE_COMPLETION.at(stage="POST_OBS", arm="bundle"),
        _FALSE_COMPLETION.at(stage="POST_OBS", arm="control"),
        symbol="Δ_μ^B", source="StageIF Table 10",
        interpretation="False completion after an observation, bundle minus control.",
    ),
    Contrast.difference(
        "injected_minus_baseline", _BROAD.at(arm="injected"), _BROAD.at(arm="baseline"),
        symbol="E1", source="StageIF Table 12",
        interpretation="Broad adherence with the gold stage injected, minus baseline.",
    ),
    Contrast.difference(
        "static_minus_baseline", _BROAD.at(arm="static"), _BROAD.at(arm="baseline"),
        symbol="E2", source="StageIF Table 12",
        interpretation="Broad adherence with a constant expected value, minus baseline.",
    ),
    _stageif("position_adherence", "θ_q", "CLEAN",
             "Adherence after an observation; group it by `bin` of mid-task position.", "Fig. 2",
             where=_DUE + where(stage="POST_OBS")),
    _stageif("completion_adherence", "", "CLEAN",
             "Adherence at completion; group it by `cue` and `handoff`.", "App. G",
             where=_DUE + where(stage="COMPLETED")),
    _stageif("omitted_despite_success", "", "APP_MISS",
             "Among omitted intermediate reports, share whose task proxy passed.", "Table 16",
             excluded=frozenset(set(STAGEIF.codes) - {"APP_MISS"}),
             where=_DUE + where(stage=_INTERMEDIATE), among=where(proxy="1")),
    _stageif("clean_despite_failure", "", "CLEAN",
             "Among CLEAN reports at NEEDS_INFO, share whose task proxy failed.", "Table 16",
             excluded=frozenset(set(STAGEIF.codes) - {"CLEAN"}),
             where=_DUE + where(stage="NEEDS_INFO"), among=where(proxy="0")),
    _share("all_wrong", "ALL_WRONG",
           "Share of trajectories whose mid-task reports are all wrong (at least two).",
           TRAJECTORY, "§2.2"),
    _share("all_right", "ALL_RIGHT",
           "Share of trajectories whose mid-task reports are all right (at least two).",
           TRAJECTORY, "§2.2"),
    _TASK_SUCCESS,
    _share("dead_end_share", "DEAD_END",
           "Share of rollouts ended because a report was missing.", GATE, "Table 19"),
    _share("premature_stop_share", "PREMATURE",
           "Share of rollouts stopped by COMPLETED on an unfinished task.", GATE, "Table 19"),
    _share("stall_share", "STALL",
           "Share of rollouts that returned to a user with nothing to add.", GATE, "Table 19"),
    _share("turn_cap_share", "TURN_CAP", "Share of rollouts cut at the turn cap.", GATE, "App. X"),
    Contrast.difference(
        "gate_contrast", _TASK_SUCCESS.at(gate="B2"), _TASK_SUCCESS.at(gate="B1"),
        symbol="Δ_K^{B2-B1}", source="StageIF App. A, Table 20",
        interpretation="Task success under the no-tool-call gate minus the marker gate.",
    ),
    _share("repair_rate", "CORRECTED", "Share of selected wrong reports that are put right.",
           REPAIR, "Table 17"),
    _share("seed_validity", "VALID",
           "Valid reports over planned ones; transport failures count against.", SEED, "Table 9"),
    Unavailable("false_completion_event", "an event in the rows, not a ratio: see false_completion",
                "W", "StageIF Eq. 9", home="simtrack.scoring:score_stageif"),
    Unavailable("confusion", "a table of counts by gold and reported stage",
                source="StageIF Fig. 6", home="simtrack.scoring:confusion"),
    Unavailable("factor_effect", "the design: estimands.factorial_effect(estimand, ...)",
                "δ_d,J", "StageIF Eq. 16", home="simtrack.estimands:factorial_effect"),
    Unavailable("interaction", "a scale, which the paper leaves open",
                source="StageIF Table 10", home="simtrack.estimands:factorial_interaction"),
    Unavailable("deployment_mean", "the deployments: estimands.equal_weight(estimand, ...)",
                source="StageIF Tables 11, 12", home="simtrack.estimands:equal_weight"),
    Unavailable("five_arm_contrast", "the expected value by arm when replies are scored",
                source="StageIF five-arm study", home="simtrack.scoring:score_stageif"),
    Unavailable("obligation_adherence", "duty and codes for each obligation",
                "O1, O2, O3", "StageIF Table 15", home="simtrack.scoring:score_obligations"),
    Unavailable("strict_and_stripped", "one view selected: counts.select(view=...)",
                source="StageIF Table 1", home="simtrack.scoring:score_stageif"),
    Unavailable("gate_replay", "the ordered turns of a trajectory: simtrack replay",
                source="StageIF App. V", home="simtrack.scoring:replay_gates"),
    Unavailable("sign_by_endpoint", "a sign test over models", source="StageIF Table 14",
                home="simtrack.inference:sign_test"),
    Unavailable("mixed_model", "a model fit", "LMM", "StageIF App. mixed models",
                home="simtrack.inference.models.linear_mixed:linear_mixed"),
    Unavailable("gee", "a model fit", "GEE", "StageIF App. mixed models",
                home="simtrack.inference.models.gee:gee"),
    Unavailable("leave_one_out", "refits without each scenario", "LOCO", "StageIF App.",
                home="simtrack.inference.models.leave_one_out:leave_one_out"),
    Unavailable("reasoning_tokens", "the reasoning tokens of a call, which no reader gives",
                source="StageIF Table 8"),
    Unavailable("framework_survey", "documents, not trials", source="StageIF App. F"),
)  # fmt: skip

#: Every entry by name.
CATALOGUE: dict[str, Estimand | Contrast | Unavailable] = {e.name: e for e in _ENTRIES} | MORE


def estimand(name: str) -> Estimand | Contrast:
    """Look an estimand up by name.

    Examples
    --------
    >>> estimand("adherence").symbol
    'θ'
    >>> estimand("mixed_model")
    Traceback (most recent call last):
    simtrack.errors.InputError: mixed_model must be a ratio of counts; it needs a model fit.
    """
    found = CATALOGUE.get(name)
    if found is None:
        from difflib import get_close_matches

        known = [n for n, e in CATALOGUE.items() if not isinstance(e, Unavailable)]
        near = get_close_matches(name, known, 1)
        cure = f"Did you mean {near[0]}?" if near else ""
        rule = f"one of the {len(known)} that simtrack methods --estimands lists"
        raise InputError("estimand", rule, repr(name), cure=cure)
    if isinstance(found, Unavailable):
        raise InputError(name, f"a ratio of counts; it needs {found.needs}")
    return found
