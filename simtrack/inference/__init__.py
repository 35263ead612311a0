"""One statistical method a file: totals or plain arrays in, frozen results out."""

from simtrack.inference.cluster_t import cluster_t
from simtrack.inference.clustered import ClusteredRates, clustered_rates, design_effect_from_icc
from simtrack.inference.effective import ASSUMED_ICC, EffectiveSize, effective_size
from simtrack.inference.intervals import Intervals
from simtrack.inference.paired import PairedDifference, paired_difference
from simtrack.inference.signflip import SignFlip, sign_flip
from simtrack.inference.signflip_interval import SignFlipInterval, sign_flip_interval
from simtrack.inference.wilson import wilson, wilson_clustered, wilson_limits

__all__ = [
    "ASSUMED_ICC",
    "ClusteredRates",
    "EffectiveSize",
    "Intervals",
    "PairedDifference",
    "SignFlip",
    "SignFlipInterval",
    "cluster_t",
    "clustered_rates",
    "design_effect_from_icc",
    "effective_size",
    "paired_difference",
    "sign_flip",
    "sign_flip_interval",
    "wilson",
    "wilson_clustered",
    "wilson_limits",
]
