"""The estimands of StateTrack and ReBIND, as data; `catalogue` merges them into the one table.

Factor names: `task` "1" where the immediate task was done, `joint` "1" where task and rule both
held (strict joint), `r` "1" where the rule was recalled; `depth` in turns; `load` the number of
marker clauses; `condition` immediate or
delayed revocation; `spec` "full" or "ablated"; `c1`, `c2` "1" where that constraint held.
"""

from __future__ import annotations

from dataclasses import dataclass

from simtrack.estimands.estimand import Condition, Contrast, Estimand, where
from simtrack.taxonomy import (
    CLAUSE,
    LEDGER,
    RECALL,
    RECALL_OF_FAILURES,
    RECOVERY,
    RELAPSE,
    Taxonomy,
)

__all__ = ["MORE", "Unavailable"]


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A quantity of the paper that is no ratio of sums of cells, and what it needs instead.

    `home` names the function that computes it, as module:function; it is empty where nothing
    does, and then `needs` says why not.
    """

    name: str
    needs: str
    symbol: str = ""
    source: str = ""
    home: str = ""


_NO_ANSWER = frozenset({"TRANSPORT"})
_UNSCORED = frozenset({"TRANSPORT", "EMPTY", "UNPARSEABLE"})
_JOINT, _NOT_JOINT = where(joint="1"), where(joint="0")
_REVOKED = where(condition=("immediate", "delayed"))


def _recall(name: str, codes: str, meaning: str, source: str, **more: object) -> Estimand:
    settings: dict[str, object] = {"excluded": _NO_ANSWER, "taxonomy": RECALL_OF_FAILURES} | more
    return Estimand(
        name, frozenset(codes.split()), interpretation=meaning, source=f"StateTrack {source}",
        **settings,  # type: ignore[arg-type]
    )  # fmt: skip


def _share(name: str, codes: str, meaning: str, taxonomy: Taxonomy, source: str) -> Estimand:
    return Estimand(
        name, frozenset(codes.split()), interpretation=meaning, source=source, taxonomy=taxonomy
    )


def _rebind(name: str, codes: str, meaning: str, source: str, **more: object) -> Estimand:
    settings: dict[str, object] = {"excluded": _UNSCORED, "taxonomy": RELAPSE} | more
    return Estimand(
        name, frozenset(codes.split()), interpretation=meaning, source=f"ReBIND {source}",
        **settings,  # type: ignore[arg-type]
    )  # fmt: skip


_RETENTION = _recall(
    "strict_retention", "", "Share of probes at which the task is done and the rule kept.",
    "Eq. 1, Tables 4, 5", symbol="R", among=_JOINT,
)  # fmt: skip
_RELAPSE = _rebind(
    "relapse", "TRUE_RELAPSE", "Share of parseable episodes that do what was revoked.", "§3.4",
)  # fmt: skip
_ADHERENCE = Estimand(
    "clause_adherence", frozenset({"PASS"}), _NO_ANSWER, where(spec="full"), symbol="A_C",
    taxonomy=CLAUSE, source="ReBIND §3.2",
    interpretation="Share of artifacts, unparseable ones included, that comply with a clause.",
)  # fmt: skip
_ABLATED = Estimand(
    "ablated_adherence", frozenset({"PASS"}), _NO_ANSWER, where(spec="ablated"), taxonomy=CLAUSE,
    source="ReBIND §3.2", interpretation="The same share with the clause's text taken out.",
)  # fmt: skip
_STALE, _LEDGER_SOURCE = "stale_enforcement", "StateTrack Table 18"

_ENTRIES: tuple[Estimand | Contrast | Unavailable, ...] = (
    _RETENTION,
    Unavailable("retention_mean", "the cells: estimands.equal_weight(strict_retention, ...)",
                "R_m", "StateTrack Eq. 1", home="simtrack.estimands:equal_weight"),
    Contrast.difference(
        "early_to_late_decay", _RETENTION.at(depth="3"), _RETENTION.at(depth="12"), symbol="Δ_m",
        source="StateTrack Table 3", interpretation="Retention early minus late; positive is loss.",
    ),
    _recall("dissociation", "R1B0 R0B1", "Share of probes at which recall and compliance differ.",
            "Eq. 2", symbol="SIC", taxonomy=RECALL),
    _recall("behavioural_drift", "R1B0", "Share of probes that recall the rule and violate it.",
            "Eq. 3, Tables 15-17", symbol="SIC+"),
    _recall("joint_drift", "R1B1 R1B0",
            "Share of probes that recall the rule and fail the strict joint: task or rule.",
            "Table 6", symbol="SIC+_J", among=_NOT_JOINT),
    _recall("declarative_fade", "R0B1",
            "Share of probes that keep a rule they do not recall; not defined where recall was "
            "asked after failures only.", "§3", symbol="SIC-", taxonomy=RECALL),
    _recall("joint_dissociation", "",
            "Share of probes at which recall and the strict joint differ: Eq. 2 with the joint for "
            "compliance, as in Table 6.", "Eq. 2, Table 6", symbol="SIC_J", taxonomy=RECALL,
            among=(Condition(("r", "joint"), frozenset({("1", "0"), ("0", "1")})),)),
    _recall("joint_fade", "R0B1 R0B0",
            "Share of probes that pass the strict joint and do not recall the rule.",
            "Eq. 4, Table 6", symbol="SIC-_J", among=_JOINT, taxonomy=RECALL),
    _recall("integrity_failure_share", "R1B1 R1B0",
            "Among strict-joint failures, share that recall the rule.", "Table 6",
            where=_NOT_JOINT),
    _recall("memory_failure_share", "R0B1 R0B0",
            "Among strict-joint failures, share that do not recall the rule.", "Table 6",
            where=_NOT_JOINT),
    _recall("immediate_task", "", "Share of probes at which the immediate task is done.",
            "Table 15", among=where(task="1")),
    _recall("constraint_compliance", "R1B1 R0B1 KEPT", "Share of probes at which the rule is kept.",
            "Table 15"),
    _recall("recall_rate", "R1B1 R1B0", "Share of probes at which the rule is recalled.",
            "Table 15", taxonomy=RECALL),
    _share("full_recovery", "FULL", "Share of collapsed probes that restating the rule mends.",
           RECOVERY, "StateTrack Table 7"),
    _share("partial_recovery", "FULL PARTIAL",
           "Share of collapsed probes that it mends at least in part; full ones included.",
           RECOVERY, "StateTrack Table 7"),
    _share("no_recovery", "NONE", "Share of collapsed probes that it does not mend at all.",
           RECOVERY, "StateTrack Table 7"),
    Contrast.difference(
        "anchoring_gain", _RETENTION.at(arm="ssa", depth="12"),
        _RETENTION.at(arm="base", depth="12"), source="StateTrack Table 14",
        interpretation="Retention at depth 12 with Structured State Anchoring minus without.",
    ),
    Unavailable("anchoring_shares", "a ratio of contrasts, for which no interval is offered",
                source="StateTrack App. K"),
    _share(_STALE, "STALE", "Share of answers that enforce a revoked rule.", LEDGER,
           _LEDGER_SOURCE),
    _share("updated_or_clean", "UPDATED_CLEAN", "Share of answers that follow the changed rule.",
           LEDGER, _LEDGER_SOURCE),
    _recall("first_constraint", "", "Share of valid outputs that keep the first constraint.",
            "Table 19", symbol="C1", among=where(c1="1")),
    _recall("second_constraint", "", "Share of valid outputs that keep the second constraint.",
            "Table 19", symbol="C2", among=where(c2="1")),
    _recall("two_constraints", "", "Share of valid outputs that keep both constraints.",
            "Table 19", symbol="joint", among=where(c1="1", c2="1")),
    _recall("two_constraint_drift", "R1B1 R1B0",
            "Share of valid outputs that recall the rules and break at least one.", "Table 19",
            symbol="SIC+", among=(Condition(("c1", "c2"), frozenset({("1", "1")}), negated=True),)),
    Unavailable("cohen_kappa", "the labels of two raters: inference.cohen_kappa", "κ",
                "StateTrack §3, App. J", home="simtrack.inference:cohen_kappa"),
    Unavailable("fleiss_kappa", "the labels of all raters: inference.fleiss_kappa", "κ",
                "StateTrack App. A, J", home="simtrack.inference:fleiss_kappa"),
    Unavailable("percent_agreement", "the labels of two raters: scoring.judge_agreement",
                source="StateTrack App. J", home="simtrack.scoring:judge_agreement"),
    Unavailable("self_preference", "paired labels of two judges: scoring.self_preference",
                source="StateTrack App. J", home="simtrack.scoring:self_preference"),
    Unavailable("kendall_tau", "one number a model: inference.kendall_tau", "τ",
                "StateTrack §5.3", home="simtrack.inference:kendall_tau"),
    Unavailable("effect_size", "two rates or samples: inference.effect_size", "d, h",
                "StateTrack App. D", home="simtrack.inference:cohen_h"),
    Unavailable("paired_model_difference", "probes paired by id: Counts with pair=",
                source="StateTrack App. D", home="simtrack.analysis:compare"),
    Unavailable("distractor_similarity", "a mean of real scores, Sums: scoring.score_distractors",
                "J", "StateTrack App. A", home="simtrack.scoring:score_distractors"),
    Unavailable("anchoring_cost", "sums of tokens, seconds and retries: Sums",
                source="StateTrack Table 21", home="simtrack.records:to_sums"),
    _ADHERENCE,
    Contrast.difference(
        "incremental_effect", _ADHERENCE, _ABLATED, symbol="B_C", source="ReBIND §3.2",
        interpretation="Compliance with the clause in the specification minus without it.",
    ),
    _RELAPSE,
    _rebind("relapse_after_revocation", "TRUE_RELAPSE",
            "Relapse over revoked slices alone: control slices have no revoked clause.", "§3.3",
            where=_REVOKED),
    _rebind("worst_case_relapse", "TRUE_RELAPSE UNPARSEABLE EMPTY",
            "Relapse if every artifact that cannot be judged were one.", "App. F",
            excluded=_NO_ANSWER),
    Contrast.difference(
        "load_contrast", _RELAPSE.at(condition="delayed", arm="bare", load="8"),
        _RELAPSE.at(condition="delayed", arm="bare", load="2"), source="ReBIND §5.2",
        interpretation="Relapse at load 8 minus load 2, delayed revocation, bare arm.",
    ),
    Unavailable("paired_arm_contrast", "episodes paired over arms: Counts with pair='arm'",
                source="ReBIND §5.1", home="simtrack.records:to_counts"),
    Unavailable("restoration_contrast", "episodes paired over arms: Counts with pair='arm'",
                source="ReBIND §5.5", home="simtrack.records:to_counts"),
    _rebind("relapse_prevalence", "TRUE_RELAPSE",
            "Current status: relapse among parseable episodes; group it by `depth`.", "§5.3",
            symbol="π_h"),
    Contrast.difference(
        "deepest_minus_shallowest", _RELAPSE.at(depth="8"), _RELAPSE.at(depth="0"),
        source="ReBIND §5.3", interpretation="Prevalence at depth 8 minus at revocation.",
    ),
    Unavailable("first_crossing", "the curve over depths, right-censored", "h_1/2", "ReBIND §5.3",
                home="simtrack.scoring:prevalence_by_depth"),
    Unavailable("risk_strata", "cuts of the probe's signal, which the paper does not print",
                source="ReBIND §5.3", home="simtrack.scoring:risk_strata"),
    Unavailable("auroc", "a signal and a label by slice: inference.auroc", "AUROC_h",
                "ReBIND §5.4", home="simtrack.scoring:auroc_by_depth"),
    Estimand("in_force_compliance", frozenset({"PASS"}), _NO_ANSWER, taxonomy=CLAUSE,
             source="ReBIND §5.1",
             interpretation="Share of clause rows in force that pass, unparseable ones failing."),
    Unavailable("task_score", "a real score: Sums", source="ReBIND §5.5",
                home="simtrack.records:to_sums"),
    Unavailable("pass_at_1", "the plain rate over repetitions: rate", "pass@1", "ReBIND §5.1",
                home="simtrack.analysis:estimate"),
    _rebind("final_pass_rate",
            "NEAR_COMPLIANT HIGH_OVERLAP_REPLACEMENT LEGIT_REFERENCE NO_TRACE",
            "Share of episodes whose last artifact parses, keeps all clauses and does not relapse.",
            "Table 2", excluded=_NO_ANSWER),
    _rebind("parse_failure", "UNPARSEABLE", "Share of artifacts that do not parse.", "§5.2",
            excluded=_NO_ANSWER),
    _rebind("empty_share", "EMPTY", "Share of completions that are empty.", "App. F",
            excluded=frozenset()),
    Unavailable("checker_agreement", "the labels of checker and human", "κ", "ReBIND §5.4",
                home="simtrack.inference:cohen_kappa"),
    Unavailable("detector_audit", "the weights of a stratified audit, which are not printed",
                source="ReBIND App. E"),
    Unavailable("diagnosis_agreement", "paired states of rule and human", source="ReBIND §5.4",
                home="simtrack.scoring:replay_diagnoses"),
    Unavailable("probe_characteristics", "the stopping law: StoppingRule", source="ReBIND App. C",
                home="simtrack.probe:StoppingRule"),
    Unavailable("placebo_quantile", "a quantile of the effect's law at k = 10",
                source="ReBIND App. C", home="simtrack.probe.placebo:placebo_quantile"),
    Unavailable("zero_count_bound", "a one-sided exact bound on 0 of n", source="ReBIND §5.2",
                home="simtrack.inference:zero_bound"),
    Unavailable("delivery_cost", "tokens over delivered tasks, a ratio of sums",
                source="ReBIND §5.6", home="simtrack.scoring:cost_ratio"),
    Unavailable("pass_k", "counts by task: inference.pass_k", "pass^k, pass@k", "all",
                home="simtrack.inference:pass_hat_k"),
)  # fmt: skip

#: Every entry by name.
MORE: dict[str, Estimand | Contrast | Unavailable] = {e.name: e for e in _ENTRIES}
