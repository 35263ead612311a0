"""Every choice that simtrack offers, as a `Literal`, and the one function that checks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar, cast, get_args

from simtrack.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import TypeForm

__all__ = [
    "Alternative",
    "Asked",
    "BothRules",
    "BoundaryKind",
    "Computation",
    "Correlation",
    "Detail",
    "Encoding",
    "ExecutorName",
    "GateName",
    "GeeCovariance",
    "Guarantee",
    "Kept",
    "LogState",
    "Measurement",
    "MissingCluster",
    "MissingPolicy",
    "MixedCriterion",
    "ModelName",
    "ModelStatus",
    "ObligationKind",
    "ObligationView",
    "Placement",
    "ProgressStyle",
    "Side",
    "Status",
    "Stopped",
    "Turns",
    "Uniqueness",
    "View",
    "WeightScheme",
    "choice",
]

Value = TypeVar("Value")
Alternative = Literal["two-sided", "greater", "less"]
#: After which answers recall was asked: all, or those that failed.
Asked = Literal["all", "failures"]
#: What an answer counts as that both the old rule and the new one allow.
BothRules = Literal["UPDATED_CLEAN", "STALE", "OTHER"]
#: The shape of a boundary for planned looks, or how its alpha is spent.
BoundaryKind = Literal[
    "pocock", "obrien-fleming", "spending-pocock", "spending-obrien-fleming", "spending-power"
]
Computation = Literal[
    "closed-form", "enumeration", "convolution", "quadrature", "optimisation", "monte-carlo"
]
#: How much of a log is read: every sample, or the summaries that some formats keep.
Detail = Literal["samples", "summaries"]
#: How a report is written into a reply.
Encoding = Literal["xml", "json"]
#: Who computes the blocks of a long run, on this machine.
ExecutorName = Literal["serial", "threads", "processes"]
#: Conjectured: it held for every law that was tried or enumerated, and nobody has proved it.
Guarantee = Literal["finite-sample", "conjectured", "asymptotic", "bayesian", "descriptive"]
#: What it means that a rule was kept: the constraint alone, or task and constraint.
Kept = Literal["constraint", "joint"]
#: How complete a log file is. A running one has no end yet; a stopped one ended in an error or was
#: cancelled; an incomplete one ended well but lacks planned trials.
LogState = Literal["complete", "incomplete", "running", "stopped", "truncated", "refused", "no log"]
#: The level of measurement of ratings, for Krippendorff's α.
Measurement = Literal["nominal", "ordinal", "interval"]
MissingCluster = Literal["refuse", "own"]
#: What a planned trial without a score counts as.
MissingPolicy = Literal["drop", "as-failure", "as-success", "bounds"]
#: Where in its line a report stands: at its end, or alone on it.
Placement = Literal["end", "line"]
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
#: Which replies of a log are read: the last of each trial, or every message of it.
Turns = Literal["last", "all"]
#: How much agreement a near miss between ordered labels is worth.
WeightScheme = Literal["identity", "linear", "quadratic"]

#: Which markers of a reply there may be one of: those in the place of a report, or all.
Uniqueness = Literal["anchored", "anywhere"]
#: Who ends a session: a marker of the model, a turn of it without a tool call, or the runtime.
GateName = Literal["marker", "no-tool-call", "runtime"]
#: What a reply has to carry: a text at the end of a task, a sentence, or a stage marker.
ObligationKind = Literal["sigil", "sentence", "tag"]
#: How an obligation is read: in its exact form and place, or wherever the right text stands.
ObligationView = Literal["exact", "lenient"]
#: How a reply is read: as it is, or without the envelope that it was put in.
View = Literal["strict", "stripped"]

#: What is maximised over the variances of a linear mixed model.
MixedCriterion = Literal["REML", "ML"]
#: The working correlation of trials of one cluster in estimating equations.
Correlation = Literal["exchangeable", "independence"]
#: How the covariance of estimating equations is estimated: from the working model, from the scores
#: of the clusters (sandwich), or from those made larger for few clusters.
GeeCovariance = Literal["model", "sandwich", "mancl-derouen", "kauermann-carroll", "fay-graubard"]
#: Which model on clustered scores: estimating equations, mixed models, a penalised fit, or a plain
#: logistic regression with errors clustered both ways.
ModelName = Literal["gee", "lmm", "glmm", "firth", "two-way"]
#: How a fit ended. "singular": a variance is 0; "separated": a coefficient is infinite;
#: "not-estimable": the data do not say; "implausible": the optimiser is content, the answer absurd.
ModelStatus = Literal[
    "converged", "singular", "separated", "not-converged", "not-estimable", "implausible"
]


def choice(name: str, value: object, options: TypeForm[Value]) -> Value:
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
    return cast("Value", value)
