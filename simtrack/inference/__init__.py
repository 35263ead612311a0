"""One statistical method a file: totals or plain arrays in, frozen results out."""

from simtrack.inference.agreement import Agreement, percent_agreement
from simtrack.inference.agreement_alpha import krippendorff_alpha
from simtrack.inference.agreement_cohen import cohen_kappa
from simtrack.inference.agreement_many import fleiss_kappa, gwet_ac
from simtrack.inference.agreement_ratings import Ratings
from simtrack.inference.binomial import clopper_pearson, jeffreys, mid_p
from simtrack.inference.bootstrap import bootstrap
from simtrack.inference.bootstrap_law import BootstrapLaw
from simtrack.inference.bootstrap_result import BootstrapInterval
from simtrack.inference.cluster_contrasts import (
    ClusterContrasts,
    cluster_contrasts,
    contrast_table,
)
from simtrack.inference.cluster_difference import cluster_difference
from simtrack.inference.cluster_rates import cluster_t_rate, logit_t
from simtrack.inference.cluster_t import cluster_t
from simtrack.inference.clustered import ClusteredRates, clustered_rates, design_effect_from_icc
from simtrack.inference.contrast_tests import (
    sign_flip_contrast,
    sign_flip_contrast_interval,
    sign_flip_stratified,
    sign_test_contrast,
)
from simtrack.inference.effect_size import EffectSize, cohen_d, cohen_d_paired, cohen_h
from simtrack.inference.effective import ASSUMED_ICC, EffectiveSize, effective_size
from simtrack.inference.exact_test import ExactTest
from simtrack.inference.firth import Firth, firth
from simtrack.inference.gee import Gee, gee
from simtrack.inference.gee_many import gee_many
from simtrack.inference.group_mean import GroupMean, group_mean
from simtrack.inference.intervals import Intervals
from simtrack.inference.joint import joint_counts
from simtrack.inference.korn_graubard import korn_graubard
from simtrack.inference.leave_one_out import LeaveOneOut, leave_one_out
from simtrack.inference.linear_mixed import LinearMixed, linear_mixed
from simtrack.inference.linear_mixed_many import linear_mixed_many
from simtrack.inference.log_ratio import cluster_ratio, katz, katz_pooled
from simtrack.inference.logistic_mixed import LogisticMixed, logistic_mixed
from simtrack.inference.logistic_mixed_many import logistic_mixed_many
from simtrack.inference.logistic_mixed_marginal import Marginal, logistic_normal_mean
from simtrack.inference.maxt import MaxT, max_t
from simtrack.inference.mcnemar import (
    McNemar,
    mcnemar,
    mcnemar_midp,
    mcnemar_stratified,
    mcnemar_totals,
)
from simtrack.inference.missingness import ShareWithFailures, share_with_failures
from simtrack.inference.model_coefficients import Coefficients
from simtrack.inference.model_many import ManyFits
from simtrack.inference.model_table import ModelTable, model_table
from simtrack.inference.multiplicity import (
    Adjusted,
    adjust,
    benjamini_hochberg,
    benjamini_yekutieli,
    bonferroni,
    hochberg,
    holm,
)
from simtrack.inference.newcombe import (
    newcombe,
    newcombe_clustered,
    newcombe_paired,
    newcombe_pairs,
    newcombe_pooled,
)
from simtrack.inference.paired import PairedDifference, paired_difference
from simtrack.inference.pass_k import PassK, pass_at_k, pass_hat_k
from simtrack.inference.permutation import Permutation, permutation_test, permutation_totals
from simtrack.inference.permutation_interval import PermutationInterval, permutation_interval
from simtrack.inference.pooled import (
    clopper_pearson_pooled,
    jeffreys_pooled,
    mid_p_pooled,
    rule_of_three_pooled,
    wilson_pooled,
    zeros_pooled,
)
from simtrack.inference.ranks import KendallTau, kendall_tau
from simtrack.inference.repeated_looks import RepeatedLooks, repeated_looks
from simtrack.inference.roc import Auroc, auroc
from simtrack.inference.score_totals import (
    miettinen_nurminen_clustered,
    miettinen_nurminen_pooled,
    miettinen_nurminen_ratio_clustered,
    miettinen_nurminen_ratio_pooled,
)
from simtrack.inference.score_two import miettinen_nurminen, miettinen_nurminen_ratio
from simtrack.inference.separation import Separation, separation
from simtrack.inference.sign_test import (
    MedianInterval,
    SignTest,
    sign_test,
    sign_test_counts,
    sign_test_interval,
)
from simtrack.inference.signflip import SignFlip, sign_flip
from simtrack.inference.signflip_interval import SignFlipInterval, sign_flip_interval
from simtrack.inference.signflip_many import sign_flip_pvalues
from simtrack.inference.tango import tango, tango_pairs
from simtrack.inference.two_rates import TwoRates
from simtrack.inference.two_way import TwoWay, two_way
from simtrack.inference.wilson import (
    wilson,
    wilson_clustered,
    wilson_guarded,
    wilson_limits,
)
from simtrack.inference.zeros import (
    rule_of_three,
    rule_of_three_clustered,
    zero_bound,
    zeros_clustered,
)

