"""The catalogue of statistical methods: which module each stands in, and how it is found by name.

A row stands beside its method; this page says where, so that a command that needs one method
imports no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Final

from simtrack.errors import InputError
from simtrack.method import Method

__all__ = ["METHODS", "WHERE", "find_method", "method_for", "methods_for", "register"]

#: Name and module of every method, in the order of the catalogue.
_PAGE: Final = """
bounded-mean                        inference.rates.bounded_mean
wilson-guarded                      inference.rates.wilson
wilson-clustered                    inference.rates.wilson
cluster-t                           inference.rates.cluster_t
paired-cluster-t                    inference.differences.methods
sign-flip                           inference.differences.flips
korn-graubard                       inference.rates.cluster_t
logit-t                             inference.rates.cluster_t
cluster-t-rate                      inference.rates.cluster_t
wilson                              inference.rates.pooled
clopper-pearson                     inference.rates.pooled
jeffreys                            inference.rates.pooled
mid-p                               inference.rates.pooled
rule-of-three                       inference.rates.pooled
zero-bound                          inference.rates.pooled
binomial-exact                      inference.rates.pooled
rule-of-three-clustered             inference.rates.zeros
zero-bound-clustered                inference.rates.zeros
cluster-t-difference                inference.differences.methods
newcombe-clustered                  inference.differences.newcombe
miettinen-nurminen-clustered        inference.differences.score_interval
newcombe                            inference.differences.newcombe
miettinen-nurminen                  inference.differences.score_interval
newcombe-pairs                      inference.differences.newcombe
tango                               inference.differences.paired_rates
cluster-t-ratio                     inference.differences.log_ratio
miettinen-nurminen-ratio-clustered  inference.differences.score_interval
miettinen-nurminen-ratio            inference.differences.score_interval
katz                                inference.differences.log_ratio
bootstrap-percentile                inference.resampling.methods
bootstrap-basic                     inference.resampling.methods
bootstrap-bca                       inference.resampling.methods
bootstrap-studentized               inference.resampling.methods
bootstrap-difference                inference.resampling.methods
bootstrap-contrast                  inference.resampling.methods
sensitivity                         analysis.sensitivity
share-with-failures                 inference.rates.missingness
percent-agreement                   inference.agreement.methods
cohen-kappa                         inference.agreement.methods
fleiss-kappa                        inference.agreement.methods
gwet-ac                             inference.agreement.methods
krippendorff-alpha                  inference.agreement.methods
kendall-tau                         inference.agreement.methods
auroc                               inference.agreement.methods
cohen-d                             inference.differences.methods
cohen-d-paired                      inference.differences.methods
cohen-h                             inference.differences.methods
pass-at-k                           inference.rates.pass_k
pass-hat-k                          inference.rates.pass_k
sign-flip-stratified                inference.differences.flips
sign-flip-contrast                  inference.differences.flips
sign-flip-interval                  inference.differences.flips
sign-test                           inference.exact.methods
sign-test-interval                  inference.exact.methods
permutation                         inference.exact.methods
permutation-interval                inference.exact.methods
mcnemar                             inference.differences.paired_rates
mcnemar-midp                        inference.differences.paired_rates
mcnemar-stratified                  inference.exact.methods
bonferroni                          inference.exact.multiplicity
holm                                inference.exact.multiplicity
hochberg                            inference.exact.multiplicity
benjamini-hochberg                  inference.exact.multiplicity
benjamini-yekutieli                 inference.exact.multiplicity
max-t                               inference.exact.maxt
repeated-looks                      inference.sequential.methods
linear-mixed                        inference.models.methods
linear-mixed-slope                  inference.models.methods
gee                                 inference.models.methods
gee-exchangeable                    inference.models.methods
gee-independence                    inference.models.methods
gee-mancl-derouen                   inference.models.methods
gee-kauermann-carroll               inference.models.methods
gee-fay-graubard                    inference.models.methods
logistic-mixed                      inference.models.methods
logistic-mixed-slope                inference.models.methods
logistic-mixed-crossed              inference.models.methods
firth                               inference.models.methods
two-way                             inference.models.methods
leave-one-out                       inference.models.methods
separation                          inference.models.methods
beta-binomial                       inference.bayes.methods
beta-difference                     inference.bayes.methods
bayes-factor-rate                   inference.bayes.methods
bayes-factor-difference             inference.bayes.methods
bayes-factor-sensitivity            inference.bayes.methods
hierarchical-beta                   inference.bayes.methods
hierarchical-logit                  inference.bayes.methods
hierarchical-slope                  inference.bayes.methods
confidence-sequence                 inference.sequential.methods
confidence-sequence-tuned           inference.sequential.methods
e-process                           inference.sequential.methods
betting-sequence                    inference.sequential.methods
normal-mixture-bound                inference.sequential.methods
beta-binomial-bound                 inference.sequential.methods
stitched-bound                      inference.sequential.methods
group-sequential                    inference.sequential.methods
contrast-t                          inference.contrasts
"""
WHERE: Final[dict[str, str]] = dict(line.split() for line in _PAGE.strip().splitlines())
_registered: dict[str, Method] = {}


class _Methods(Mapping[str, Method]):
    """Every method by name; its module is imported when it is asked for."""

    def __getitem__(self, name: str) -> Method:
        if name in _registered:
            return _registered[name]
        rows = import_module(f"simtrack.{WHERE[name]}").METHODS
        _registered.update((row.name, row) for row in rows)
        return _registered[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*WHERE, *_registered)))

    def __len__(self) -> int:
        return len(set(WHERE) | set(_registered))


#: Every method by name, in the order of the catalogue.
METHODS: Final[Mapping[str, Method]] = _Methods()


def register(*methods: Method) -> None:
    """Add methods to the catalogue; a name stands for one method only."""
    for method in methods:
        if method.name in METHODS and METHODS[method.name] != method:
            raise InputError("method", "named otherwise: there is one of that name", method.name)
        _registered[method.name] = method


def methods_for(command: str) -> tuple[str, ...]:
    """Name the methods that a command asks for, such as "score --method", tests first."""
    rows = [m for m in METHODS.values() if m.command == command]
    return tuple(m.name for m in sorted(rows, key=lambda m: m.topic != "test"))


def method_for(command: str, name: str) -> Method:
    """Look up a method that a command asks for by name, or refuse and list those it does.

    Examples
    --------
    >>> method_for("score --method", "wilson-clustered").guarantee
    'asymptotic'
    """
    if name in METHODS and METHODS[name].command == command:
        return METHODS[name]
    offered = methods_for(command)
    got = repr(name)
    near = get_close_matches(str(name), offered, 1)
    cure = f"Did you mean {near[0]}?" if near else ""
    if name in METHODS:
        asked = METHODS[name].command
        cure = f"It is asked for by simtrack {asked}." if asked else ""
        got = f"{name!r} (topic {METHODS[name].topic})"
    raise InputError("method", f"one of {', '.join(offered)}", got, cure=cure)


def find_method(name: str) -> Method:
    """Look a method up by name, or refuse and name the nearest.

    Examples
    --------
    >>> find_method("sign-flip").pairing
    'clusters'
    """
    if name not in METHODS:
        near = get_close_matches(str(name), list(METHODS), 1)
        cure = f"Did you mean {near[0]}?" if near else ""
        raise InputError("method", f"one of {', '.join(METHODS)}", repr(name), cure=cure)
    return METHODS[name]
