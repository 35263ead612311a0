"""Every statistical method that simtrack offers, as data: by name, with when to use it."""

from __future__ import annotations

from simtrack.analysis.method import Method, Topic
from simtrack.analysis.methods_rates import RATE_METHODS, TWO_RATE_METHODS
from simtrack.errors import InputError

__all__ = ["METHODS", "Method", "Topic", "find_method", "register"]

#: Every method by name, in the order of the catalogue.
METHODS: dict[str, Method] = {}


def register(*methods: Method) -> None:
    """Add methods to the catalogue; a name stands for one method only."""
    for method in methods:
        if method.name in METHODS and METHODS[method.name] != method:
            raise InputError("method", "named otherwise: there is one of that name", method.name)
        METHODS[method.name] = method


def find_method(name: str, *topics: Topic) -> Method:
    """Look a method up by name, among some topics, or refuse and list what there is.

    Examples
    --------
    >>> find_method("wilson-clustered", "rate").guarantee
    'asymptotic'
    """
    offered = [m.name for m in METHODS.values() if not topics or m.topic in topics]
    if name not in offered:
        raise InputError("method", f"one of {', '.join(offered)}", repr(name))
    return METHODS[name]


_IN = "simtrack.inference"
register(
    Method(
        "wilson-clustered", "rate", f"{_IN}.wilson:wilson_clustered",
        "Binary or [0, 1] scores in clusters of any size; few clusters; rates near 0 or 1.",
        "One cluster; with no spread between clusters it rests on an assumed ICC.",
        "closed-form", "asymptotic",
        "Wilson 1927 on the effective sample size, with t(G-1) (Korn & Graubard 1998)",
    ),
    Method(
        "cluster-t", "rate", f"{_IN}.cluster_t:cluster_t",
        "Scores of any range in clusters; many clusters, rates away from 0 and 1.",
        "Few clusters with rates near 0 or 1: it covers too little.",
        "closed-form", "asymptotic", "Liang & Zeger 1986, linearised ratio with G/(G-1) and t(G-1)",
    ),
    Method(
        "paired-cluster-t", "difference", f"{_IN}.paired:paired_difference",
        "Two arms that share their clusters; effects that vary by cluster.",
        "Clusters that have one arm only (they are left out); very skewed differences.",
        "closed-form", "asymptotic", "Student 1908 on cluster differences",
    ),
    Method(
        "sign-flip", "test", f"{_IN}.signflip:sign_flip",
        "Paired cluster differences that are symmetric about 0 under the null, as by randomising.",
        "Too few clusters to reach alpha (refused); contrasts nobody randomised (warned of).",
        "convolution", "finite-sample", "Fisher 1935, section 21; Pagano & Tritchler 1983",
    ),
)  # fmt: skip
register(*RATE_METHODS, *TWO_RATE_METHODS)
