"""Analyses in one line each: `analyses.sign_flip("adherence", "stage", "READY", "COMPLETED")`."""

from __future__ import annotations

from typing import Any

from simtrack.analysis.named import Analysis
from simtrack.errors import InputError
from simtrack.estimands import Contrast, Estimand, estimand

__all__ = [
    "binomial_exact",
    "bootstrap_percentile",
    "bounded_mean",
    "cluster_t_difference",
    "gee",
    "linear_mixed",
    "logistic_mixed",
    "mcnemar",
    "named",
    "newcombe_clustered",
    "paired_cluster_t",
    "permutation",
    "sign_flip",
    "sign_test",
    "wilson_guarded",
]

What = Estimand | Contrast | str


def named(
    name: str,
    what: What,
    factor: str | None = None,
    first: str | None = None,
    second: str | None = None,
    *,
    level: float = 0.95,
    **options: Any,
) -> Analysis:
    """Which analysis is meant by this method, estimand and pair of levels?

    Parameters
    ----------
    name : str
        A method, as in `Analysis`.
    what : Estimand, Contrast or str
        An entry of the catalogue of estimands by name, or one of one's own.
    factor, first, second : str, optional
        The contrast is `what` at the first level of the factor minus `what` at the second. Without
        them `what` is taken as it is: a rate, or a ready contrast such as "stage_gap".
    level : float
    **options
        Of the method.

    Examples
    --------
    >>> named("newcombe-clustered", "rate", "arm", "new", "old").what.name
    'rate: arm new - old'
    """
    found = estimand(what) if isinstance(what, str) else what
    if factor is None and first is None and second is None:
        return Analysis(name, found, level, tuple(options.items()))
    if factor is None or first is None or second is None:
        raise InputError("factor, first and second", "given together")
    if isinstance(found, Contrast):
        raise InputError("what", "an estimand where a factor is given", found.name)
    contrast = Contrast.difference(
        f"{found.name}: {factor} {first} - {second}",
        found.at(**{factor: first}),
        found.at(**{factor: second}),
    )
    return Analysis(name, contrast, level, tuple(options.items()))


def sign_flip(what: What, *levels: str, **more: Any) -> Analysis:
    """The exact sign-flip test of cluster contrasts; arguments as for `named`."""
    return named("sign-flip", what, *levels, **more)


def paired_cluster_t(what: What, *levels: str, **more: Any) -> Analysis:
    """Student's t on cluster contrasts; arguments as for `named`."""
    return named("paired-cluster-t", what, *levels, **more)


def sign_test(what: What, *levels: str, **more: Any) -> Analysis:
    """The exact sign test of cluster contrasts; arguments as for `named`."""
    return named("sign-test", what, *levels, **more)


def mcnemar(what: What, *levels: str, **more: Any) -> Analysis:
    """McNemar's exact test, one trial a cluster and arm; arguments as for `named`."""
    return named("mcnemar", what, *levels, **more)


def cluster_t_difference(what: What, *levels: str, **more: Any) -> Analysis:
    """Student's t on the difference of pooled rates; arguments as for `named`."""
    return named("cluster-t-difference", what, *levels, **more)


def newcombe_clustered(what: What, *levels: str, **more: Any) -> Analysis:
    """Newcombe's interval on effective trials; arguments as for `named`."""
    return named("newcombe-clustered", what, *levels, **more)


def permutation(what: What, *levels: str, **more: Any) -> Analysis:
    """The exact permutation test, arms sharing no cluster; arguments as for `named`."""
    return named("permutation", what, *levels, **more)


def bootstrap_percentile(what: What, *levels: str, **more: Any) -> Analysis:
    """The percentile cluster bootstrap, law computed exactly; arguments as for `named`."""
    return named("bootstrap-percentile", what, *levels, **more)


def linear_mixed(what: What, *levels: str, **more: Any) -> Analysis:
    """A linear model with a random intercept; arguments as for `named`."""
    return named("linear-mixed", what, *levels, **more)


def gee(what: What, *levels: str, **more: Any) -> Analysis:
    """Logistic estimating equations; arguments as for `named`."""
    return named("gee", what, *levels, **more)


def logistic_mixed(what: What, *levels: str, **more: Any) -> Analysis:
    """A logistic model with a random intercept; arguments as for `named`."""
    return named("logistic-mixed", what, *levels, **more)


def bounded_mean(what: What, **more: Any) -> Analysis:
    """The default interval for one rate; arguments as for `named`."""
    return named("bounded-mean", what, **more)


def wilson_guarded(what: What, **more: Any) -> Analysis:
    """Wilson's interval on the effective number of trials; arguments as for `named`."""
    return named("wilson-guarded", what, **more)


def binomial_exact(what: What, *, null: float, **more: Any) -> Analysis:
    """The exact binomial test of one pooled rate against `null`."""
    return named("binomial-exact", what, null=null, **more)
