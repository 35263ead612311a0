"""openai/evals: a record of events, one JSON object a line."""

from simtrack.logs.openai_evals.table import read_events

__all__ = ["read_events"]
