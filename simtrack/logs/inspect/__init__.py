"""Inspect logs: `.eval` archives and `.json` files, finished or not."""

from simtrack.logs.inspect.replies import JsonReplyLog, ReplySample, to_replies
from simtrack.logs.inspect.source import InspectLog, open_archive, open_object
from simtrack.logs.inspect.table import to_records
from simtrack.logs.inspect.written import inspect_text

__all__ = [
    "InspectLog",
    "JsonReplyLog",
    "ReplySample",
    "inspect_text",
    "open_archive",
    "open_object",
    "to_records",
    "to_replies",
]
