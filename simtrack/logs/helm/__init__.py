"""HELM: per_instance_stats.json, with run_spec.json beside it."""

from simtrack.logs.helm.table import read_run

__all__ = ["read_run"]
