"""One statistical method a file: totals or plain arrays in, frozen results out.

Names are imported when they are first used: a command that needs one method does not load all.
"""

# ruff: noqa: I001
from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the same names as in _FILES, which a test holds
    # fmt: off
    from simtrack.inference.agreement import (
        Agreement as Agreement, percent_agreement as percent_agreement,
    )
    from simtrack.inference.agreement_alpha import krippendorff_alpha as krippendorff_alpha
    from simtrack.inference.agreement_cohen import cohen_kappa as cohen_kappa
    from simtrack.inference.agreement_many import fleiss_kappa as fleiss_kappa, gwet_ac as gwet_ac
    from simtrack.inference.agreement_ratings import Ratings as Ratings
    from simtrack.inference.bayes_factor import (
        BayesFactor as BayesFactor, bayes_factor_difference as bayes_factor_difference,
        bayes_factor_rate as bayes_factor_rate,
        bayes_factor_sensitivity as bayes_factor_sensitivity,
    )
    from simtrack.inference.beta_binomial import beta_posterior as beta_posterior
    from simtrack.inference.beta_binomial_difference import beta_difference as beta_difference
    from simtrack.inference.betting import (
        betting_sequence as betting_sequence, paired_sequence as paired_sequence,
    )
    from simtrack.inference.binomial import (
        clopper_pearson as clopper_pearson, jeffreys as jeffreys, mid_p as mid_p,
    )
    from simtrack.inference.bootstrap import bootstrap as bootstrap
    from simtrack.inference.bootstrap_law import BootstrapLaw as BootstrapLaw
    from simtrack.inference.bootstrap_result import BootstrapInterval as BootstrapInterval
    from simtrack.inference.bounded_mean import bounded_mean_p as bounded_mean_p
    from simtrack.inference.cluster_contrasts import (
        ClusterContrasts as ClusterContrasts, cluster_contrasts as cluster_contrasts,
        contrast_table as contrast_table,
    )
    from simtrack.inference.cluster_difference import cluster_difference as cluster_difference
    from simtrack.inference.cluster_rates import (
        cluster_t_rate as cluster_t_rate, logit_t as logit_t,
    )
    from simtrack.inference.cluster_t import cluster_t as cluster_t
    from simtrack.inference.clustered import (
        ClusteredRates as ClusteredRates, clustered_rates as clustered_rates,
        design_effect_from_icc as design_effect_from_icc,
    )
    from simtrack.inference.confidence_sequence import (
        ConfidenceSequence as ConfidenceSequence, EProcess as EProcess,
        bernoulli_interval as bernoulli_interval, bernoulli_sequence as bernoulli_sequence,
        e_process as e_process,
    )
    from simtrack.inference.contrast_t import ContrastT as ContrastT, contrast_t as contrast_t
    from simtrack.inference.contrast_tests import (
        sign_flip_contrast as sign_flip_contrast,
        sign_flip_contrast_interval as sign_flip_contrast_interval,
        sign_flip_stratified as sign_flip_stratified, sign_test_contrast as sign_test_contrast,
    )
    from simtrack.inference.effect_size import (
        EffectSize as EffectSize, cohen_d as cohen_d, cohen_d_paired as cohen_d_paired,
        cohen_h as cohen_h,
    )
    from simtrack.inference.effective import (
        ASSUMED_ICC as ASSUMED_ICC, EffectiveSize as EffectiveSize,
        effective_size as effective_size,
    )
    from simtrack.inference.exact_test import ExactTest as ExactTest
    from simtrack.inference.firth import Firth as Firth, firth as firth
    from simtrack.inference.gee import Gee as Gee, gee as gee
    from simtrack.inference.gee_many import gee_many as gee_many
    from simtrack.inference.group_mean import GroupMean as GroupMean, group_mean as group_mean
    from simtrack.inference.group_sequential import (
        GroupSequential as GroupSequential, group_sequential as group_sequential,
    )
    from simtrack.inference.hierarchical import Hierarchical as Hierarchical
    from simtrack.inference.hierarchical_beta import hierarchical_beta as hierarchical_beta
    from simtrack.inference.hierarchical_logit import hierarchical_logit as hierarchical_logit
    from simtrack.inference.hierarchical_slope import (
        HierarchicalSlope as HierarchicalSlope, hierarchical_slope as hierarchical_slope,
    )
    from simtrack.inference.intervals import Intervals as Intervals
    from simtrack.inference.joint import joint_counts as joint_counts
    from simtrack.inference.korn_graubard import korn_graubard as korn_graubard
    from simtrack.inference.leave_one_out import (
        LeaveOneOut as LeaveOneOut, leave_one_out as leave_one_out,
    )
    from simtrack.inference.linear_mixed import (
        LinearMixed as LinearMixed, linear_mixed as linear_mixed,
    )
    from simtrack.inference.linear_mixed_many import linear_mixed_many as linear_mixed_many
    from simtrack.inference.log_ratio import (
        cluster_ratio as cluster_ratio, katz as katz, katz_pooled as katz_pooled,
    )
    from simtrack.inference.logistic_mixed import (
        LogisticMixed as LogisticMixed, logistic_mixed as logistic_mixed,
    )
    from simtrack.inference.logistic_mixed_many import logistic_mixed_many as logistic_mixed_many
    from simtrack.inference.logistic_mixed_marginal import (
        Marginal as Marginal, logistic_normal_mean as logistic_normal_mean,
    )
    from simtrack.inference.maxt import MaxT as MaxT, max_t as max_t
    from simtrack.inference.mcnemar import (
        McNemar as McNemar, mcnemar as mcnemar, mcnemar_midp as mcnemar_midp,
        mcnemar_stratified as mcnemar_stratified, mcnemar_totals as mcnemar_totals,
    )
    from simtrack.inference.missingness import (
        ShareWithFailures as ShareWithFailures, share_with_failures as share_with_failures,
    )
    from simtrack.inference.model_coefficients import Coefficients as Coefficients
    from simtrack.inference.model_many import ManyFits as ManyFits
    from simtrack.inference.model_table import ModelTable as ModelTable, model_table as model_table
    from simtrack.inference.multiplicity import (
        Adjusted as Adjusted, adjust as adjust, benjamini_hochberg as benjamini_hochberg,
        benjamini_yekutieli as benjamini_yekutieli, bonferroni as bonferroni,
        hochberg as hochberg, holm as holm,
    )
    from simtrack.inference.newcombe import (
        newcombe as newcombe, newcombe_clustered as newcombe_clustered,
        newcombe_paired as newcombe_paired, newcombe_pairs as newcombe_pairs,
        newcombe_pooled as newcombe_pooled,
    )
    from simtrack.inference.paired import (
        PairedDifference as PairedDifference, paired_difference as paired_difference,
    )
    from simtrack.inference.pass_k import (
        PassK as PassK, pass_at_k as pass_at_k, pass_hat_k as pass_hat_k,
    )
    from simtrack.inference.permutation import (
        Permutation as Permutation, permutation_test as permutation_test,
        permutation_totals as permutation_totals,
    )
    from simtrack.inference.permutation_interval import (
        PermutationInterval as PermutationInterval, permutation_interval as permutation_interval,
    )
    from simtrack.inference.pooled import (
        clopper_pearson_pooled as clopper_pearson_pooled, jeffreys_pooled as jeffreys_pooled,
        mid_p_pooled as mid_p_pooled, rule_of_three_pooled as rule_of_three_pooled,
        wilson_pooled as wilson_pooled, zeros_pooled as zeros_pooled,
    )
    from simtrack.inference.posterior import Posterior as Posterior
    from simtrack.inference.ranks import KendallTau as KendallTau, kendall_tau as kendall_tau
    from simtrack.inference.repeated_looks import (
        RepeatedLooks as RepeatedLooks, repeated_looks as repeated_looks,
    )
    from simtrack.inference.roc import Auroc as Auroc, auroc as auroc
    from simtrack.inference.score_totals import (
        miettinen_nurminen_clustered as miettinen_nurminen_clustered,
        miettinen_nurminen_pooled as miettinen_nurminen_pooled,
        miettinen_nurminen_ratio_clustered as miettinen_nurminen_ratio_clustered,
        miettinen_nurminen_ratio_pooled as miettinen_nurminen_ratio_pooled,
    )
    from simtrack.inference.score_two import (
        miettinen_nurminen as miettinen_nurminen,
        miettinen_nurminen_ratio as miettinen_nurminen_ratio,
    )
    from simtrack.inference.separation import Separation as Separation, separation as separation
    from simtrack.inference.sign_test import (
        MedianInterval as MedianInterval, SignTest as SignTest, sign_test as sign_test,
        sign_test_counts as sign_test_counts, sign_test_interval as sign_test_interval,
    )
    from simtrack.inference.signflip import SignFlip as SignFlip, sign_flip as sign_flip
    from simtrack.inference.signflip_interval import (
        SignFlipInterval as SignFlipInterval, sign_flip_interval as sign_flip_interval,
    )
    from simtrack.inference.signflip_many import sign_flip_pvalues as sign_flip_pvalues
    from simtrack.inference.tango import tango as tango, tango_pairs as tango_pairs
    from simtrack.inference.two_rates import TwoRates as TwoRates
    from simtrack.inference.two_way import TwoWay as TwoWay, two_way as two_way
    from simtrack.inference.wilson import (
        wilson as wilson, wilson_clustered as wilson_clustered, wilson_guarded as wilson_guarded,
        wilson_limits as wilson_limits,
    )
    from simtrack.inference.zeros import (
        rule_of_three as rule_of_three, rule_of_three_clustered as rule_of_three_clustered,
        zero_bound as zero_bound, zeros_clustered as zeros_clustered,
    )
    # fmt: on

