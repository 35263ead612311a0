"""Would human labels have led the probe to the same diagnosis? A replay through the frozen rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simtrack.counts import Factor, natural_order
from simtrack.errors import DataError, InputError
from simtrack.inference import Agreement, Ratings, cohen_kappa, percent_agreement
from simtrack.options import Computation, Guarantee
from simtrack.plain import Plain
from simtrack.probe import StoppingRule
from simtrack.probe.states import STATES, State
from simtrack.records import Records

__all__ = ["Diagnosis", "DiagnosisReplay", "HumanLabels", "replay_diagnoses"]

_SPECS = ("full", "ablated")
_NO_ANSWER = "TRANSPORT"
_UNDECIDED: State = "not_confident"


@dataclass(frozen=True, slots=True)
class HumanLabels:
    """What do the labels of a rater stand for?

    Parameters
    ----------
    present, absent, cannot_judge : tuples of str
        The behaviour is there (a pass), is not, or cannot be told: no draw.
    """

    present: tuple[str, ...] = ("A",)
    absent: tuple[str, ...] = ("B",)
    cannot_judge: tuple[str, ...] = ("C",)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What do the system and a human call one clause, from the same artifacts?

    Attributes
    ----------
    name : str
    system, human : State
        not_confident also where the rounds ran out before the rule stopped.
    system_rounds, human_rounds : int
        Rounds until the stop, or all there are.
    recorded_rounds : int
    cannot_judge : int
        Artifacts that the human could not judge; their rounds are no draws.
    """

    name: str
    system: State
    human: State
    system_rounds: int
    human_rounds: int
    recorded_rounds: int
    cannot_judge: int


_WRITTEN = (
    "diagnoses confident agree samples cannot_judge unlabelled computation guarantee agreement "
    "kappa sample_agreement sample_kappa notes"
)


@dataclass(frozen=True, slots=True)
class DiagnosisReplay(Plain, schema="simtrack.diagnosis-replay/1", names=_WRITTEN):
    """How often do human labels, replayed, give the system's diagnosis?

    Attributes
    ----------
    diagnoses : tuple of Diagnosis
    confident, agree : int
        Diagnoses that are confident on both sides, and those among them of one state.
    agreement, kappa : Agreement
        Over the confident ones: their share, and Cohen's κ.
    samples : int
        Artifacts that both the checker and the human judged.
    sample_agreement, sample_kappa : Agreement
        Over these artifacts: pass or not against present or not.
    cannot_judge, unlabelled : int
        Artifacts that the human could not judge, or did not label.
    notes : tuple of str
    """

    diagnoses: tuple[Diagnosis, ...]
    confident: int
    agree: int
    agreement: Agreement
    kappa: Agreement
    samples: int
    sample_agreement: Agreement
    sample_kappa: Agreement
    cannot_judge: int
    unlabelled: int
    notes: tuple[str, ...] = ()
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def __repr__(self) -> str:
        return f"DiagnosisReplay({self.agree} of {self.confident} confident diagnoses agree)"


def replay_diagnoses(
    records: Records,
    rule: StoppingRule | None = None,
    *,
    human: str = "human",
    diagnosis: str = "diagnosis",
    order: str = "round",
    spec: str = "spec",
    labels: HumanLabels | None = None,
    cluster: str | None = None,
    level: float = 0.95,
) -> DiagnosisReplay:
    """Do human labels lead the same stopping rule to the diagnoses that the system made?

    A round is one artifact under the full and one under the ablated specification. The system draws
    a pass where `outcome` is PASS (an artifact that does not parse is none), the human where the
    behaviour is labelled as present. A round with an artifact that the human could not judge or did
    not label is no draw for the human; one without a reply (TRANSPORT) is none for the system. The
    replay cannot go on beyond the rounds that were drawn: where it ends there without a decision,
    the diagnosis is not confident.

    Parameters
    ----------
    records : Records
        One row an artifact, with `outcome` (codes of `taxonomy.CLAUSE`) and labelled columns.
    rule : StoppingRule, optional
        The frozen rule of the paper by default.
    human, diagnosis, order, spec : str
        The columns of the human's label, of the probed clause (with its dialogue), of the round's
        number, and of the specification (full or ablated).
    labels : HumanLabels, optional
        A, B and C by default.
    cluster : str, optional
        What samples and diagnoses belong to, for the intervals; the diagnosis by default.

    Source: ReBIND section 5.4, appendices B and E (32 of 35 confident diagnoses of 36).
    """
    used = StoppingRule() if rule is None else rule
    truth = _passes(records)
    told, lost = _judged(records.factor(human), labels or HumanLabels())
    names = records.factor(diagnosis)
    groups = records.factor(cluster) if cluster else names
    rounds = _rounds(records, names, order, spec)
    found, of = [], []
    for name in natural_order({key[0] for key in rounds}):
        keys = natural_order(k for n, k in rounds if n == name)
        pairs = [rounds[name, key] for key in keys]
        rows = [row for pair in pairs for row in pair]
        system, system_rounds = _replay(used, [[truth[r] for r in pair] for pair in pairs])
        person, human_rounds = _replay(used, [[told[r] for r in pair] for pair in pairs])
        unjudged = sum(lost[row] for row in rows)
        found.append(
            Diagnosis(name, system, person, system_rounds, human_rounds, len(pairs), unjudged)
        )
        of.append(groups.values()[rows[0]] or name)
    return _summed(tuple(found), of, truth, told, lost, groups, level)


