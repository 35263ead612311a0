"""Every statistical method that simtrack offers, as data: by name, with when to use it."""

from __future__ import annotations

from difflib import get_close_matches

from simtrack.analysis.method import Method, Topic
from simtrack.analysis.methods_bayes import BAYES_METHODS
from simtrack.analysis.methods_bootstrap import BOOTSTRAP_METHODS
from simtrack.analysis.methods_models import MODEL_METHODS
from simtrack.analysis.methods_rates import RATE_METHODS, TWO_RATE_METHODS
from simtrack.analysis.methods_sequential import SEQUENTIAL_METHODS
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
        near = get_close_matches(str(name), offered, 1)
        cure = f"Did you mean {near[0]}?" if near else ""
        raise InputError("method", f"one of {', '.join(offered)}", repr(name), cure=cure)
    return METHODS[name]


_IN = "simtrack.inference"
register(
    Method(
        "bounded-mean", "rate", f"{_IN}.rates.bounded_mean:bounded_mean",
        "0/1 or graded scores in [0, 1], in clusters of any number, size and law; the default.",
        "One cluster. Wide with few clusters. Proved for clusters that pass or fail as a whole, "
        "elsewhere conjectured and measured.",
        "quadrature", "finite-sample", "Gaffke 2005; Learned-Miller & Thomas 2019",
    ),
    Method(
        "wilson-guarded", "rate", f"{_IN}.rates.wilson:wilson_guarded",
        "0/1 scores in clusters whose rates vary smoothly; narrower than bounded-mean.",
        "One cluster. A few clusters that never pass, or trials that repeat alike: it covers as "
        "little as .7 with 30 clusters; skewed graded scores: .4 with 12.",
        "closed-form", "asymptotic",
        "Wilson 1927 on the effective sample size, with Kish's effective number of clusters",
    ),
    Method(
        "wilson-clustered", "rate", f"{_IN}.rates.wilson:wilson_clustered",
        "Binary or [0, 1] scores in ten or more clusters of similar size, rates from .1 to .9.",
        "Rates near 0 or 1 with strong clustering, very unequal clusters: it covers too little.",
        "closed-form", "asymptotic",
        "Wilson 1927 on the effective sample size, with t(G-1) (Korn & Graubard 1998)",
    ),
    Method(
        "cluster-t", "rate", f"{_IN}.rates.cluster_t:cluster_t",
        "Scores of any range in clusters; many clusters, rates away from 0 and 1.",
        "Few clusters with rates near 0 or 1: it covers too little.",
        "closed-form", "asymptotic", "Liang & Zeger 1986, linearised ratio with G/(G-1) and t(G-1)",
    ),
    Method(
        "paired-cluster-t", "difference", f"{_IN}.differences.paired:paired_difference",
        "Two arms that share their clusters; effects that vary by cluster.",
        "Clusters that have one arm only (they are left out); very skewed differences.",
        "closed-form", "asymptotic", "Student 1908 on cluster differences",
    ),
    Method(
        "sign-flip", "test", f"{_IN}.exact.signflip:sign_flip",
        "Paired cluster differences that are symmetric about 0 under the null, as by randomising.",
        "Too few clusters to reach alpha (refused); contrasts nobody randomised (warned of).",
        "convolution", "finite-sample", "Fisher 1935, section 21; Pagano & Tritchler 1983",
    ),
)  # fmt: skip
register(*RATE_METHODS, *TWO_RATE_METHODS, *BOOTSTRAP_METHODS)
register(
    Method(
        "sensitivity", "missingness", "simtrack.analysis.sensitivity:sensitivity",
        "Trials without a score: what the rate is if they are dropped, failed or passed.",
        "Lost trials whose group nobody knows; bounds are wide where much is lost.",
        "closed-form", "asymptotic", "Manski 1989, worst-case bounds",
    ),
    Method(
        "share-with-failures", "missingness", f"{_IN}.rates.missingness:share_with_failures",
        "A power or coverage of which some repetitions failed: share among the rest, and bounds.",
        "Repetitions that are not independent.",
        "closed-form", "asymptotic", "Wilson 1927; Manski 2003",
    ),
    Method(
        "percent-agreement", "agreement", f"{_IN}.agreement.agreement:percent_agreement",
        "How often two raters of a unit give it one label, for any number of raters.",
        "One common label: agreement is high by chance alone.",
        "quadrature", "finite-sample", "Bounded mean of clusters: Gaffke 2005",
    ),
    Method(
        "cohen-kappa", "agreement", f"{_IN}.agreement.kappa:cohen_kappa",
        "Two raters who rated the same units; near misses count by linear or quadratic weights.",
        "One label only (not defined); one label far more common: near 0 at high agreement.",
        "closed-form", "asymptotic", "Cohen 1960, 1968; Fleiss, Cohen & Everitt 1969",
    ),
    Method(
        "fleiss-kappa", "agreement", f"{_IN}.agreement.kappa:fleiss_kappa",
        "Two raters or more, not the same for every unit; ratings may be missing.",
        "One label only (not defined); one label far more common: near 0 at high agreement.",
        "closed-form", "asymptotic", "Fleiss 1971; Gwet 2014",
    ),
    Method(
        "gwet-ac", "agreement", f"{_IN}.agreement.kappa:gwet_ac",
        "As Fleiss' kappa, where one label is far more common: AC1, or AC2 with weights.",
        "It depends on how many categories are declared.",
        "closed-form", "asymptotic", "Gwet 2008",
    ),
    Method(
        "krippendorff-alpha", "agreement", f"{_IN}.agreement.kappa:krippendorff_alpha",
        "Any number of raters, missing ratings, nominal, ordinal or interval labels.",
        "One label only (not defined); few units: its interval is approximate.",
        "closed-form", "asymptotic", "Krippendorff 2011",
    ),
    Method(
        "kendall-tau", "rank", f"{_IN}.agreement.ranks:kendall_tau",
        "Two rankings of independent items, ties in either; p counted over all pairings.",
        "Items in clusters; many levels with ties in both rankings: normal approximation.",
        "convolution", "finite-sample", "Kendall 1970; Mehta & Patel 1983",
    ),
    Method(
        "auroc", "rank", f"{_IN}.agreement.roc:auroc",
        "How well a signal ranks positives above negatives; ties count half; items in clusters.",
        "Perfect separation has no interval; few clusters with positives or with negatives.",
        "closed-form", "asymptotic", "DeLong et al. 1988; Obuchowski 1997",
    ),
    Method(
        "cohen-d", "rank", f"{_IN}.differences.effect_size:cohen_d",
        "Means of two independent samples, in standard deviations that are named.",
        "Scores in clusters (pass one mean a cluster); no spread.",
        "closed-form", "asymptotic", "Cohen 1988; Hedges & Olkin 1985",
    ),
    Method(
        "cohen-d-paired", "rank", f"{_IN}.differences.effect_size:cohen_d_paired",
        "Two scores of the same clusters, in standard deviations of the differences or of both.",
        "d of the differences cannot be compared with d of independent samples.",
        "closed-form", "asymptotic", "Cohen 1988, section 2.3.5; Lakens 2013",
    ),
    Method(
        "cohen-h", "rank", f"{_IN}.differences.effect_size:cohen_h",
        "Two rates on the arcsine scale, for planning and comparing across base rates.",
        "Rates at 0 or 1 with few trials; give effective numbers of trials under clustering.",
        "closed-form", "asymptotic", "Cohen 1988, section 6.2",
    ),
    Method(
        "pass-at-k", "rank", f"{_IN}.rates.pass_k:pass_at_k",
        "At least one of k trials of a task passes, unbiased for unequal numbers of trials.",
        "Tasks with fewer than k trials: listed, in no average.",
        "quadrature", "finite-sample", "Chen et al. 2021, eq. 1; interval: Gaffke 2005",
    ),
    Method(
        "pass-hat-k", "rank", f"{_IN}.rates.pass_k:pass_hat_k",
        "All of k trials of a task pass, unbiased for unequal numbers of trials.",
        "Tasks with fewer than k trials: listed, in no average.",
        "quadrature", "finite-sample", "Yao et al. 2024, tau-bench; interval: Gaffke 2005",
    ),
)  # fmt: skip
register(
    Method(
        "sign-flip-stratified", "test", f"{_IN}.exact.contrast_tests:sign_flip_stratified",
        "As sign-flip, where every stratum of clusters is to count alike.",
        "Strata of very unequal size: a single cluster can carry half of the statistic.",
        "convolution", "finite-sample", "Fisher 1935, section 21, with stratum weights",
    ),
    Method(
        "sign-flip-contrast", "contrast", f"{_IN}.exact.contrast_tests:sign_flip_contrast",
        "Any weighted sum of ratios, cluster by cluster, that is symmetric about 0 under the null.",
        "Contrasts nobody randomised (warned of); clusters that lack a term (left out).",
        "convolution", "finite-sample", "Fisher 1935, section 21; Pagano & Tritchler 1983",
    ),
    Method(
        "sign-flip-interval", "difference",
        f"{_IN}.exact.contrast_tests:sign_flip_contrast_interval",
        "The mean of cluster differences that are symmetric about it; six clusters or more at .95.",
        "Skewed differences; more than 20 clusters of reals (subsets are drawn on request).",
        "enumeration", "finite-sample", "Hartigan 1969; Tritchler 1984",
    ),
    Method(
        "sign-test", "test", f"{_IN}.exact.sign_test:sign_test",
        "Directions of independent cluster differences of any law; it speaks of the median.",
        "Ties (dropped, and counted); it has less power than sign-flip where sizes matter.",
        "closed-form", "finite-sample", "Conover 1999, section 3.4",
    ),
    Method(
        "sign-test-interval", "difference", f"{_IN}.exact.sign_test:sign_test_interval",
        "The median cluster difference, whatever its law; six clusters or more at .95.",
        "It says nothing about the mean.",
        "closed-form", "finite-sample", "Conover 1999, section 3.2",
    ),
    Method(
        "permutation", "test", f"{_IN}.exact.permutation:permutation_test",
        "Two arms that share no cluster, labels dealt at random (within strata, if given).",
        "Groups that may differ in spread under the null; too few clusters (refused).",
        "convolution", "finite-sample", "Pitman 1937; Pagano & Tritchler 1983",
    ),
    Method(
        "permutation-interval", "difference",
        f"{_IN}.exact.permutation_interval:permutation_interval",
        "Two arms that share no cluster and differ by a shift.",
        "Effects that stretch or skew one arm; groups in strata.",
        "enumeration", "finite-sample", "Tritchler 1984",
    ),
    Method(
        "mcnemar", "test", f"{_IN}.exact.mcnemar:mcnemar",
        "Paired binary outcomes, one trial a unit and arm, units independent.",
        "Units in clusters (use sign-flip on clusters); conservative with few discordant pairs.",
        "closed-form", "finite-sample", "McNemar 1947, exact conditional form",
    ),
    Method(
        "mcnemar-midp", "test", f"{_IN}.exact.mcnemar:mcnemar_midp",
        "As mcnemar, with a size near the level instead of below it.",
        "Where the level must be held for certain; units in clusters.",
        "closed-form", "asymptotic", "Lancaster 1961; Fagerland, Lydersen & Laake 2013",
    ),
    Method(
        "mcnemar-stratified", "test", f"{_IN}.exact.mcnemar:mcnemar_stratified",
        "Discordant pairs of several strata; every pair, or every stratum, counts alike.",
        "Units in clusters; effects of opposite sign in different strata cancel.",
        "convolution", "finite-sample", "McNemar 1947 on signed discordant pairs",
    ),
    Method(
        "bonferroni", "multiplicity", f"{_IN}.exact.multiplicity:bonferroni",
        "Family-wise error of a declared family, under any dependence.",
        "Many hypotheses: holm is never worse.",
        "closed-form", "finite-sample", "Dunn 1961",
    ),
    Method(
        "holm", "multiplicity", f"{_IN}.exact.multiplicity:holm",
        "Family-wise error of a declared family, under any dependence.",
        "Contrasts over the same clusters that go together: max-t gives more.",
        "closed-form", "finite-sample", "Holm 1979",
    ),
    Method(
        "hochberg", "multiplicity", f"{_IN}.exact.multiplicity:hochberg",
        "Family-wise error, if the tests are independent or positively dependent.",
        "Negative dependence, as between contrasts that share an arm with opposite signs.",
        "closed-form", "finite-sample", "Hochberg 1988; Sarkar 1998",
    ),
    Method(
        "benjamini-hochberg", "multiplicity", f"{_IN}.exact.multiplicity:benjamini_hochberg",
        "False discovery rate, if the tests are independent or positively dependent.",
        "Claims that must each hold: it bounds the share of false ones, not the chance of any.",
        "closed-form", "finite-sample", "Benjamini & Hochberg 1995",
    ),
    Method(
        "benjamini-yekutieli", "multiplicity", f"{_IN}.exact.multiplicity:benjamini_yekutieli",
        "False discovery rate under any dependence.",
        "Small families: it pays the harmonic sum for its generality.",
        "closed-form", "finite-sample", "Benjamini & Yekutieli 2001",
    ),
    Method(
        "max-t", "multiplicity", f"{_IN}.exact.maxt:max_t",
        "Several contrasts over the same clusters, jointly symmetric about 0 under the null.",
        "Contrasts nobody randomised; very unequal sets of clusters.",
        "enumeration", "finite-sample", "Westfall & Young 1993, algorithm 2.8; Romano & Wolf 2005",
    ),
    Method(
        "repeated-looks", "multiplicity", f"{_IN}.sequential.repeated_looks:repeated_looks",
        "The true error of any rule that looks again and again at one stream of passes.",
        "Streams in clusters; rules that look at more than the number of passes.",
        "enumeration", "finite-sample", "Armitage, McPherson & Rowe 1969",
    ),
)  # fmt: skip
register(*MODEL_METHODS, *BAYES_METHODS, *SEQUENTIAL_METHODS)
