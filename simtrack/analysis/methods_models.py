"""The catalogue's entries for models on clustered scores."""

from __future__ import annotations

from simtrack.analysis.method import Method

__all__ = ["MODEL_METHODS"]

_IN = "simtrack.inference"
_INTERCEPT = "Effects that vary by cluster: intervals are too short (use the slope)."

MODEL_METHODS: tuple[Method, ...] = (
    Method(
        "linear-mixed", "model", f"{_IN}.models.linear_mixed:linear_mixed",
        "Differences of rates or mean scores, one random intercept a cluster; REML or ML.",
        _INTERCEPT, "optimisation", "asymptotic", "Laird & Ware 1982; Bates et al. 2015",
    ),
    Method(
        "linear-mixed-slope", "model", f"{_IN}.models.linear_mixed:linear_mixed",
        "As linear-mixed, where the effect of a contrast differs by cluster too (slope=).",
        "Few clusters: the variances are ill known; a singular fit is said.",
        "optimisation", "asymptotic", "Laird & Ware 1982; Barr et al. 2013",
    ),
    Method(
        "gee-exchangeable", "model", f"{_IN}.models.gee:gee",
        "Odds averaged over clusters, whatever the correlation within them; ten clusters or more.",
        "Rates near 0 or 1 in few clusters: it rejects too often; one cluster that decides (said).",
        "optimisation", "asymptotic", "Liang & Zeger 1986",
    ),
    Method(
        "gee-independence", "model", f"{_IN}.models.gee:gee",
        "As gee-exchangeable, with trials weighted alike (correlation='independence').",
        "Very unequal clusters with strong correlation: it is less precise.",
        "optimisation", "asymptotic", "Liang & Zeger 1986",
    ),
    Method(
        "gee-mancl-derouen", "model", f"{_IN}.models.gee:gee",
        "A larger correction for few clusters, with t(G-1): the safer side, of unequal ones too.",
        "Clusters of one size: it covers a little more than it says; one that has most trials.",
        "optimisation", "asymptotic", "Mancl & DeRouen 2001",
    ),
    Method(
        "gee-kauermann-carroll", "model", f"{_IN}.models.gee:gee",
        "For few clusters, with t(G-1): the default of gee, nominal at 12 clusters of one size.",
        "Rates near 0 or 1; very unequal clusters: it covers too little; mancl-derouen is safer.",
        "optimisation", "asymptotic", "Kauermann & Carroll 2001",
    ),
    Method(
        "gee-fay-graubard", "model", f"{_IN}.models.gee:gee",
        "As gee-kauermann-carroll, with the correction bounded cluster by cluster.",
        "Very unequal clusters: it covers too little.",
        "optimisation", "asymptotic", "Fay & Graubard 2001",
    ),
    Method(
        "logistic-mixed", "model", f"{_IN}.models.logistic_mixed:logistic_mixed",
        "Odds within a cluster by adaptive Gauss-Hermite; averaged ones beside them.",
        _INTERCEPT, "quadrature", "asymptotic", "Pinheiro & Bates 1995",
    ),
    Method(
        "logistic-mixed-slope", "model", f"{_IN}.models.logistic_mixed:logistic_mixed",
        "As logistic-mixed, where the effect of a contrast differs by cluster too (slope=).",
        "Few clusters or rates near 0 or 1: the variances run to 0 or away (said).",
        "quadrature", "asymptotic", "Pinheiro & Bates 1995",
    ),
    Method(
        "logistic-mixed-crossed", "model", f"{_IN}.models.logistic_mixed:logistic_mixed",
        "Clusters crossed with another factor of random effects: model by scenario.",
        "Few trials a cell: Laplace's approximation shrinks the variances.",
        "optimisation", "asymptotic", "Breslow & Clayton 1993",
    ),
    Method(
        "firth", "model", f"{_IN}.models.firth:firth",
        "Separated patterns, where odds ratios have no finite estimate without a penalty.",
        "Clusters: it takes trials as independent; `clustered` has a clustered error beside.",
        "optimisation", "asymptotic", "Firth 1993; Heinze & Schemper 2002",
    ),
    Method(
        "two-way", "model", f"{_IN}.models.two_way:two_way",
        "Errors for crossed designs, clustered by scenario and by model at once.",
        "Few levels in either direction: the variance can come out negative (said).",
        "closed-form", "asymptotic", "Cameron, Gelbach & Miller 2011",
    ),
    Method(
        "leave-one-out", "model", f"{_IN}.models.leave_one_out:leave_one_out",
        "Does one cluster carry the result? Refits of any model without each of them.",
        "It is no interval: a range of refits has no level.",
        "optimisation", "descriptive", "Cook & Weisberg 1982; StageIF appendix",
    ),
    Method(
        "separation", "model", f"{_IN}.models.separation:separation",
        "Which coefficients are infinite, before any logistic model is fitted.",
        "It says nothing of near separation, which a model's standard errors show.",
        "enumeration", "finite-sample", "Albert & Anderson 1984",
    ),
)  # fmt: skip
