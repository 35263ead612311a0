from .agreement.agreement import (
    Agreement as Agreement,
)
from .agreement.agreement import (
    percent_agreement as percent_agreement,
)
from .agreement.kappa import (
    cohen_kappa as cohen_kappa,
)
from .agreement.kappa import (
    fleiss_kappa as fleiss_kappa,
)
from .agreement.kappa import (
    gwet_ac as gwet_ac,
)
from .agreement.kappa import (
    krippendorff_alpha as krippendorff_alpha,
)
from .agreement.ranks import (
    KendallTau as KendallTau,
)
from .agreement.ranks import (
    kendall_tau as kendall_tau,
)
from .agreement.ratings import (
    Ratings as Ratings,
)
from .agreement.roc import (
    Auroc as Auroc,
)
from .agreement.roc import (
    auroc as auroc,
)
from .bayes.bayes_factor import (
    BayesFactor as BayesFactor,
)
from .bayes.bayes_factor import (
    bayes_factor_difference as bayes_factor_difference,
)
from .bayes.bayes_factor import (
    bayes_factor_rate as bayes_factor_rate,
)
from .bayes.bayes_factor import (
    bayes_factor_sensitivity as bayes_factor_sensitivity,
)
from .bayes.beta_binomial import (
    beta_difference as beta_difference,
)
from .bayes.beta_binomial import (
    beta_posterior as beta_posterior,
)
from .bayes.hierarchical import (
    Hierarchical as Hierarchical,
)
from .bayes.hierarchical_beta import (
    hierarchical_beta as hierarchical_beta,
)
from .bayes.hierarchical_logit import (
    hierarchical_logit as hierarchical_logit,
)
from .bayes.hierarchical_slope import (
    HierarchicalSlope as HierarchicalSlope,
)
from .bayes.hierarchical_slope import (
    hierarchical_slope as hierarchical_slope,
)
from .bayes.posterior import (
    Posterior as Posterior,
)
from .contrasts import (
    ClusterContrasts as ClusterContrasts,
)
from .contrasts import (
    ContrastT as ContrastT,
)
from .contrasts import (
    cluster_contrasts as cluster_contrasts,
)
from .contrasts import (
    contrast_t as contrast_t,
)
from .contrasts import (
    contrast_table as contrast_table,
)
from .differences.cluster_difference import (
    cluster_difference as cluster_difference,
)
from .differences.effect_size import (
    EffectSize as EffectSize,
)
from .differences.effect_size import (
    cohen_d as cohen_d,
)
from .differences.effect_size import (
    cohen_d_paired as cohen_d_paired,
)
from .differences.effect_size import (
    cohen_h as cohen_h,
)
from .differences.log_ratio import (
    cluster_ratio as cluster_ratio,
)
from .differences.log_ratio import (
    katz as katz,
)
from .differences.log_ratio import (
    katz_pooled as katz_pooled,
)
from .differences.newcombe import (
    newcombe as newcombe,
)
from .differences.newcombe import (
    newcombe_clustered as newcombe_clustered,
)
from .differences.newcombe import (
    newcombe_paired as newcombe_paired,
)
from .differences.newcombe import (
    newcombe_pairs as newcombe_pairs,
)
from .differences.newcombe import (
    newcombe_pooled as newcombe_pooled,
)
from .differences.paired import (
    PairedDifference as PairedDifference,
)
from .differences.paired import (
    paired_difference as paired_difference,
)
from .differences.paired_rates import (
    joint_counts as joint_counts,
)
from .differences.paired_rates import (
    tango as tango,
)
from .differences.paired_rates import (
    tango_pairs as tango_pairs,
)
from .differences.score_interval import (
    miettinen_nurminen as miettinen_nurminen,
)
from .differences.score_interval import (
    miettinen_nurminen_clustered as miettinen_nurminen_clustered,
)
from .differences.score_interval import (
    miettinen_nurminen_pooled as miettinen_nurminen_pooled,
)
from .differences.score_interval import (
    miettinen_nurminen_ratio as miettinen_nurminen_ratio,
)
from .differences.score_interval import (
    miettinen_nurminen_ratio_clustered as miettinen_nurminen_ratio_clustered,
)
from .differences.score_interval import (
    miettinen_nurminen_ratio_pooled as miettinen_nurminen_ratio_pooled,
)
from .differences.two_rates import (
    TwoRates as TwoRates,
)
from .exact.contrast_tests import (
    sign_flip_contrast as sign_flip_contrast,
)
from .exact.contrast_tests import (
    sign_flip_contrast_interval as sign_flip_contrast_interval,
)
from .exact.contrast_tests import (
    sign_flip_stratified as sign_flip_stratified,
)
from .exact.contrast_tests import (
    sign_test_contrast as sign_test_contrast,
)
from .exact.exact_test import (
    ExactTest as ExactTest,
)
from .exact.maxt import (
    MaxT as MaxT,
)
from .exact.maxt import (
    max_t as max_t,
)
from .exact.mcnemar import (
    McNemar as McNemar,
)
from .exact.mcnemar import (
    mcnemar as mcnemar,
)
from .exact.mcnemar import (
    mcnemar_midp as mcnemar_midp,
)
from .exact.mcnemar import (
    mcnemar_stratified as mcnemar_stratified,
)
from .exact.mcnemar import (
    mcnemar_totals as mcnemar_totals,
)
from .exact.multiplicity import (
    Adjusted as Adjusted,
)
from .exact.multiplicity import (
    adjust as adjust,
)
from .exact.multiplicity import (
    benjamini_hochberg as benjamini_hochberg,
)
from .exact.multiplicity import (
    benjamini_yekutieli as benjamini_yekutieli,
)
from .exact.multiplicity import (
    bonferroni as bonferroni,
)
from .exact.multiplicity import (
    hochberg as hochberg,
)
from .exact.multiplicity import (
    holm as holm,
)
from .exact.permutation import (
    Permutation as Permutation,
)
from .exact.permutation import (
    permutation_test as permutation_test,
)
from .exact.permutation import (
    permutation_totals as permutation_totals,
)
from .exact.permutation_interval import (
    PermutationInterval as PermutationInterval,
)
from .exact.permutation_interval import (
    permutation_interval as permutation_interval,
)
from .exact.sign_test import (
    MedianInterval as MedianInterval,
)
from .exact.sign_test import (
    SignTest as SignTest,
)
from .exact.sign_test import (
    sign_test as sign_test,
)
from .exact.sign_test import (
    sign_test_counts as sign_test_counts,
)
from .exact.sign_test import (
    sign_test_interval as sign_test_interval,
)
from .exact.signflip import (
    SignFlip as SignFlip,
)
from .exact.signflip import (
    sign_flip as sign_flip,
)
from .exact.signflip_interval import (
    SignFlipInterval as SignFlipInterval,
)
from .exact.signflip_interval import (
    sign_flip_interval as sign_flip_interval,
)
from .exact.signflip_law import (
    sign_flip_pvalues as sign_flip_pvalues,
)
from .intervals import (
    Intervals as Intervals,
)
from .models.coefficients import (
    Coefficients as Coefficients,
)
from .models.firth import (
    Firth as Firth,
)
from .models.firth import (
    firth as firth,
)
from .models.gee import (
    Gee as Gee,
)
from .models.gee import (
    gee as gee,
)
from .models.leave_one_out import (
    LeaveOneOut as LeaveOneOut,
)
from .models.leave_one_out import (
    leave_one_out as leave_one_out,
)
from .models.linear_mixed import (
    LinearMixed as LinearMixed,
)
from .models.linear_mixed import (
    linear_mixed as linear_mixed,
)
from .models.logistic_mixed import (
    LogisticMixed as LogisticMixed,
)
from .models.logistic_mixed import (
    logistic_mixed as logistic_mixed,
)
from .models.logistic_mixed_marginal import (
    Marginal as Marginal,
)
from .models.logistic_mixed_marginal import (
    logistic_normal_mean as logistic_normal_mean,
)
from .models.many import (
    ManyFits as ManyFits,
)
from .models.many import (
    gee_many as gee_many,
)
from .models.many import (
    linear_mixed_many as linear_mixed_many,
)
from .models.many import (
    logistic_mixed_many as logistic_mixed_many,
)
from .models.separation import (
    Separation as Separation,
)
from .models.separation import (
    separation as separation,
)
from .models.table import (
    ModelTable as ModelTable,
)
from .models.table import (
    model_table as model_table,
)
from .models.two_way import (
    TwoWay as TwoWay,
)
from .models.two_way import (
    two_way as two_way,
)
from .rates.binomial import (
    clopper_pearson as clopper_pearson,
)
from .rates.binomial import (
    jeffreys as jeffreys,
)
from .rates.binomial import (
    mid_p as mid_p,
)
from .rates.bounded_mean import (
    bounded_mean as bounded_mean,
)
from .rates.bounded_mean import (
    bounded_mean_limits as bounded_mean_limits,
)
from .rates.bounded_mean import (
    bounded_mean_p as bounded_mean_p,
)
from .rates.cluster_t import (
    cluster_t as cluster_t,
)
from .rates.cluster_t import (
    cluster_t_rate as cluster_t_rate,
)
from .rates.cluster_t import (
    korn_graubard as korn_graubard,
)
from .rates.cluster_t import (
    logit_t as logit_t,
)
from .rates.clustered import (
    ASSUMED_ICC as ASSUMED_ICC,
)
from .rates.clustered import (
    ClusteredRates as ClusteredRates,
)
from .rates.clustered import (
    EffectiveSize as EffectiveSize,
)
from .rates.clustered import (
    clustered_rates as clustered_rates,
)
from .rates.clustered import (
    design_effect_from_icc as design_effect_from_icc,
)
from .rates.clustered import (
    effective_size as effective_size,
)
from .rates.default import (
    default_method as default_method,
)
from .rates.group_mean import (
    GroupMean as GroupMean,
)
from .rates.group_mean import (
    group_mean as group_mean,
)
from .rates.missingness import (
    ShareWithFailures as ShareWithFailures,
)
from .rates.missingness import (
    share_with_failures as share_with_failures,
)
from .rates.pass_k import (
    PassK as PassK,
)
from .rates.pass_k import (
    pass_at_k as pass_at_k,
)
from .rates.pass_k import (
    pass_hat_k as pass_hat_k,
)
from .rates.pooled import (
    clopper_pearson_pooled as clopper_pearson_pooled,
)
from .rates.pooled import (
    jeffreys_pooled as jeffreys_pooled,
)
from .rates.pooled import (
    mid_p_pooled as mid_p_pooled,
)
from .rates.pooled import (
    rule_of_three_pooled as rule_of_three_pooled,
)
from .rates.pooled import (
    wilson_pooled as wilson_pooled,
)
from .rates.pooled import (
    zeros_pooled as zeros_pooled,
)
from .rates.wilson import (
    wilson as wilson,
)
from .rates.wilson import (
    wilson_clustered as wilson_clustered,
)
from .rates.wilson import (
    wilson_guarded as wilson_guarded,
)
from .rates.wilson import (
    wilson_limits as wilson_limits,
)
from .rates.zeros import (
    rule_of_three as rule_of_three,
)
from .rates.zeros import (
    rule_of_three_clustered as rule_of_three_clustered,
)
from .rates.zeros import (
    zero_bound as zero_bound,
)
from .rates.zeros import (
    zeros_clustered as zeros_clustered,
)
from .resampling.bootstrap import (
    bootstrap as bootstrap,
)
from .resampling.intervals import (
    BootstrapInterval as BootstrapInterval,
)
from .resampling.law import (
    BootstrapLaw as BootstrapLaw,
)
from .sequential.betting import (
    betting_sequence as betting_sequence,
)
from .sequential.betting import (
    paired_sequence as paired_sequence,
)
from .sequential.confidence_sequence import (
    ConfidenceSequence as ConfidenceSequence,
)
from .sequential.confidence_sequence import (
    EProcess as EProcess,
)
from .sequential.confidence_sequence import (
    bernoulli_interval as bernoulli_interval,
)
from .sequential.confidence_sequence import (
    bernoulli_sequence as bernoulli_sequence,
)
from .sequential.confidence_sequence import (
    e_process as e_process,
)
from .sequential.group_sequential import (
    GroupSequential as GroupSequential,
)
from .sequential.group_sequential import (
    group_sequential as group_sequential,
)
from .sequential.repeated_looks import (
    RepeatedLooks as RepeatedLooks,
)
from .sequential.repeated_looks import (
    repeated_looks as repeated_looks,
)
