"""The catalogue's entries for statements that hold at many looks."""

from __future__ import annotations

from simtrack.analysis.method import Method

__all__ = ["SEQUENTIAL_METHODS"]

_IN = "simtrack.inference"

SEQUENTIAL_METHODS: tuple[Method, ...] = (
    Method(
        "confidence-sequence", "sequential",
        f"{_IN}.sequential.confidence_sequence:bernoulli_sequence",
        "A rate of trials that come one by one, looked at whenever one likes.",
        "Trials of one cluster in a row, or a rate that drifts; without order it is refused.",
        "closed-form", "finite-sample", "Robbins 1970; Howard et al. 2021",
    ),
    Method(
        "confidence-sequence-tuned", "sequential",
        f"{_IN}.sequential.confidence_sequence:bernoulli_interval",
        "As confidence-sequence, narrowest at a number of trials that is named in advance.",
        "Far from that number: confidence-sequence is narrower.",
        "closed-form", "finite-sample", "Howard et al. 2021, section 4.1",
    ),
    Method(
        "e-process", "sequential", f"{_IN}.sequential.confidence_sequence:e_process",
        "Evidence against one rate, at any look; e-values of independent studies multiply.",
        "As confidence-sequence; it needs more trials than a test at one planned look.",
        "closed-form", "finite-sample", "Ville 1939; Grünwald, de Heide & Koolen 2024",
    ),
    Method(
        "betting-sequence", "sequential", f"{_IN}.sequential.betting:betting_sequence",
        "The mean of scores in known bounds, cluster means and paired differences among them.",
        "Bounds taken from the scores themselves; steps of different means.",
        "closed-form", "finite-sample", "Waudby-Smith & Ramdas 2024, section 4",
    ),
    Method(
        "normal-mixture-bound", "sequential",
        f"{_IN}.sequential.uniform_bounds:normal_mixture_bound",
        "A sum of centred sub-Gaussian terms; scores in [0, 1] with v = n/4.",
        "Rates near 0 or 1: betting-sequence is much narrower.",
        "closed-form", "finite-sample", "Howard et al. 2021, Propositions 5 and 6",
    ),
    Method(
        "beta-binomial-bound", "sequential", f"{_IN}.sequential.uniform_bounds:beta_binomial_bound",
        "A sum of centred terms in [-g, h].",
        "Terms out of these bounds.",
        "closed-form", "finite-sample", "Howard et al. 2021, Proposition 7",
    ),
    Method(
        "stitched-bound", "sequential", f"{_IN}.sequential.uniform_bounds:stitched_bound",
        "A sum of centred sub-gamma terms over very long times: it grows with log log v.",
        "Short studies: the mixtures are narrower.",
        "closed-form", "finite-sample", "Howard et al. 2021, Theorem 1",
    ),
    Method(
        "group-sequential", "sequential", f"{_IN}.sequential.group_sequential:group_sequential",
        "A few looks planned in advance, at known shares of the clusters.",
        "Looks that were not planned; few clusters (use exact tests at the nominal levels).",
        "quadrature", "asymptotic", "Jennison & Turnbull 2000, chapters 2, 7 and 19",
    ),
    Method(
        "contrast-t", "contrast", f"{_IN}.contrasts:contrast_t",
        "A weighted sum of pooled ratios over the same clusters: stage gaps, factor effects.",
        "Few clusters with rates near 0 or 1; clusters without spread (refused).",
        "closed-form", "asymptotic", "Liang & Zeger 1986; Woodruff 1971",
    ),
)  # fmt: skip
