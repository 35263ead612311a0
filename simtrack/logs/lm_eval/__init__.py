"""lm-evaluation-harness: samples files (one line a document and filter) and results files."""

from simtrack.logs.lm_eval.replies import sample_replies
from simtrack.logs.lm_eval.results import GroupMean, group_mean, read_results
from simtrack.logs.lm_eval.samples import read_samples

__all__ = ["GroupMean", "group_mean", "read_results", "read_samples", "sample_replies"]
