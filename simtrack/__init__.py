"""simtrack: calibrate, rehearse, score and publish evaluations of LLMs and agents, exact first.

Names are imported when they are first used, so that `import simtrack` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from simtrack._version import __version__

if TYPE_CHECKING:
    from simtrack import agents as agents
    from simtrack import estimands as estimands
    from simtrack import power as power
    from simtrack.analysis import analyses as analyses
    from simtrack.analysis.compare import compare as compare
    from simtrack.analysis.estimate import estimate as estimate
    from simtrack.counts import Counts as Counts
    from simtrack.counts import Factor as Factor
    from simtrack.counts import Losses as Losses
    from simtrack.counts import Sums as Sums
    from simtrack.counts import Totals as Totals
    from simtrack.design import Design as Design
    from simtrack.estimands import Contrast as Contrast
    from simtrack.estimands import Estimand as Estimand
    from simtrack.logs import read_log as read_log
    from simtrack.logs import read_logs as read_logs
    from simtrack.power import plan as plan
    from simtrack.price import Price as Price
    from simtrack.probe import Beta as Beta
    from simtrack.probe import StoppingRule as StoppingRule
    from simtrack.records import Records as Records
    from simtrack.records import account as account

_HOMES = {
    "Beta": "probe",
    "Contrast": "estimands",
    "Counts": "counts",
    "Design": "design",
    "Estimand": "estimands",
    "Factor": "counts",
    "Losses": "counts",
    "Price": "price",
    "Records": "records",
    "StoppingRule": "probe",
    "Sums": "counts",
    "Totals": "counts",
    "account": "records",
    "agents": "",
    "analyses": "analysis",
    "compare": "analysis",
    "estimands": "",
    "estimate": "analysis",
    "plan": "power",
    "power": "",
    "read_log": "logs",
    "read_logs": "logs",
}

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'simtrack' has no attribute {name!r}")
    home = _HOMES[name]
    if not home:
        return import_module(f"simtrack.{name}")
    return getattr(import_module(f"simtrack.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
