"""The catalogue's entries for posteriors and Bayes factors, all by quadrature or in closed form."""

from __future__ import annotations

from simtrack.analysis.method import Method

__all__ = ["BAYES_METHODS"]

_IN = "simtrack.inference"

BAYES_METHODS: tuple[Method, ...] = (
    Method(
        "beta-posterior", "bayes", f"{_IN}.bayes.beta_binomial:beta_posterior",
        "One rate of independent trials, with a Beta prior that is stated.",
        "Repeated trials of one task: the interval is too narrow (use a hierarchical one).",
        "closed-form", "bayesian", "Gelman et al. 2013, section 2.4",
    ),
    Method(
        "beta-difference", "bayes", f"{_IN}.bayes.beta_binomial:beta_difference",
        "The difference of two independent rates: zones, which is larger, intervals.",
        "Pairs, or repeated trials of one task.",
        "quadrature", "bayesian", "Pham-Gia, Turkkan & Eng 1993",
    ),
    Method(
        "bayes-factor-rate", "bayes", f"{_IN}.bayes.bayes_factor:bayes_factor_rate",
        "One rate against one value, with a prior under the alternative that is stated.",
        "Wide priors, which favour the null however large the rate (see the sensitivity).",
        "closed-form", "bayesian", "Kass & Raftery 1995",
    ),
    Method(
        "bayes-factor-difference", "bayes", f"{_IN}.bayes.bayes_factor:bayes_factor_difference",
        "Two independent rates: one rate for both against two.",
        "Pairs, or repeated trials of one task.",
        "closed-form", "bayesian", "Gunel & Dickey 1974",
    ),
    Method(
        "bayes-factor-sensitivity", "bayes", f"{_IN}.bayes.bayes_factor:bayes_factor_sensitivity",
        "How a Bayes factor moves with the width of its prior: print it beside every factor.",
        "It is no licence to choose the width after seeing the data.",
        "closed-form", "bayesian", "Sinharay & Stern 2002",
    ),
    Method(
        "hierarchical-beta", "bayes", f"{_IN}.bayes.hierarchical_beta:hierarchical_beta",
        "Rates of clusters and of their population, and the ICC, few clusters included.",
        "Few clusters, above all near 0 or 1: the prior on the ICC decides (another is beside it).",
        "quadrature", "bayesian", "Gelman et al. 2013, section 5.3",
    ),
    Method(
        "hierarchical-logit", "bayes", f"{_IN}.bayes.hierarchical_logit:hierarchical_logit",
        "As hierarchical-beta, with normal logits of clusters.",
        "As hierarchical-beta; it takes seconds.",
        "quadrature", "bayesian", "Agresti & Hitchcock 2005",
    ),
    Method(
        "hierarchical-slope", "bayes", f"{_IN}.bayes.hierarchical_slope:hierarchical_slope",
        "A paired contrast whose effect differs by cluster: its average and its spread.",
        "Few clusters: the priors on both spreads matter (said).",
        "quadrature", "bayesian", "Gelman et al. 2013, chapter 15",
    ),
)  # fmt: skip
