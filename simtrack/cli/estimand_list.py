"""`simtrack methods --estimands`: every quantity of the papers, and where it is computed."""

from __future__ import annotations

import json
import textwrap
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from simtrack.errors import InputError

if TYPE_CHECKING:
    from simtrack.estimands import Contrast, Estimand, Unavailable

__all__ = ["described", "show_estimands"]

#: Papers, as they begin the source of an entry.
_PAPERS = ("StageIF", "StateTrack", "ReBIND")


def show_estimands(what: str | None, verbose: bool, as_json: bool) -> None:
    """Print the catalogue of estimands, those of one paper, or one of them."""
    from simtrack.estimands.catalogue import CATALOGUE
    from simtrack.report.table import Table

    rows = [described(entry) for entry in CATALOGUE.values()]
    if what is not None:
        rows = [r for r in rows if what in {r["name"], r["source"].split(" ")[0], r["kind"]}]
        if not rows:
            near = get_close_matches(what, [*CATALOGUE, *_PAPERS], 1)
            cure = f"Did you mean {near[0]}?" if near else "simtrack methods --estimands lists all."
            rule = f"the name of an estimand or a paper ({', '.join(_PAPERS)})"
            raise InputError("estimand", rule, repr(what), cure=cure)
    if as_json:
        told = {"schema": "simtrack.estimands/1", "estimands": rows}
        print(json.dumps(told, indent=1, ensure_ascii=False))
        return
    if verbose or len(rows) == 1:
        for row in rows:
            print(f"{row['name']} {row['symbol']}".rstrip() + f" ({row['kind']}; {row['source']})")
            for head in ("means", "numerator", "denominator", "where", "terms", "home", "needs"):
                if row.get(head):
                    print(textwrap.fill(f"{head}: {row[head]}", 96, initial_indent="  ",
                                        subsequent_indent=" " * (4 + len(head))))  # fmt: skip
        return
    cells: list[tuple[str, ...]] = [(r["name"], r["symbol"], r["kind"], r["source"]) for r in rows]
    heads = ("name", "symbol", "kind", "source")
    Table("", heads, cells, frozenset(heads)).show()


def described(entry: Estimand | Contrast | Unavailable) -> dict[str, str]:
    """Put one entry into words: what stands over what, or where it is computed, or why not."""
    from simtrack.estimands import Contrast, Estimand

    base = {"name": entry.name, "symbol": entry.symbol, "source": entry.source}
    if isinstance(entry, Estimand):
        return base | {"kind": "ratio", "means": entry.interpretation} | _ratio(entry)
    if isinstance(entry, Contrast):
        terms = " ".join(f"{float(w):+g} {e.name}" for w, e in entry.terms)
        return base | {"kind": "contrast", "means": entry.interpretation, "terms": terms}
    kind = "function" if entry.home else "not computed"
    return base | {"kind": kind, "needs": entry.needs, "home": entry.home}


def _ratio(entry: Estimand) -> dict[str, str]:
    below = " - ".join(("all", *sorted(entry.excluded)))
    above = " + ".join(sorted(entry.numerator)) or below
    among = _conditions(entry.among)
    return {
        "numerator": f"{above} with {among}" if among else above,
        "denominator": below,
        "where": _conditions(entry.where),
    }


def _conditions(conditions: Any) -> str:
    parts = []
    for c in conditions:
        levels = [", ".join(level) for level in sorted(c.levels)]
        sign = "not in" if c.negated else "in" if len(levels) > 1 else "="
        listed = "; ".join(levels[:6]) + ("; …" if len(levels) > 6 else "")
        name = c.factors[0] if len(c.factors) == 1 else f"({', '.join(c.factors)})"
        parts.append(f"{name} {sign} {listed}")
    return " and ".join(parts)
