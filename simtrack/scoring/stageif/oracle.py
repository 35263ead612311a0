"""What should the reply have said? Truth from labels alone, before any reply is read.

An oracle never sees a text: it takes `Records`, which hold none. Its answers carry a digest, so
that a log scored twice can be shown to have been held against one and the same truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.records import Records
from simtrack.scoring.columns import labels_nobody_has, named_column
from simtrack.taxonomy import STAGES

__all__ = ["Oracle", "Rule", "Truth", "flags"]

_UNKNOWN, _DUTY = -1, "duty"
_NAME_GOLD = (
    "Map it: --map stage=COLUMN; or name it in a protocol, under [truth] gold; or declare [[rule]] "
    "there (--example shows how). Lists are no labels: write READY|POST_OBS."
)
_NAME_ARM = "Name it in the protocol: arm = …, above [values]."
_FLAGS = {"1": 1, "0": 0, "true": 1, "false": 0, "yes": 1, "no": 0, "1.0": 1, "0.0": 0}


@dataclass(frozen=True, slots=True)
class Rule:
    """A line of a state machine: where these labels hold, is a report due, and of which stage?

    Parameters
    ----------
    when : mapping of column to labels
        All must hold; empty holds always.
    duty : bool
    gold : tuple of str
        The stages that are right; several where the state cannot tell them apart; none where no
        report is due.
    """

    when: Mapping[str, tuple[str, ...]]
    duty: bool
    gold: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = [stage for stage in self.gold if stage not in STAGES]
        if unknown:
            raise InputError("gold", f"stages of {', '.join(STAGES)}", ", ".join(unknown))
        if self.duty and not self.gold:
            raise InputError("gold", "at least one stage where a report is due")


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """What is right in each row.

    Attributes
    ----------
    duty : int8 array, shape (rows,)
        1 where a report is due, 0 where it is not, -1 where that is not known.
    gold : Factor
        The right stage, or several joined by "|"; missing where none is.
    expected : Factor
        The value that the marker should have, or several joined by "|".
    """

    duty: NDArray[np.int8]
    gold: Factor
    expected: Factor

    @property
    def digest(self) -> str:
        """SHA-256 of all that was fixed before the replies were read."""
        parts = [self.duty.tobytes()]
        for factor in (self.gold, self.expected):
            parts += ["\0".join(factor.levels).encode(), factor.codes.astype("<i4").tobytes()]
        return sha256(b"\1".join(parts)).hexdigest()


@dataclass(frozen=True, slots=True)
class Oracle:
    """Where truth comes from: a state machine, or columns that hold its result.

    Parameters
    ----------
    rules : sequence of Rule
        The first one that holds counts; a row where none holds has no truth and is unscored.
    duty, gold : str
        Without rules: the columns of the duty (1, 0, true, false, yes, no; where it is the usual
        `duty` and the log has none, a report is always due) and of the right stage, by its name or
        its marker's value, several joined by "|". Where a column `gold` exists it is used rather
        than `stage`.
    """

    rules: tuple[Rule, ...] = ()
    duty: str = "duty"
    gold: str = "stage"

    def truth(
        self, records: Records, values: Mapping[str, str], constants: Mapping[str, str], arm: str
    ) -> tuple[Truth, list[str]]:
        """Say what is right in each row, and what was assumed.

        Parameters
        ----------
        records : Records
        values : mapping of stage to the text of its marker
        constants : mapping of arm to the one text that it asks for
        arm : str
            The column of arms.

        Raises
        ------
        InputError, DataError
            A column that the records do not have, a duty that is no flag, a stage that is due and
            unknown, constants without a column of arms.
        """
        duty, gold, notes = self._from_rules(records) if self.rules else self._read(records, values)
        stages = gold.levels
        texts = ["|".join(values[s] for s in level.split("|")) for level in stages]
        expected = Factor.from_values([texts[c] if c >= 0 else None for c in gold.codes.tolist()])
        if constants:
            arms = named_column(records, arm, "arms of [expected]", _NAME_ARM)
            expected, told = _with_constants(expected, arms, constants, arm)
            notes += told
        return Truth(duty, gold, expected), notes

    def _from_rules(self, records: Records) -> tuple[NDArray[np.int8], Factor, list[str]]:
        duty = np.full(len(records), _UNKNOWN, dtype=np.int8)
        gold: list[str | None] = [None] * len(records)
        open_ = np.ones(len(records), dtype=bool)
        for number, rule in enumerate(self.rules, 1):
            holds = open_.copy()
            for name, labels in rule.when.items():
                factor = named_column(records, name, f"when of [[rule]] {number}", "")
                codes = [k for k, level in enumerate(factor.levels) if level in labels]
                holds &= np.isin(factor.codes, codes)
            duty[holds] = int(rule.duty)
            joined = "|".join(rule.gold) or None
            for row in np.flatnonzero(holds).tolist():
                gold[row] = joined
            open_ &= ~holds
        left = int(open_.sum())
        notes = [f"{left} rows meet no rule of the oracle and are unscored"] if left else []
        strange = labels_nobody_has(
            records, ((f"[[rule]] {k}", rule.when) for k, rule in enumerate(self.rules, 1))
        )
        return duty, Factor.from_values(gold, _gold_order(gold)), [*notes, *strange]

    def _read(
        self, records: Records, values: Mapping[str, str]
    ) -> tuple[NDArray[np.int8], Factor, list[str]]:
        notes: list[str] = []
        column = "gold" if "gold" in records.factors and self.gold == "stage" else self.gold
        factor = named_column(records, column, "right stage", _NAME_GOLD)
        if column == "gold" and {"gold", "stage"} <= set(records.factors):
            notes.append("the right stage is read from the column gold, not from stage")
        if self.duty == _DUTY and _DUTY not in {*records.factors, *records.numbers}:
            duty = np.ones(len(records), dtype=np.int8)
            notes.append(f"no column {self.duty!r}: a report is taken as due in every reply")
        else:
            if self.duty not in records.numbers:
                named_column(records, self.duty, "[truth] duty", "")
            duty = flags(records, self.duty)
        stage_of = {text: stage for stage, text in values.items()} | {s: s for s in STAGES}
        joined = [*(_stages(level, stage_of) for level in factor.levels), None]
        gold = [joined[c] for c in factor.codes.tolist()]
        needed = np.array([g is None for g in gold], dtype=bool) & (duty == 1)
        strange = np.flatnonzero(needed & (factor.codes >= 0))
        if strange.size:
            row = int(strange[0])
            raise DataError(
                f"row {row + 1}: {column} must be one of {', '.join(stage_of)} where a report "
                f"is due, got {factor.values()[row]!r}. Name the values of the markers in the "
                "protocol, or another column for gold."
            )
        if needed.any():
            notes.append(f"{int(needed.sum())} rows have no {column} and are unscored")
            duty = np.where(needed, np.int8(_UNKNOWN), duty).astype(np.int8)
        return duty, Factor.from_values(gold, _gold_order(gold)), notes


def flags(records: Records, name: str) -> NDArray[np.int8]:
    """Read a column of yes and no: 1, 0, and -1 where it is missing; shape (rows,).

    Examples
    --------
    >>> flags(Records.from_columns({"duty": ["yes", "0", None]}), "duty").tolist()
    [1, 0, -1]
    """
    if name in records.numbers:
        column = records.numbers[name]
        is_flag = np.isnan(column) | (column == 0.0) | (column == 1.0)
        if not is_flag.all():
            found = column[int(np.argmin(is_flag))]
            raise DataError(f"{name} must be 1 or 0, got {found:g}. Map another column.")
        return np.where(np.isnan(column), _UNKNOWN, column == 1.0).astype(np.int8)
    factor = records.factor(name)
    codes = []
    for level in factor.levels:
        if level.strip().lower() not in _FLAGS:
            raise DataError(f"{name} must be 1 or 0, got {level!r}. Map another column.")
        codes.append(_FLAGS[level.strip().lower()])
    return np.array([*codes, _UNKNOWN], dtype=np.int8)[factor.codes]


def _with_constants(
    expected: Factor, arms: Factor, constants: Mapping[str, str], arm: str
) -> tuple[Factor, list[str]]:
    """Put the constant of an arm in the place of what its rows would be expected to say."""
    pairs = zip(arms.values(), expected.values(), strict=True)
    found = Factor.from_values([constants.get(a or "", e) for a, e in pairs])
    unknown = [a for a in constants if a not in arms.levels]
    told = [f"no row has {arm} {', '.join(unknown)}, of which the protocol speaks"]
    return found, told if unknown else []


def _stages(level: str, stage_of: Mapping[str, str]) -> str | None:
    parts = [part.strip() for part in level.split("|")]
    if any(part not in stage_of for part in parts):
        return None
    named = {stage_of[part] for part in parts}
    return "|".join(stage for stage in STAGES if stage in named)


def _gold_order(gold: Sequence[str | None]) -> list[str]:
    """Order gold labels by the stages they begin with."""
    found = {label for label in gold if label is not None}
    return sorted(found, key=lambda label: [STAGES.index(s) for s in label.split("|")])