def _summed(
    found: tuple[Diagnosis, ...],
    of: list[str],
    truth: list[bool | None],
    told: list[bool | None],
    lost: list[bool],
    groups: Factor,
    level: float,
) -> DiagnosisReplay:
    sure = [k for k, d in enumerate(found) if _UNDECIDED not in (d.system, d.human)]
    states = Ratings.from_rows(
        [(found[k].system, found[k].human) for k in sure] or [(None, None)],
        categories=STATES,
        cluster=[of[k] for k in sure] or ["none"],
    )
    labels = groups.values()
    both = [r for r, (s, h) in enumerate(zip(truth, told, strict=True)) if None not in (s, h)]
    samples = Ratings.from_rows(
        [(str(truth[r]), str(told[r])) for r in both] or [(None, None)],
        categories=("False", "True"),
        cluster=[labels[r] or f"(row {r + 1})" for r in both] or ["none"],
    )
    unjudged = sum(lost)
    unlabelled = sum(h is None for h in told) - unjudged
    notes = [f"{unjudged} artifacts could not be judged: their rounds are no draws of the human"]
    if unlabelled:
        notes.append(f"{unlabelled} artifacts have no human label")
    short = sum(d.human == _UNDECIDED for d in found)
    if short:
        notes.append(f"{short} diagnoses by human labels are not confident")
    return DiagnosisReplay(
        found, len(sure), sum(found[k].system == found[k].human for k in sure),
        percent_agreement(states, level=level), cohen_kappa(states, level=level), len(both),
        percent_agreement(samples, level=level), cohen_kappa(samples, level=level), unjudged,
        unlabelled, tuple(notes),
    )  # fmt: skip


def _passes(records: Records) -> list[bool | None]:
    return [None if code in (None, _NO_ANSWER) else code == "PASS"
            for code in records.factor("outcome").values()]  # fmt: skip


def _judged(factor: Factor, labels: HumanLabels) -> tuple[list[bool | None], list[bool]]:
    """Give what the human saw in each artifact, and where that could not be told."""
    known: dict[str, bool | None] = dict.fromkeys(labels.present, True)
    known |= dict.fromkeys(labels.absent, False)
    known |= dict.fromkeys(labels.cannot_judge)
    for label in factor.compact().levels:
        if label not in known:
            raise DataError(f"a human label must be one of {', '.join(known)}, got {label!r}.")
    values = factor.values()
    told = [None if label is None else known[label] for label in values]
    return told, [label in labels.cannot_judge for label in values]


def _rounds(
    records: Records, names: Factor, order: str, spec: str
) -> dict[tuple[str, str], tuple[int, int]]:
    """Find the row of the full and of the ablated artifact of every round."""
    specs, numbers = records.factor(spec), records.factor(order)
    unknown = set(specs.compact().levels) - set(_SPECS)
    if unknown:
        raise InputError(spec, "full or ablated", ", ".join(sorted(unknown)))
    slots: dict[tuple[str, str], list[int]] = {}
    columns = (names.values(), numbers.values(), specs.values())
    for row, (name, number, form) in enumerate(zip(*columns, strict=True)):
        if name is None or number is None or form is None:
            raise DataError(f"row {row + 1} lacks a label of its diagnosis, round or spec.")
        pair = slots.setdefault((name, number), [-1, -1])
        place = _SPECS.index(form)
        if pair[place] >= 0:
            raise DataError(f"diagnosis {name}, round {number} has two {form} artifacts.")
        pair[place] = row
    for (name, number), pair in slots.items():
        if -1 in pair:
            lacking = _SPECS[pair.index(-1)]
            raise DataError(f"diagnosis {name}, round {number} has no {lacking} artifact.")
    return {key: (full, ablated) for key, (full, ablated) in slots.items()}


def _replay(rule: StoppingRule, pairs: Sequence[Sequence[bool | None]]) -> tuple[State, int]:
    """Draw the rounds in turn until the rule stops: its state and the rounds that it took."""
    session = rule.session()
    drawn = 0
    for full, ablated in pairs:
        if full is None or ablated is None:
            continue
        drawn += 1
        decision = session.update(full=full, ablated=ablated)
        if decision is not None:
            return decision.state, drawn
    return _UNDECIDED, drawn
