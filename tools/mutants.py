"""Put named faults into copies of the package and show that the tests notice each of them.

usage: python tools/mutants.py [--list] [NAME...]

Ends with 3 where a fault survives, where its text is not found exactly once, or where its tests
fail (or cannot run) by themselves.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
#: What stands beside the sources and no test needs.
_LEFT_OUT = (".*", "__pycache__", "results", "build", "dist", "paper", "benchmarks", "*.egg-info")
_IN = "simtrack/inference"
_AT = "tests/inference"


class Mutant(NamedTuple):
    """A fault: in which file which text becomes which, who should notice, and why it is wrong."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    fault: str


class Outcome(NamedTuple):
    """What became of a mutant: `verdict` is "killed", "survived" or "not run"."""

    verdict: str
    detail: str
    seconds: float


MUTANTS = (
    Mutant(
        "wrong tail",
        f"{_IN}/exact/signflip.py",
        'observed if alternative == "greater" else -observed, route)',
        'observed if alternative == "less" else -observed, route)',
        (f"{_AT}/test_signflip.py",),
        "a one-sided test that rejects for differences in the other direction",
    ),
    Mutant(
        "at least for more than",
        f"{_IN}/exact/sign_test.py",
        "up = sum(1 for v in values if v > slack)",
        "up = sum(1 for v in values if v >= slack)",
        (f"{_AT}/test_sign_test.py",),
        ">= for >: clusters without a difference are counted as improved",
    ),
    Mutant(
        "swapped denominators",
        f"{_IN}/differences/paired.py",
        "    rates = top / bottom\n",
        "    rates = top / bottom[:, ::-1]\n",
        (f"{_AT}/test_paired.py",),
        "each arm's passes are divided by the other arm's trials",
    ),
    Mutant(
        "ddof",
        f"{_IN}/rates/clustered.py",
        "_ratio(groups * between, (groups - 1.0) * n * n, groups > 1)",
        "_ratio(groups * between, groups * n * n, groups > 1)",
        (f"{_AT}/test_clustered.py",),
        "the variance between clusters without G/(G-1): too small with few clusters",
    ),
    Mutant(
        "row-order pairing",
        "simtrack/records/reduction.py",
        "group = found.index[side.codes[labelled] == column]",
        "group = np.arange(mine.size)",
        ("tests/records/test_records.py",),
        "trials are paired by their place in the file instead of by their unit",
    ),
    Mutant(
        "dropped ties",
        f"{_IN}/exact/signflip_law.py",
        "slack = 0 if is_whole else TIE_TOLERANCE * math.fsum(sizes) / 2.0",
        "slack = 0",
        (f"{_AT}/test_signflip.py",),
        "sign patterns whose sums are equal but for rounding are lost, so p is too small",
    ),
    Mutant(
        "+1 added to an exact p",
        f"{_IN}/exact/signflip.py",
        "Fraction(_extreme(sizes, alternative, route), 2 ** len(live))",
        "Fraction(_extreme(sizes, alternative, route) + 1, 2 ** len(live) + 1)",
        (f"{_AT}/test_signflip.py",),
        "Monte Carlo's (b + 1) / (m + 1), where every pattern was counted",
    ),
    Mutant(
        "absolute for relative tolerance",
        f"{_IN}/exact/signflip_law.py",
        "slack = 0 if is_whole else TIE_TOLERANCE * math.fsum(sizes) / 2.0",
        "slack = 0 if is_whole else 1e-9",
        (f"{_AT}/test_signflip.py",),
        "differences that are small themselves all tie",
    ),
    Mutant(
        "clusters de-duplicated",
        f"{_IN}/resampling/law.py",
        "np.concatenate([b.sums + j * row[:, None] for j, b in parts], axis=1)",
        "np.concatenate([b.sums + min(j, 1) * row[:, None] for j, b in parts], axis=1)",
        (f"{_AT}/test_bootstrap_law.py", f"{_AT}/test_bootstrap_intervals.py"),
        "a cluster that is drawn several times counts once (SQL's IN, a merge)",
    ),
    Mutant(
        "NaN cluster kept",
        "simtrack/records/reduction.py",
        "codes[without] = len(factor.levels) + np.arange(without.size, dtype=np.int32)",
        "codes[without] = len(factor.levels)",
        ("tests/records/test_records.py", "tests/analysis/test_estimate.py"),
        "rows without a cluster label become one giant cluster called NaN",
    ),
    Mutant(
        "quantile off by one",
        f"{_IN}/resampling/law.py",
        'places = np.searchsorted(cumulated, probabilities * cumulated[-1], side="left")',
        'places = 1 + np.searchsorted(cumulated, probabilities * cumulated[-1], side="left")',
        (f"{_AT}/test_bootstrap_law.py", f"{_AT}/test_bootstrap_intervals.py"),
        "the value above the quantile",
    ),
    Mutant(
        "FFT without mask",
        f"{_IN}/resampling/convolution.py",
        "can = np.flatnonzero(reachable(line.places, line.size))",
        "can = np.arange(line.size)",
        (f"{_AT}/test_bootstrap_law.py",),
        "noise of the transform stands as mass where no resample can come",
    ),
    # Beyond the twelve: near relatives of them, in other rooms.
    Mutant(
        "more than for at least",
        f"{_IN}/exact/permutation_law.py",
        "return sum(w for total, w in law.items() if total >= observed)",
        "return sum(w for total, w in law.items() if total > observed)",
        (f"{_AT}/test_permutation.py",),
        "> for >=: the assignment that was observed does not count itself",
    ),
    Mutant(
        "FFT without mask, in the plane",
        f"{_IN}/resampling/convolution.py",
        "found = np.flatnonzero(reachable(tuple(flat), rows * columns))",
        "found = np.arange(rows * columns)",
        (f"{_AT}/test_bootstrap_law.py",),
        "as on the line, for a ratio of two sums",
    ),
    Mutant(
        "no +1 by Monte Carlo",
        f"{_IN}/exact/signflip.py",
        "(int(np.count_nonzero(sums >= observed - slack)) + 1) / (draws + 1)",
        "int(np.count_nonzero(sums >= observed - slack)) / draws",
        (f"{_AT}/test_signflip.py",),
        "a random p-value of 0",
    ),
    Mutant(
        "missing p-values in the family",
        f"{_IN}/exact/multiplicity.py",
        "    there = int((~np.isnan(p)).sum())\n    if declared is None:",
        "    there = p.size\n    if declared is None:",
        (f"{_AT}/test_multiplicity.py",),
        "a hypothesis that was never tested raises every other p-value, undeclared",
    ),
    Mutant(
        "fastmath",
        "simtrack/_jit.py",
        '"fastmath": False',
        '"fastmath": True',
        ("tests/references/test_hand_cases.py",),
        "a compiled isnan is False for ever, so missing scores are data",
    ),
    Mutant(
        "mean for effective cluster size",
        f"{_IN}/rates/clustered.py",
        "return np.asarray(1.0 + icc * (mean_size - 1.0))",
        "return np.asarray(1.0 + icc * (total / (denominator > 0).sum(axis=0) - 1.0))",
        (f"{_AT}/test_clustered.py",),
        "the design effect from the mean cluster size, where sizes differ",
    ),
    Mutant(
        "restricted likelihood without its trace",
        f"{_IN}/models/linear_mixed_fits.py",
        'score = score - np.einsum("bij,bji->b", inverse(at.lower), a1)',
        'score = score - 0.0 * np.einsum("bij,bji->b", inverse(at.lower), a1)',
        (f"{_AT}/test_linear_mixed.py",),
        "REML's variance ratio from the score of ML",
    ),
    Mutant(
        "a singular fit called converged",
        f"{_IN}/models/linear_mixed.py",
        '"singular" if singular else "converged", self.table.size',
        '"converged", self.table.size',
        (f"{_AT}/test_linear_mixed.py",),
        "a variance of 0 passed off as an ordinary fit (H33)",
    ),
    Mutant(
        "exchangeable with one trial too many",
        f"{_IN}/models/gee_equations.py",
        "c = alpha / (1.0 + (table.n.sum(axis=1) - 1.0) * alpha)",
        "c = alpha / (1.0 + table.n.sum(axis=1) * alpha)",
        (f"{_AT}/test_gee.py",),
        "the inverse of the working correlation is that of a larger cluster",
    ),
    Mutant(
        "leverage that shrinks",
        f"{_IN}/models/gee_equations.py",
        "cholesky(whole - solved.information)",
        "cholesky(whole + solved.information)",
        (f"{_AT}/test_gee.py",),
        "a correction for few clusters that makes errors smaller",
    ),
    Mutant(
        "degrees of freedom of independent residuals",
        f"{_IN}/models/degrees.py",
        "mean = (plain - shared).sum(axis=0)",
        "mean = plain.sum(axis=0)",
        (f"{_AT}/test_degrees.py",),
        "coefficients that were estimated do not count against the clusters",
    ),
    Mutant(
        "columns between clusters cost nothing",
        f"{_IN}/models/degrees.py",
        "left = live - between.sum(axis=-1)[..., None]",
        "left = live - 1",
        (f"{_AT}/test_degrees.py",),
        "two arms of three clusters tested with t(5)",
    ),
    Mutant(
        "separation fitted all the same",
        f"{_IN}/models/gee.py",
        "if apart.found:",
        "if apart.kind == 'complete':",
        (f"{_AT}/test_gee.py",),
        "quasi-complete separation reported as an estimate (H34)",
    ),
    Mutant(
        "Laplace without its determinant",
        f"{_IN}/models/logistic_mixed_likelihood.py",
        "total - 0.5 * log_det(curve)",
        "total - 0.0 * log_det(curve)",
        (f"{_AT}/test_logistic_mixed.py",),
        "an integral taken for its largest value",
    ),
    Mutant(
        "cells counted twice",
        f"{_IN}/models/two_way.py",
        "return two - cells, ()",
        "return two, ()",
        (f"{_AT}/test_two_way.py",),
        "what both kinds of cluster share is added twice",
    ),
    Mutant(
        "a penalty to one side",
        f"{_IN}/models/firth.py",
        "leverage * (0.5 - mu)",
        "leverage * (1.0 - mu)",
        (f"{_AT}/test_separation.py",),
        "half a success added and no half failure",
    ),
    Mutant(
        "marginal as conditional",
        f"{_IN}/models/logistic_mixed_marginal.py",
        "return logistic_normal_mean(eta, _root(variances(point)))",
        "return logistic_normal_mean(eta, 0.0 * _root(variances(point)))",
        (f"{_AT}/test_logistic_mixed.py",),
        "population-averaged effects that are conditional ones",
    ),
    Mutant(
        "a sequence of fixed intervals",
        f"{_IN}/sequential/confidence_sequence.py",
        "    target = -math.log(alpha)\n    mean = s / np.maximum(n, 1.0)\n",
        "    target = -0.5 * math.log(alpha)\n    mean = s / np.maximum(n, 1.0)\n",
        (f"{_AT}/test_anytime.py",),
        "capital that must only reach the root of 1/alpha: looking often breaks the promise",
    ),
    Mutant(
        "both sides for the price of one",
        f"{_IN}/sequential/betting.py",
        "below = _lower_ends(y, at, mean, alpha / 2.0)",
        "below = _lower_ends(y, at, mean, min(20.0 * alpha, 0.9))",
        (f"{_AT}/test_anytime.py",),
        "a bound that spends many times the alpha it promises",
    ),
    Mutant(
        "no cluster beside those seen",
        f"{_IN}/rates/bounded_mean.py",
        "return _exponential_tail(np.concatenate([-once, pull], axis=1), times) - alpha",
        "return _exponential_tail(np.concatenate([-0.01 * once, pull], axis=1), times) - alpha",
        (f"{_AT}/test_bounded_mean.py",),
        "a bootstrap of the clusters seen in place of a bound for all",
    ),
    Mutant(
        "whole sums for whole scores",
        f"{_IN}/rates/pass_k.py",
        "graded = (square != top) | (top != np.rint(top))",
        "graded = (top != np.rint(top))",
        (f"{_AT}/test_pass_k.py",),
        "pass@k of scores of one half",
    ),
    Mutant(
        "the better of two tests",
        f"{_IN}/differences/margin.py",
        "worst = max(tails, key=lambda tail: tail.pvalue, default=None)",
        "worst = min(tails, key=lambda tail: tail.pvalue, default=None)",
        (f"{_AT}/test_margin.py",),
        "equivalence that one of the two one-sided tests shows alone",
    ),
    Mutant(
        "power of those that answer",
        "simtrack/planning/result.py",
        "        power=found.met / found.n,\n",
        "        power=found.met / max(found.ok, 1),\n",
        ("tests/planning/test_power.py",),
        "a power that leaves out the studies without an answer",
    ),
    Mutant(
        "assurance of either direction",
        "simtrack/planning/assured.py",
        'above if side == "greater" or (differs and side is None)',
        'met if side == "greater" or (differs and side is None)',
        ("tests/planning/test_assured.py",),
        "an assurance that counts a difference shown in the wrong direction as success",
    ),
    Mutant(
        "interim counted twice",
        "simtrack/planning/exact.py",
        "    for bit in bin(question.design.clusters - done)[2:]:",
        "    for bit in bin(question.design.clusters)[2:]:",
        ("tests/planning/test_assured.py",),
        "a conditional power in which the observed clusters are drawn as well",
    ),
)


