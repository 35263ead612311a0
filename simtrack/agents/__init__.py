"""Agents: one behaviour a file. Expectations exactly, counts by counter-based draws."""

from simtrack.agents.clustered import ClusteredAgent, ClusterLaw, PairedAgent
from simtrack.agents.heterogeneity import (
    beta_parameters,
    design_effect,
    icc_from_design_effect,
    logit_normal_moments,
    logit_normal_parameters,
)

__all__ = [
    "ClusterLaw",
    "ClusteredAgent",
    "PairedAgent",
    "beta_parameters",
    "design_effect",
    "icc_from_design_effect",
    "logit_normal_moments",
    "logit_normal_parameters",
]
