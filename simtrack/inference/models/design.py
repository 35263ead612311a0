"""A formula such as "stage * arm" and labelled patterns: the design matrix, treatment-coded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import natural_order
from simtrack.errors import InputError

__all__ = ["INTERCEPT", "aliased", "design_matrix", "terms_of"]

INTERCEPT = "intercept"
#: A column counts as a combination of others when so little of its length is left.
_ALIASED = 1e-9

Floats = NDArray[np.float64]
Labels = Mapping[str, Sequence[str]]


def terms_of(formula: str) -> tuple[tuple[str, ...], ...]:
    """Which terms does a formula name?

    Terms are joined by "+"; "a:b" is an interaction and "a*b" is "a + b + a:b". "1" is the
    intercept, which is always there. A left side ("clean ~ stage") is left out.

    Raises
    ------
    InputError
        A term without a name, a random effect in brackets, or a sign other than these.

    Examples
    --------
    >>> terms_of("clean ~ stage * arm + model")
    (('stage',), ('arm',), ('stage', 'arm'), ('model',))
    >>> terms_of("1")
    ()
    """
    right = formula.rsplit("~", maxsplit=1)[-1]
    if any(mark in right for mark in "()|-^"):
        raise InputError(
            "formula", "of names joined by +, : and *", repr(formula),
            cure="Clusters and random effects are named by options of the fit.",
        )  # fmt: skip
    _refuse_gaps(formula, right)
    found: dict[tuple[str, ...], None] = {}
    for part in right.split("+"):
        factors = [name.strip() for name in part.split("*")]
        if factors == ["1"]:
            continue
        for chosen in _crossings(factors):
            names = tuple(n.strip() for term in chosen for n in term.split(":"))
            if len(set(names)) != len(names):
                raise InputError("formula", "of different names joined by +, : and *", repr(part))
            found[names] = None
    return tuple(found)


def design_matrix(
    formula: str,
    labels: Labels,
    *,
    reference: Mapping[str, str] | None = None,
    numeric: Sequence[str] = (),
) -> tuple[Floats, tuple[str, ...]]:
    """Which columns does a formula give to patterns with these labels?

    Parameters
    ----------
    formula : str
        See `terms_of`.
    labels : mapping of name to one label a pattern
    reference : mapping of name to level
        The level that others are compared with; the first in natural order where none is named.
    numeric : sequence of str
        Columns whose labels are numbers and enter as they are.

    Returns
    -------
    float64 array, shape (patterns, columns); tuple of str
        The intercept first. Names are "stage[READY]" and "stage[READY]:arm[b]".

    Raises
    ------
    InputError
        A name that is no column, a reference that is no level, a label that is no number.

    Examples
    --------
    >>> x, names = design_matrix("arm", {"arm": ["a", "b", "c"]}, reference={"arm": "b"})
    >>> names, x.tolist()
    (('intercept', 'arm[a]', 'arm[c]'), [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
    """
    terms = terms_of(formula)
    for name in [n for term in terms for n in term] + [*(reference or {}), *numeric]:
        if name not in labels:
            known = ", ".join(labels) or "none: group the counts by one"
            raise InputError("formula", f"of columns that there are ({known})", repr(name))
    rows = len(next(iter(labels.values()))) if labels else 1
    columns, names = [np.ones(rows)], [INTERCEPT]
    main = {
        name: _main(name, labels[name], (reference or {}).get(name), name in numeric)
        for term in terms
        for name in term
    }
    for term in terms:
        for chosen in product(*(main[name] for name in term)):
            names.append(":".join(name for name, _ in chosen))
            columns.append(np.prod([column for _, column in chosen], axis=0))
    return np.stack(columns, axis=1), tuple(names)


def aliased(design: Floats, weight: Floats) -> int | None:
    """Which column of a design is a combination of those before it; None if no one is.

    Rows of weight 0 are left out. By Gram and Schmidt, twice.
    """
    rows = design[weight > 0.0]
    kept: list[Floats] = []
    for j in range(rows.shape[1]):
        column = rows[:, j].copy()
        size = float(np.sqrt((column * column).sum()))
        for _ in range(2):
            for other in kept:
                column = column - (other * column).sum() * other
        left = float(np.sqrt((column * column).sum()))
        if left <= _ALIASED * size or size == 0.0:
            return j
        kept.append(column / left)
    return None


def _refuse_gaps(formula: str, right: str) -> None:
    """Refuse signs without a name between them, saying where."""
    names = [name.strip() for name in right.replace("*", "+").replace(":", "+").split("+")]
    if all(names):
        return
    text = right.strip()
    if not text:
        why, cure = "it names none", 'The intercept alone is "1".'
    elif not names[-1]:
        why, cure = f"it ends in {text[-1]}", f"Name a column after it, or leave {text[-1]} out."
    elif not names[0]:
        why, cure = f"it begins with {text[0]}", f"Leave {text[0]} out."
    else:
        why, cure = "two signs have no name between them", "Leave one of them out."
    rule = "of different names joined by +, : and *"
    raise InputError("formula", rule, repr(formula.strip()), where=why, cure=cure)


def _crossings(factors: Sequence[str]) -> list[tuple[str, ...]]:
    """All choices of one factor or more, small ones first, each in the order written."""
    chosen: list[tuple[str, ...]] = [()]
    for factor in factors:
        chosen += [(*before, factor) for before in chosen]
    return sorted(chosen[1:], key=len)


def _main(
    name: str, labels: Sequence[str], reference: str | None, numeric: bool
) -> list[tuple[str, Floats]]:
    if numeric:
        try:
            return [(name, np.array([float(label) for label in labels]))]
        except ValueError as error:
            raise InputError("numeric", f"of columns of numbers, as {name} is not") from error
    levels = natural_order(set(labels))
    if len(levels) < 2:
        raise InputError("formula", f"of factors with two levels or more, as {name} is not", levels)
    base = levels[0] if reference is None else reference
    if base not in levels:
        raise InputError(f"reference of {name}", "one of " + ", ".join(levels), repr(base))
    return [
        (f"{name}[{level}]", np.array([float(label == level) for label in labels]))
        for level in levels
        if level != base
    ]
