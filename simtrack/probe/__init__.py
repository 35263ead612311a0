"""The sequential ablation probe: a stopping rule, calibrated exactly beforehand."""

from __future__ import annotations

from simtrack.probe.calibration import Calibration, calibrate
from simtrack.probe.oc import Characteristics, characteristics
from simtrack.probe.parameters import Beta
from simtrack.probe.rule import StoppingRule
from simtrack.probe.states import STATES

__all__ = [
    "STATES",
    "Beta",
    "Calibration",
    "Characteristics",
    "StoppingRule",
    "calibrate",
    "characteristics",
]
