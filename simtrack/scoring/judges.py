"""Do judges agree, and does one favour outputs of its own family? From a table of labels."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

from simtrack.counts import natural_order
from simtrack.errors import DataError, InputError
from simtrack.inference import (
    Agreement,
    McNemar,
    Ratings,
    cohen_kappa,
    fleiss_kappa,
    mcnemar,
    percent_agreement,
)
from simtrack.options import Computation, Guarantee
from simtrack.plain import Plain

__all__ = ["JudgeAgreement", "JudgePair", "SelfPreference", "judge_agreement", "self_preference"]

Labels = Sequence[str | int | None]


@dataclass(frozen=True, slots=True)
class JudgePair:
    """How well do two judges agree on the outputs that both have labelled?"""

    first: str
    second: str
    percent: Agreement
    kappa: Agreement


_WRITTEN = "judges outputs pairs fleiss notes computation guarantee"


@dataclass(frozen=True, slots=True)
class JudgeAgreement(Plain, schema="simtrack.judge-agreement/1", names=_WRITTEN):
    """How well do judges agree?

    Attributes
    ----------
    judges : tuple of str
        The primary judge first, where one is named.
    pairs : tuple of JudgePair
        Every two of them, percent agreement and Cohen's κ.
    fleiss : Agreement
        Of all of them at once.
    outputs : int
        Outputs that at least one judge has labelled.
    notes : tuple of str
    """

    judges: tuple[str, ...]
    pairs: tuple[JudgePair, ...]
    fleiss: Agreement
    outputs: int
    notes: tuple[str, ...] = ()
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def pair(self, first: str, second: str) -> JudgePair:
        """Give two judges' agreement, whichever is named first."""
        for found in self.pairs:
            if {found.first, found.second} == {first, second}:
                return found
        raise InputError("pair", f"two of {', '.join(self.judges)}", f"{first}, {second}")

    def __repr__(self) -> str:
        value = self.fleiss.value
        shown = "not defined" if value is None else f"{value:.4f}"
        return (
            f"JudgeAgreement({len(self.judges)} judges, Fleiss κ {shown}, {self.outputs} outputs)"
        )


@dataclass(frozen=True, slots=True)
class SelfPreference(Plain, schema="simtrack.self-preference/1"):
    """Is a judge more lenient with its own family than with others?

    Attributes
    ----------
    judge, family, reference : str
        The judge, the family of outputs that is its own, and the judge it is held against.
    own_outputs, other_outputs : int
        Outputs of either kind that both judges have labelled.
    own_rate, other_rate, own_reference_rate, other_reference_rate : float or None
        Shares that pass, by the judge and by the reference; None without outputs.
    own_leniency, other_leniency : float or None
        Rate of the judge minus that of the reference, over the same outputs.
    delta : float or None
        Own minus other leniency: what favours the own family beyond its quality and beyond the
        judge's leniency with everybody.
    raw_delta : float or None
        `own_rate` minus `other_rate`: the quality of the outputs is in it.
    own_test : McNemar or None
        Whether judge and reference differ on the own family's outputs, paired by output; exact
        where outputs are independent.
    notes : tuple of str
    """

    judge: str
    family: str
    reference: str
    own_outputs: int
    other_outputs: int
    own_rate: float | None
    other_rate: float | None
    own_reference_rate: float | None
    other_reference_rate: float | None
    own_leniency: float | None
    other_leniency: float | None
    delta: float | None
    raw_delta: float | None
    own_test: McNemar | None
    notes: tuple[str, ...] = ()
    computation: Computation = "closed-form"
    guarantee: Guarantee = "descriptive"

    def __repr__(self) -> str:
        shown = "not defined" if self.delta is None else f"{self.delta:+.4f}"
        sizes = f"{self.own_outputs} own and {self.other_outputs} other outputs"
        return f"SelfPreference({self.judge}: {shown}, {sizes})"


def judge_agreement(
    output: Sequence[str],
    judge: Sequence[str],
    label: Labels,
    *,
    primary: str | None = None,
    categories: Sequence[str] | None = None,
    cluster: Sequence[str] | None = None,
    level: float = 0.95,
) -> JudgeAgreement:
    """How often do judges agree, how much beyond chance, in pairs and all together?

    Parameters
    ----------
    output, judge, label : sequences of one length
        One entry a label; joined by the output's id. None is a missing label.
    primary : str, optional
        The judge that the others are held against: it comes first.
    categories : sequence of str, optional
        The labels there could have been; those that occur without it.
    cluster : sequence of str, optional
        What outputs belong to (scenario): standard errors are over clusters.
    level : float
        Confidence level.

    Raises
    ------
    InputError, DataError
        Fewer than two judges, an unknown primary, two labels of one output by one judge.

    Source: StateTrack appendix J, Table 20.

    Examples
    --------
    >>> rows = [(o, j, v) for o, labels in {"a": "110", "b": "111", "c": "000"}.items()
    ...         for j, v in zip(("p", "q", "r"), labels)]
    >>> found = judge_agreement(*zip(*rows), primary="p")
    >>> found.pair("p", "q").percent.value, round(found.pair("p", "r").kappa.value, 4)
    (1.0, 0.4)
    """
    names = natural_order(set(judge))
    if len(names) < 2:
        raise InputError("judge", "two judges or more", ", ".join(names) or "none")
    if primary is not None:
        if primary not in names:
            raise InputError("primary", f"one of {', '.join(names)}", repr(primary))
        names = [primary, *(name for name in names if name != primary)]
    if len({len(output), len(judge), len(label)}) > 1:
        raise InputError("columns", "of one length", (len(output), len(judge), len(label)))
    used = categories or natural_order({str(v) for v in label if v is not None})

    def ratings(of: Collection[str]) -> Ratings:
        rows = [k for k, name in enumerate(judge) if name in of]
        groups = None if cluster is None else [cluster[k] for k in rows]
        return Ratings.from_columns(
            [output[k] for k in rows], [judge[k] for k in rows], [label[k] for k in rows],
            categories=used, cluster=groups,
        )  # fmt: skip

    pairs = []
    for first, second in combinations(names, 2):
        both = ratings((first, second))
        percent = percent_agreement(both, level=level)
        pairs.append(JudgePair(first, second, percent, cohen_kappa(both, level=level)))
    fleiss = fleiss_kappa(ratings(names), level=level)
    return JudgeAgreement(tuple(names), tuple(pairs), fleiss, len(set(output)))