__all__ = [
    "ASSUMED_ICC",
    "Adjusted",
    "Agreement",
    "Auroc",
    "BootstrapInterval",
    "BootstrapLaw",
    "ClusterContrasts",
    "ClusteredRates",
    "Coefficients",
    "EffectSize",
    "EffectiveSize",
    "ExactTest",
    "Firth",
    "Gee",
    "GroupMean",
    "Intervals",
    "KendallTau",
    "LeaveOneOut",
    "LinearMixed",
    "LogisticMixed",
    "ManyFits",
    "Marginal",
    "MaxT",
    "McNemar",
    "MedianInterval",
    "ModelTable",
    "PairedDifference",
    "PassK",
    "Permutation",
    "PermutationInterval",
    "Ratings",
    "RepeatedLooks",
    "Separation",
    "ShareWithFailures",
    "SignFlip",
    "SignFlipInterval",
    "SignTest",
    "TwoRates",
    "TwoWay",
    "adjust",
    "auroc",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "bonferroni",
    "bootstrap",
    "clopper_pearson",
    "clopper_pearson_pooled",
    "cluster_contrasts",
    "cluster_difference",
    "cluster_ratio",
    "cluster_t",
    "cluster_t_rate",
    "clustered_rates",
    "cohen_d",
    "cohen_d_paired",
    "cohen_h",
    "cohen_kappa",
    "contrast_table",
    "design_effect_from_icc",
    "effective_size",
    "firth",
    "fleiss_kappa",
    "gee",
    "gee_many",
    "group_mean",
    "gwet_ac",
    "hochberg",
    "holm",
    "jeffreys",
    "jeffreys_pooled",
    "joint_counts",
    "katz",
    "katz_pooled",
    "kendall_tau",
    "korn_graubard",
    "krippendorff_alpha",
    "leave_one_out",
    "linear_mixed",
    "linear_mixed_many",
    "logistic_mixed",
    "logistic_mixed_many",
    "logistic_normal_mean",
    "logit_t",
    "max_t",
    "mcnemar",
    "mcnemar_midp",
    "mcnemar_stratified",
    "mcnemar_totals",
    "mid_p",
    "mid_p_pooled",
    "miettinen_nurminen",
    "miettinen_nurminen_clustered",
    "miettinen_nurminen_pooled",
    "miettinen_nurminen_ratio",
    "miettinen_nurminen_ratio_clustered",
    "miettinen_nurminen_ratio_pooled",
    "model_table",
    "newcombe",
    "newcombe_clustered",
    "newcombe_paired",
    "newcombe_pairs",
    "newcombe_pooled",
    "paired_difference",
    "pass_at_k",
    "pass_hat_k",
    "percent_agreement",
    "permutation_interval",
    "permutation_test",
    "permutation_totals",
    "repeated_looks",
    "rule_of_three",
    "rule_of_three_clustered",
    "rule_of_three_pooled",
    "separation",
    "share_with_failures",
    "sign_flip",
    "sign_flip_contrast",
    "sign_flip_contrast_interval",
    "sign_flip_interval",
    "sign_flip_pvalues",
    "sign_flip_stratified",
    "sign_test",
    "sign_test_contrast",
    "sign_test_counts",
    "sign_test_interval",
    "tango",
    "tango_pairs",
    "two_way",
    "wilson",
    "wilson_clustered",
    "wilson_guarded",
    "wilson_limits",
    "wilson_pooled",
    "zero_bound",
    "zeros_clustered",
    "zeros_pooled",
]