def main(arguments: list[str]) -> int:
    """Run the mutants that are named, or all, and print what became of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants to run (default: all)")
    parser.add_argument("--list", action="store_true", help="list the mutants and why they are")
    given = parser.parse_args(arguments)
    known = {m.name: m for m in MUTANTS}
    unknown = [name for name in given.names if name not in known]
    if unknown:
        parser.error(f"NAME must be one of {', '.join(known)}, got {unknown[0]!r}")
    chosen = [known[name] for name in given.names] or list(MUTANTS)
    if given.list:
        for mutant in chosen:
            print(f"{mutant.name}  ({mutant.file})\n    {mutant.fault}")
        return 0
    return _report(chosen)


def occurrences(mutant: Mutant, root: Path = ROOT) -> int:
    """Count how often the text of a mutant stands in its file."""
    return (root / mutant.file).read_text(encoding="utf-8").count(mutant.old)


def run(mutant: Mutant, root: Path = ROOT) -> Outcome:
    """Apply one mutant to a copy of the tree and run its tests there."""
    found = occurrences(mutant, root)
    if found != 1:
        return Outcome("not run", f"its text stands {found} times in {mutant.file}", 0.0)
    with tempfile.TemporaryDirectory() as folder:
        tree = _copy(root, folder)
        target = tree / mutant.file
        text = target.read_text(encoding="utf-8")
        target.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        return _tested(tree, mutant.tests)


def _report(chosen: list[Mutant]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        tests = tuple(sorted({test for mutant in chosen for test in mutant.tests}))
        clean = _tested(_copy(ROOT, folder), tests)
    if clean.verdict != "survived":
        print(f"the tests fail without any mutant: {clean.detail}")
        return 3
    width = max(len(m.name) for m in chosen)
    print(f"{'(no mutant)':<{width}}  {'tests pass':<10}  {clean.seconds:6.1f} s", flush=True)
    bad = 0
    for mutant in chosen:
        verdict, detail, seconds = run(mutant)
        bad += verdict != "killed"
        print(f"{mutant.name:<{width}}  {verdict:<10}  {seconds:6.1f} s  {detail}", flush=True)
    print(f"{len(chosen) - bad} of {len(chosen)} mutants are killed")
    return 3 if bad else 0


def _copy(root: Path, folder: str) -> Path:
    tree = Path(folder) / "tree"
    shutil.copytree(root, tree, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    return tree


def _tested(tree: Path, tests: tuple[str, ...]) -> Outcome:
    """Run tests on the copy, never on an installed package, and say which one failed first."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    start = time.monotonic()
    done = subprocess.run(
        command, cwd=tree, env=environment, check=False, capture_output=True, text=True
    )
    seconds = time.monotonic() - start
    if done.returncode == 0:
        return Outcome("survived", ", ".join(tests), seconds)
    failed = re.search(r"^FAILED (\S+)", done.stdout, flags=re.M)
    if done.returncode == 1 and failed:
        return Outcome("killed", failed.group(1), seconds)
    last = (done.stdout + done.stderr).strip().splitlines()
    return Outcome("not run", last[-1] if last else f"pytest ended with {done.returncode}", seconds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
