"""The waist of simtrack: labelled counts by cluster, and the totals that inference takes."""

from simtrack.counts.batch import CountsBatch
from simtrack.counts.counts import Counts
from simtrack.counts.factor import MISSING, NO_LABEL, Factor, natural_order
from simtrack.counts.losses import Loss, Losses
from simtrack.counts.sums import Sums, spread
from simtrack.counts.tally import UNPOOLABLE, Grouping, group_rows
from simtrack.counts.totals import Totals

__all__ = [
    "MISSING",
    "NO_LABEL",
    "UNPOOLABLE",
    "Counts",
    "CountsBatch",
    "Factor",
    "Grouping",
    "Loss",
    "Losses",
    "Sums",
    "Totals",
    "group_rows",
    "natural_order",
    "spread",
]
