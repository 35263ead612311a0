"""Every choice that simtrack offers, as a `Literal`, and the one function that checks them."""

from __future__ import annotations

from typing import Any, Literal, get_args

from simtrack.errors import InputError

__all__ = [
    "Alternative",
    "Computation",
    "Detail",
    "ExecutorName",
    "Guarantee",
    "LogState",
    "Measurement",
    "MissingCluster",
    "MissingPolicy",
    "ProgressStyle",
    "Side",
    "Status",
    "Stopped",
    "WeightScheme",
    "choice",
]

Alternative = Literal["two-sided", "greater", "less"]
Computation = Literal[
    "closed-form", "enumeration", "convolution", "quadrature", "optimisation", "monte-carlo"
]
#: How much of a log is read: every sample, or the summaries that some formats keep.
Detail = Literal["samples", "summaries"]
#: Who computes the blocks of a long run, on this machine.
ExecutorName = Literal["serial", "threads", "processes"]
Guarantee = Literal["finite-sample", "asymptotic", "bayesian", "descriptive"]
#: How complete a log file is. A running one has no end yet; a stopped one ended in an error or was
#: cancelled; an incomplete one ended well but lacks planned trials.
LogState = Literal["complete", "incomplete", "running", "stopped", "truncated", "refused", "no log"]
#: The level of measurement of ratings, for Krippendorff's α.
Measurement = Literal["nominal", "ordinal", "interval"]
MissingCluster = Literal["refuse", "own"]
#: What a planned trial without a score counts as.
MissingPolicy = Literal["drop", "as-failure", "as-success", "bounds"]
#: How a long run says how far it is: a bar on a terminal and else lines, lines, or nothing.
ProgressStyle = Literal["auto", "plain", "quiet"]
#: Which ends an interval has. A one-sided bound spends all of 1 - level on its one end.
Side = Literal["two-sided", "lower", "upper"]
#: What became of one planned opportunity. Four kinds of "no score" are kept apart on purpose.
Status = Literal[
    "scored",
    "unscored",
    "errored",
    "limited",
    "infrastructure",
    "early-stopped",
    "invalidated",
    "missing",
]
#: Why a long run ended: all blocks are done, its rule had enough, or its time was over.
Stopped = Literal["finished", "enough", "max-seconds"]
#: How much agreement a near miss between ordered labels is worth.
WeightScheme = Literal["identity", "linear", "quadratic"]


def choice(name: str, value: Any, options: Any) -> Any:
    """Return `value` if it is one of the `Literal` `options`, else refuse and print them all.

    Examples
    --------
    >>> choice("alternative", "less", Alternative)
    'less'
    >>> choice("alternative", "lower", Alternative)
    Traceback (most recent call last):
    simtrack.errors.InputError: alternative must be one of two-sided, greater, less, got 'lower'.
    """
    allowed = get_args(options)
    if value not in allowed:
        raise InputError(name, "one of " + ", ".join(allowed), repr(value))
    return value