#: Which module of this room holds a name.
_FILES = {
    "agreement": "Agreement percent_agreement",
    "agreement_alpha": "krippendorff_alpha",
    "agreement_cohen": "cohen_kappa",
    "agreement_many": "fleiss_kappa gwet_ac",
    "agreement_ratings": "Ratings",
    "bayes_factor": (
        "BayesFactor bayes_factor_difference bayes_factor_rate bayes_factor_sensitivity"
    ),
    "beta_binomial": "beta_posterior",
    "beta_binomial_difference": "beta_difference",
    "betting": "betting_sequence paired_sequence",
    "binomial": "clopper_pearson jeffreys mid_p",
    "bootstrap": "bootstrap",
    "bootstrap_law": "BootstrapLaw",
    "bootstrap_result": "BootstrapInterval",
    "bounded_mean": "bounded_mean_p",
    "cluster_contrasts": "ClusterContrasts cluster_contrasts contrast_table",
    "cluster_difference": "cluster_difference",
    "cluster_rates": "cluster_t_rate logit_t",
    "cluster_t": "cluster_t",
    "clustered": "ClusteredRates clustered_rates design_effect_from_icc",
    "confidence_sequence": (
        "ConfidenceSequence EProcess bernoulli_interval bernoulli_sequence e_process"
    ),
    "contrast_t": "ContrastT contrast_t",
    "contrast_tests": (
        "sign_flip_contrast sign_flip_contrast_interval sign_flip_stratified sign_test_contrast"
    ),
    "effect_size": "EffectSize cohen_d cohen_d_paired cohen_h",
    "effective": "ASSUMED_ICC EffectiveSize effective_size",
    "exact_test": "ExactTest",
    "firth": "Firth firth",
    "gee": "Gee gee",
    "gee_many": "gee_many",
    "group_mean": "GroupMean group_mean",
    "group_sequential": "GroupSequential group_sequential",
    "hierarchical": "Hierarchical",
    "hierarchical_beta": "hierarchical_beta",
    "hierarchical_logit": "hierarchical_logit",
    "hierarchical_slope": "HierarchicalSlope hierarchical_slope",
    "intervals": "Intervals",
    "joint": "joint_counts",
    "korn_graubard": "korn_graubard",
    "leave_one_out": "LeaveOneOut leave_one_out",
    "linear_mixed": "LinearMixed linear_mixed",
    "linear_mixed_many": "linear_mixed_many",
    "log_ratio": "cluster_ratio katz katz_pooled",
    "logistic_mixed": "LogisticMixed logistic_mixed",
    "logistic_mixed_many": "logistic_mixed_many",
    "logistic_mixed_marginal": "Marginal logistic_normal_mean",
    "maxt": "MaxT max_t",
    "mcnemar": "McNemar mcnemar mcnemar_midp mcnemar_stratified mcnemar_totals",
    "missingness": "ShareWithFailures share_with_failures",
    "model_coefficients": "Coefficients",
    "model_many": "ManyFits",
    "model_table": "ModelTable model_table",
    "multiplicity": (
        "Adjusted adjust benjamini_hochberg benjamini_yekutieli bonferroni hochberg holm"
    ),
    "newcombe": "newcombe newcombe_clustered newcombe_paired newcombe_pairs newcombe_pooled",
    "paired": "PairedDifference paired_difference",
    "pass_k": "PassK pass_at_k pass_hat_k",
    "permutation": "Permutation permutation_test permutation_totals",
    "permutation_interval": "PermutationInterval permutation_interval",
    "pooled": (
        "clopper_pearson_pooled jeffreys_pooled mid_p_pooled rule_of_three_pooled "
        "wilson_pooled zeros_pooled"
    ),
    "posterior": "Posterior",
    "ranks": "KendallTau kendall_tau",
    "repeated_looks": "RepeatedLooks repeated_looks",
    "roc": "Auroc auroc",
    "score_totals": (
        "miettinen_nurminen_clustered miettinen_nurminen_pooled "
        "miettinen_nurminen_ratio_clustered miettinen_nurminen_ratio_pooled"
    ),
    "score_two": "miettinen_nurminen miettinen_nurminen_ratio",
    "separation": "Separation separation",
    "sign_test": "MedianInterval SignTest sign_test sign_test_counts sign_test_interval",
    "signflip": "SignFlip sign_flip",
    "signflip_interval": "SignFlipInterval sign_flip_interval",
    "signflip_many": "sign_flip_pvalues",
    "tango": "tango tango_pairs",
    "two_rates": "TwoRates",
    "two_way": "TwoWay two_way",
    "wilson": "wilson wilson_clustered wilson_guarded wilson_limits",
    "zeros": "rule_of_three rule_of_three_clustered zero_bound zeros_clustered",
}
_HOMES = {name: file for file, names in _FILES.items() for name in names.split()}

__all__ = [*sorted(_HOMES)]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'simtrack.inference' has no attribute {name!r}")
    found: object = getattr(import_module(f"simtrack.inference.{_HOMES[name]}"), name)
    setattr(sys.modules[__name__], name, found)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Room(ModuleType):
    """This room: where a file and its function share a name, the name is the function's."""

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and _HOMES.get(name) == name:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Room