def self_preference(
    output: Sequence[str],
    family: Sequence[str],
    judge: Sequence[str],
    label: Labels,
    *,
    of: str,
    own: str,
    reference: str,
    passing: Collection[str] = ("1",),
) -> SelfPreference:
    """Does the judge `of` let outputs of the family `own` pass more often than it should?

    The paper prints a difference of leniency without saying against what leniency is measured; here
    it is the label of a reference judge on the same outputs, so that better outputs are no
    preference. McNemar's test pairs the two judges' labels of the own family's outputs.

    Parameters
    ----------
    output, family, judge, label : sequences of one length
        One entry a label: the output's id, the family of the model that wrote it, who judged.
    of, own, reference : str
    passing : collection of str
        The labels that count as a pass; every other label is none.

    Source: StateTrack appendix J, Table 20.

    Examples
    --------
    >>> rows = [("a", "x", "j", 1), ("a", "x", "k", 0), ("b", "y", "j", 1), ("b", "y", "k", 1)]
    >>> found = self_preference(*zip(*rows), of="j", own="x", reference="k")
    >>> found.own_leniency, found.other_leniency, found.delta
    (1.0, 0.0, 1.0)
    """
    if len({len(output), len(family), len(judge), len(label)}) > 1:
        raise InputError("columns", "of one length")
    for name, value, known in (("of", of, judge), ("reference", reference, judge),
                               ("own", own, family)):  # fmt: skip
        if value not in known:
            raise InputError(name, f"one of {', '.join(natural_order(set(known)))}", repr(value))
    if of == reference:
        raise InputError("reference", "another judge than `of`", repr(reference))
    said = _labels(output, family, judge, label, (of, reference))
    both = {o: labels for o, labels in said.items() if len(labels[1]) == 2}
    passes = {
        o: (whose == own, str(votes[of]) in passing, str(votes[reference]) in passing)
        for o, (whose, votes) in both.items()
    }
    mine = [(a, b) for is_own, a, b in passes.values() if is_own]
    theirs = [(a, b) for is_own, a, b in passes.values() if not is_own]
    notes = [f"{len(said) - len(both)} outputs without a label of both judges left out"]
    notes = notes if len(said) > len(both) else []
    notes += [f"no {which} outputs" for which, n in (("own", mine), ("other", theirs)) if not n]
    own_rate, own_reference = _rate(mine, 0), _rate(mine, 1)
    other_rate, other_reference = _rate(theirs, 0), _rate(theirs, 1)
    own_leniency = _minus(own_rate, own_reference)
    other_leniency = _minus(other_rate, other_reference)
    test = None
    if mine:
        test = mcnemar(sum(a and not b for a, b in mine), sum(b and not a for a, b in mine))
    return SelfPreference(
        of, own, reference, len(mine), len(theirs), own_rate, other_rate, own_reference,
        other_reference, own_leniency, other_leniency, _minus(own_leniency, other_leniency),
        _minus(own_rate, other_rate), test, tuple(notes),
    )  # fmt: skip


def _labels(
    output: Sequence[str],
    family: Sequence[str],
    judge: Sequence[str],
    label: Labels,
    judges: tuple[str, str],
) -> dict[str, tuple[str, dict[str, str | int]]]:
    """Give for each output its family and what two judges say of it."""
    found: dict[str, tuple[str, dict[str, str | int]]] = {}
    for o, whose, who, said in zip(output, family, judge, label, strict=True):
        if who not in judges:
            continue
        known, votes = found.setdefault(o, (whose, {}))
        if known != whose:
            raise DataError(f"output {o} is of the families {known} and {whose}. Name one.")
        if who in votes:
            raise DataError(f"judge {who} labelled output {o} more than once. Keep one label.")
        if said is not None:
            votes[who] = said
    return found


def _rate(pairs: Sequence[tuple[bool, bool]], side: int) -> float | None:
    return sum(pair[side] for pair in pairs) / len(pairs) if pairs else None


def _minus(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second
