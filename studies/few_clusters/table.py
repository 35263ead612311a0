"""Write the tables of the study: every cell with its MCSE as CSV, a summary as Markdown.

usage: python studies/few_clusters/table.py RESULT_FOLDER OUT_FOLDER
"""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import numpy as np

from simtrack.files import write_text
from simtrack.runs.store import read_result

FAMILIES = {
    "rate": "one rate: coverage",
    "paired": "paired difference: coverage",
    "paired_tests": "paired tests: size",
    "unpaired": "unpaired difference: coverage",
    "unpaired_tests": "unpaired tests: size",
}


def every_cell(folder: Path) -> str:
    result = read_result(folder / "result.nc")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("family", "method", "clusters", "rate", "icc", "slope_sd", "value", "mcse",
                     "refused"))  # fmt: skip
    for family in FAMILIES:
        name = f"{family}_{'rejected' if family.endswith('tests') else 'coverage'}"
        if name not in result:
            continue
        table = result[name]
        for place in np.ndindex(table.shape):
            at = {d: table[d].values[k] for d, k in zip(table.dims, place, strict=True)}
            numbers = [float(result[n].values[place]) for n in (name, f"{family}_mcse",
                                                                f"{family}_refused")]  # fmt: skip
            labels = [at[f"{family}_method"], at["clusters"], at["rate"], at["icc"],
                      at.get("slope_sd", "")]  # fmt: skip
            writer.writerow([family, *labels, *(f"{v:.4f}" for v in numbers)])
    return out.getvalue()


def summary(folder: Path) -> str:
    told = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    rows = told["table"]
    sizes = sorted({row["clusters"] for row in rows})
    lines = [
        f"# {told['study']['title']}",
        "",
        f"{told['study']['what']} Mean over the grid / worst population, by number of clusters;",
        "the Monte Carlo error of a cell is about .007 (slow methods .015): see `table.csv`.",
    ]
    for family, title in FAMILIES.items():
        mine = [row for row in rows if row["family"] == family]
        if not mine:
            continue
        lines += ["", f"## {title}", "", "| method | " + " | ".join(f"G = {g}" for g in sizes)
                  + " | refused |", "|---|" + "---|" * (len(sizes) + 1)]  # fmt: skip
        for method in dict.fromkeys(row["method"] for row in mine):
            cells = {row["clusters"]: row for row in mine if row["method"] == method}
            shown = [f"{cells[g]['mean']:.3f} / {cells[g]['worst']:.3f}" if g in cells else "–"
                     for g in sizes]  # fmt: skip
            refused = max(row["refused"] for row in cells.values())
            lines.append(f"| {method} | " + " | ".join(shown) + f" | {refused:.3f} |")
    return "\n".join(lines) + "\n"


def main(source: str, target: str) -> None:
    write_text(Path(target) / "table.csv", every_cell(Path(source)))
    write_text(Path(target) / "table.md", summary(Path(source)))


if __name__ == "__main__":
    main(*sys.argv[1:3])
