"""What a fit was asked, held against its table: the score, columns, clusters and slope it names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from simtrack.analysis.crossing import lies_within
from simtrack.analysis.scope import GROUPS
from simtrack.counts import UNPOOLABLE
from simtrack.errors import DataError, InputError
from simtrack.inference.models.design import INTERCEPT
from simtrack.inference.models.table import ModelTable
from simtrack.note import Note
from simtrack.records import Records

__all__ = ["check_clusters", "check_columns", "check_idle", "check_readings", "check_score",
           "cluster_notes", "score_columns", "slope_of"]  # fmt: skip

#: What may stand left of ~ for every score.
_SCORES = ("rate", "value")
#: Columns that say what became of a trial or was asked of it, which are no kinds of clusters.
_NO_CLUSTERS = frozenset({*GROUPS, *UNPOOLABLE, "status", "reason", "outcome", "stage", "duty",
                          "gold", "obligation", "repetition"})  # fmt: skip
_SHOWN = 4


def score_columns(notes: Iterable[str]) -> tuple[str, ...]:
    """Which columns do the notes of a table say its score was taken from?

    Examples
    --------
    >>> score_columns([Note("columns-guessed", "a.csv: value = passed", "passed")])
    ('passed',)
    """
    guessed = (note for note in map(Note.of, notes) if note.code == "columns-guessed")
    return tuple(dict.fromkeys(note.where for note in guessed if note.where))


def check_score(formula: str, names: Iterable[str]) -> None:
    """Refuse a left side that is not the score, since the score is chosen elsewhere.

    Examples
    --------
    >>> check_score("passed ~ model", ["passed"])
    >>> check_score("speed ~ model", ["passed"])
    Traceback (most recent call last):
    simtrack.errors.InputError: formula must be empty left of ~, or name the score there (rate,
    value, passed), got 'speed'. Another score is chosen by --map value=COLUMN, --metric or
    --estimand.
    """
    left, sign, _ = formula.rpartition("~")
    known = tuple(dict.fromkeys((*_SCORES, *names)))
    if sign and left.strip() and left.strip() not in known:
        raise InputError(
            "formula", f"empty left of ~, or name the score there ({', '.join(known)})",
            repr(left.strip()),
            cure="Another score is chosen by --map value=COLUMN, --metric or --estimand.",
        )  # fmt: skip


def check_columns(records: Records, design: str, needed: Iterable[str]) -> None:
    """Refuse a table without the columns that a named design is made from."""
    for name in needed:
        if name not in records.factors:
            there = ", ".join(sorted(set(records.factors) - {"status", "reason"}))
            raise DataError(
                f"design {design} needs the column {name}, and the table has none of that name "
                f"(there are: {there}). Name it: --map {name}=COLUMN; or give a --formula."
            )


def check_clusters(unit: str, columns: Sequence[str], crossed: str | None) -> None:
    """Refuse a column of the formula, or a crossed factor, that is the clusters themselves."""
    if unit == crossed:
        raise InputError("crossed", f"other than the clusters, which are {unit}")
    if unit in columns:
        raise InputError(
            "formula", f"of columns other than the clusters, which are {unit}",
            cure="Take it out of the formula, or name other clusters (--cluster).",
        )  # fmt: skip


_NEEDED = {"slope": "Name the coefficient that differs by cluster.",
           "crossed": "Name the second kind of cluster."}  # fmt: skip


def check_idle(
    models: Mapping[str, tuple[str, Mapping[str, str | None], str]],
    slope: str | None,
    crossed: str | None,
    nodes: int | None,
) -> None:
    """Refuse an option that none of the models takes, and one that a model lacks.

    `models` has for each name the model, what the name fixes, and the option that it needs.
    """
    options = (
        ("slope", slope, {"lmm", "glmm"}),
        ("crossed", crossed, {"glmm", "two-way"}),
        ("nodes", nodes, {"glmm"}),
    )
    for name, value, having in options:
        taken = any(m in having and name not in fixed for m, fixed, _ in models.values())
        if value is not None and not taken:
            raise InputError(name, f"given with {' or '.join(sorted(having))}", value)
        needy = next((m for m, row in models.items() if row[2] == name), None)
        if value is None and needy is not None:
            raise InputError(name, f"given for {needy}", cure=_NEEDED[name])


def check_readings(records: Records, names: Sequence[str]) -> None:
    """Refuse to add up readings of the same trials, and name the option that keeps one."""
    for name in UNPOOLABLE:
        if name in records.factors and name not in names:
            levels = records.factors[name].compact().levels
            if len(levels) > 1:
                raise InputError(
                    name, "one, since its levels are readings of the same trials",
                    ", ".join(levels),
                    cure=f"Keep one (--where {name}={levels[0]}), or fit each (--by {name}).",
                )  # fmt: skip


def cluster_notes(records: Records, unit: str, used: Sequence[str]) -> tuple[str, ...]:
    """Say which columns put units together, where clusters are units since none were named.

    Such a column has every unit in one level, and fewer levels than there are units. Those that
    the columns of the design (`used`) determine are left out: they tell trials apart by what is
    asked of them.
    """
    told = any(isinstance(x, Note) and x.code == "clusters-are-units" for x in records.notes)
    if told or unit.rsplit("/", maxsplit=1)[-1] != "unit":
        return ()
    found = []
    for name, factor in records.factors.items():
        if name in _NO_CLUSTERS or name in (*used, unit, "unit"):
            continue
        part = factor.compact()
        several = 1 < len(part.levels) < len(records.factors[unit].compact().levels)
        whole = several and bool((part.codes >= 0).all())
        if whole and lies_within(records, name, (unit,)) and not lies_within(records, name, used):
            found.append(name)
    there = ", ".join(found[:_SHOWN]) + (", …" if len(found) > _SHOWN else "")
    text = f"clusters are units; name coarser ones with --cluster (there are: {there})"
    return (Note("clusters-are-units", text),) if found else ()


def slope_of(table: ModelTable, slope: str) -> str:
    """Which coefficient is meant by its name, or by a column that has but one?

    Examples
    --------
    >>> table = ModelTable.from_arrays([[4, 4]], [[3, 1]], [[1, 0], [1, 1]],
    ...     names=("intercept", "arm[y]"), patterns=[("x",), ("y",)], by=("arm",))
    >>> slope_of(table, "arm"), slope_of(table, "arm[y]")
    ('arm[y]', 'arm[y]')
    """
    if slope in table.names:
        return slope
    levels = table.codes(slope)[1] if slope in table.by else ()
    own = [f"{slope}[{level}]" for level in levels if f"{slope}[{level}]" in table.names]
    if len(own) == 1:
        return own[0]
    there = own or [name for name in table.names if name != INTERCEPT]
    cure = f"{slope} has {len(own)} coefficients; a slope is of one." if own else ""
    rule = f"one of {', '.join(there)}" if there else "left out of a formula without columns"
    raise InputError("slope", rule, repr(slope), cure=cure)
