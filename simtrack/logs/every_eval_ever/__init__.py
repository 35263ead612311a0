"""every_eval_ever: aggregate JSON and instance-level JSON lines of the shared schema."""

from simtrack.logs.every_eval_ever.aggregate import read_aggregate
from simtrack.logs.every_eval_ever.instances import read_instances

__all__ = ["read_aggregate", "read_instances"]
