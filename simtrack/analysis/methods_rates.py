"""The catalogue's entries for one rate, and for differences and ratios of two."""

from __future__ import annotations

from simtrack.analysis.method import Method

__all__ = ["RATE_METHODS", "TWO_RATE_METHODS"]

_IN = "simtrack.inference"

RATE_METHODS: tuple[Method, ...] = (
    Method(
        "korn-graubard", "rate", f"{_IN}.rates.cluster_t:korn_graubard",
        "Clustered 0/1 scores where covering too little would be worse than a wide interval.",
        "One cluster; without spread it rests on an assumed ICC; too wide away from 0 and 1.",
        "closed-form", "asymptotic", "Korn & Graubard 1998, Survey Methodology 24, 193-201",
    ),
    Method(
        "logit-t", "rate", f"{_IN}.rates.cluster_t:logit_t",
        "Clustered scores in [0, 1] with rates inside, as survey software reports them.",
        "Rates of 0 or 1 (Korn-Graubard's ends are given); without spread an assumed ICC.",
        "closed-form", "asymptotic", "Korn & Graubard 1999, section 3.2",
    ),
    Method(
        "cluster-t-rate", "rate", f"{_IN}.rates.cluster_t:cluster_t_rate",
        "Clustered scores in [0, 1], many clusters, rates away from 0 and 1; held within [0, 1].",
        "Few clusters with rates near 0 or 1: it covers too little.",
        "closed-form", "asymptotic", "Cochran 1977, section 9, with an assumed ICC without spread",
    ),
    Method(
        "wilson", "rate", f"{_IN}.rates.pooled:wilson_pooled",
        "Independent 0/1 trials: one a cluster, or clusters that do not differ.",
        "Several trials a cluster: it covers too little.",
        "closed-form", "asymptotic", "Wilson 1927, JASA 22, 209-212",
    ),
    Method(
        "clopper-pearson", "rate", f"{_IN}.rates.pooled:clopper_pearson_pooled",
        "Independent 0/1 trials where coverage must be at least the level at every rate.",
        "Several trials a cluster; on average it is wider than the level asks.",
        "closed-form", "finite-sample", "Clopper & Pearson 1934, Biometrika 26, 404-413",
    ),
    Method(
        "jeffreys", "rate", f"{_IN}.rates.pooled:jeffreys_pooled",
        "Independent 0/1 trials; coverage near the level on average.",
        "Several trials a cluster; rates very near 0 or 1, where coverage dips.",
        "closed-form", "bayesian", "Brown, Cai & DasGupta 2001, Statistical Science 16, 101-133",
    ),
    Method(
        "mid-p", "rate", f"{_IN}.rates.pooled:mid_p_pooled",
        "Independent 0/1 trials; the exact interval without its excess of coverage.",
        "Several trials a cluster; coverage may fall below the level at some rates.",
        "optimisation", "asymptotic", "Berry & Armitage 1995, The Statistician 44, 417-423",
    ),
    Method(
        "rule-of-three", "rate", f"{_IN}.rates.pooled:rule_of_three_pooled",
        "No event (or nothing but events) in independent trials; one-sided 95 % only.",
        "Both outcomes occur (refused); several trials a cluster.",
        "closed-form", "asymptotic", "Hanley & Lippman-Hand 1983, JAMA 249, 1743-1745",
    ),
    Method(
        "zero-bound", "rate", f"{_IN}.rates.pooled:zeros_pooled",
        "No event (or nothing but events) in independent trials: 1 - α^(1/n), one-sided.",
        "Both outcomes occur (refused); several trials a cluster.",
        "closed-form", "finite-sample", "Clopper & Pearson 1934 at 0/n, one-sided",
    ),
    Method(
        "rule-of-three-clustered", "rate", f"{_IN}.rates.zeros:rule_of_three_clustered",
        "No event in clustered trials: 3/n on the effective n, or on clusters.",
        "Both outcomes occur (refused); on the effective n it rests on an assumed ICC.",
        "closed-form", "asymptotic", "Hanley & Lippman-Hand 1983 on the effective n or on G",
    ),
    Method(
        "zero-bound-clustered", "rate", f"{_IN}.rates.zeros:zeros_clustered",
        "No event in clustered trials: 1 - α^(1/n) on the effective n, or exactly on clusters.",
        "Both outcomes occur (refused); on the effective n it rests on an assumed ICC.",
        "closed-form", "asymptotic", "Clopper & Pearson 1934 at 0/n on the effective n or on G",
    ),
)  # fmt: skip

