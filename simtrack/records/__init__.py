"""The trial table and its reductions to counts and sums."""

from simtrack.records.accounting import Account, Accounting, account
from simtrack.records.records import Records
from simtrack.records.reduction import BINARY, is_binary, scored_rows, to_counts, to_sums
from simtrack.records.replies import Replies
from simtrack.records.table import IDENTITY

__all__ = [
    "BINARY",
    "IDENTITY",
    "Account",
    "Accounting",
    "Records",
    "Replies",
    "account",
    "is_binary",
    "scored_rows",
    "to_counts",
    "to_sums",
]
