"""One statistical method a file: totals or plain arrays in, frozen results out."""

from simtrack.inference.cluster_contrasts import (
    ClusterContrasts,
    cluster_contrasts,
    contrast_table,
)
from simtrack.inference.cluster_t import cluster_t
from simtrack.inference.clustered import ClusteredRates, clustered_rates, design_effect_from_icc
from simtrack.inference.contrast_tests import (
    sign_flip_contrast,
    sign_flip_contrast_interval,
    sign_flip_stratified,
    sign_test_contrast,
)
from simtrack.inference.effective import ASSUMED_ICC, EffectiveSize, effective_size
from simtrack.inference.exact_test import ExactTest
from simtrack.inference.intervals import Intervals
from simtrack.inference.maxt import MaxT, max_t
from simtrack.inference.mcnemar import (
    McNemar,
    mcnemar,
    mcnemar_midp,
    mcnemar_stratified,
    mcnemar_totals,
)
from simtrack.inference.multiplicity import (
    Adjusted,
    adjust,
    benjamini_hochberg,
    benjamini_yekutieli,
    bonferroni,
    hochberg,
    holm,
)
from simtrack.inference.paired import PairedDifference, paired_difference
from simtrack.inference.permutation import Permutation, permutation_test, permutation_totals
from simtrack.inference.permutation_interval import PermutationInterval, permutation_interval
from simtrack.inference.repeated_looks import RepeatedLooks, repeated_looks
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
from simtrack.inference.wilson import (
    wilson,
    wilson_clustered,
    wilson_guarded,
    wilson_limits,
)

__all__ = [
    "ASSUMED_ICC",
    "Adjusted",
    "ClusterContrasts",
    "ClusteredRates",
    "EffectiveSize",
    "ExactTest",
    "Intervals",
    "MaxT",
    "McNemar",
    "MedianInterval",
    "PairedDifference",
    "Permutation",
    "PermutationInterval",
    "RepeatedLooks",
    "SignFlip",
    "SignFlipInterval",
    "SignTest",
    "adjust",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "bonferroni",
    "cluster_contrasts",
    "cluster_t",
    "clustered_rates",
    "contrast_table",
    "design_effect_from_icc",
    "effective_size",
    "hochberg",
    "holm",
    "max_t",
    "mcnemar",
    "mcnemar_midp",
    "mcnemar_stratified",
    "mcnemar_totals",
    "paired_difference",
    "permutation_interval",
    "permutation_test",
    "permutation_totals",
    "repeated_looks",
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
    "wilson",
    "wilson_clustered",
    "wilson_guarded",
    "wilson_limits",
]