TWO_RATE_METHODS: tuple[Method, ...] = (
    Method(
        "cluster-t-difference", "difference",
        f"{_IN}.differences.cluster_difference:cluster_difference",
        "Two arms whose clusters are shared, apart, or partly shared; rates away from 0 and 1.",
        "Rates of 0 or 1 (they add no variance), few clusters.",
        "closed-form", "asymptotic", "Cochran 1977, 6.11; Welch 1947 degrees of freedom",
    ),
    Method(
        "newcombe-clustered", "difference", f"{_IN}.differences.newcombe:newcombe_clustered",
        "Two arms of clustered 0/1 trials, shared clusters or not; rates of 0 and 1 too.",
        "One cluster in an arm; without spread in an arm an assumed ICC and no correlation.",
        "closed-form", "asymptotic", "Newcombe 1998; Zou & Donner 2008 on Wilson with effective n",
    ),
    Method(
        "miettinen-nurminen-clustered", "difference",
        f"{_IN}.differences.score_interval:miettinen_nurminen_clustered",
        "Two arms of clustered 0/1 trials that share no cluster; rates of 0 and 1 too.",
        "Arms that share clusters (refused); one cluster in an arm.",
        "optimisation", "asymptotic", "Rao & Scott 1992; Miettinen & Nurminen 1985",
    ),
    Method(
        "newcombe", "difference", f"{_IN}.differences.newcombe:newcombe_pooled",
        "Two sets of independent 0/1 trials, small or near 0 and 1.",
        "Several trials a cluster, or the same clusters in both arms.",
        "closed-form", "asymptotic", "Newcombe 1998, Stat. Med. 17, 873-890, method 10",
    ),
    Method(
        "miettinen-nurminen", "difference",
        f"{_IN}.differences.score_interval:miettinen_nurminen_pooled",
        "Two sets of independent 0/1 trials, as regulators ask for it.",
        "Several trials a cluster, or the same clusters in both arms.",
        "optimisation", "asymptotic", "Miettinen & Nurminen 1985, Stat. Med. 4, 213-226",
    ),
    Method(
        "newcombe-pairs", "difference", f"{_IN}.differences.newcombe:newcombe_pairs",
        "Pairs of 0/1 trials: each cluster tried once in both arms.",
        "More than one trial a cluster and arm (refused).",
        "closed-form", "asymptotic", "Newcombe 1998, Stat. Med. 17, 2635-2650, method 10",
    ),
    Method(
        "tango", "difference", f"{_IN}.differences.paired_rates:tango_pairs",
        "Pairs of 0/1 trials: each cluster tried once in both arms; agrees with McNemar.",
        "More than one trial a cluster and arm (refused).",
        "optimisation", "asymptotic", "Tango 1998, Stat. Med. 17, 891-908",
    ),
    Method(
        "cluster-t-ratio", "difference", f"{_IN}.differences.log_ratio:cluster_ratio",
        "The ratio of two clustered rates, shared clusters or not, both well above 0.",
        "A rate of 0 (refused); few clusters.",
        "closed-form", "asymptotic", "Linearised log ratio (Cochran 1977, 6.11), t",
    ),
    Method(
        "miettinen-nurminen-ratio-clustered", "difference",
        f"{_IN}.differences.score_interval:miettinen_nurminen_ratio_clustered",
        "The ratio of two clustered rates that share no cluster; rates of 0 and 1 too.",
        "Arms that share clusters (refused); one cluster in an arm.",
        "optimisation", "asymptotic", "Rao & Scott 1992; Miettinen & Nurminen 1985",
    ),
    Method(
        "miettinen-nurminen-ratio", "difference",
        f"{_IN}.differences.score_interval:miettinen_nurminen_ratio_pooled",
        "The ratio of two rates from independent 0/1 trials; rates of 0 and 1 too.",
        "Several trials a cluster, or the same clusters in both arms.",
        "optimisation", "asymptotic", "Miettinen & Nurminen 1985; Koopman 1984",
    ),
    Method(
        "katz", "difference", f"{_IN}.differences.log_ratio:katz_pooled",
        "The ratio of two rates from many independent 0/1 trials.",
        "A rate of 0 (refused), small counts, several trials a cluster.",
        "closed-form", "asymptotic", "Katz et al. 1978, Biometrics 34, 469-474",
    ),
)  # fmt: skip
