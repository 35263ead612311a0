"""How clusters differ in one node of a stage agent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal

from simtrack.agents.heterogeneity import beta_parameters, logit_normal_mean
from simtrack.errors import InputError
from simtrack.options import choice
from simtrack.validate import real

__all__ = ["NODES", "ClusterEffect", "EffectLaw", "StageNode", "logit_mean"]

#: The nodes a cluster effect can act on. "adherence" is the whole chain at once: the cluster moves
#: CLEAN against everything else, and the mix of failures stays as it is.
StageNode = Literal["speaks", "emits", "well_formed", "right", "adherence", "false_alarm"]
NODES = ("speaks", "emits", "well_formed", "right", "adherence", "false_alarm")
EffectLaw = Literal["logit-normal", "beta"]
_LARGEST_SD = 10.0
#: Logits are kept to this step, so that a last bit of the quadrature that differs from one machine
#: to the next does not show in a draw; the rate moves by less than 2e-12.
_STEP = 2.0**-37


@dataclass(frozen=True, slots=True)
class ClusterEffect:
    """How much do clusters differ in a node, and how much does that differ by condition?

    The agent's tables hold the mean over clusters. With law "logit-normal" the logit of a cluster's
    probability is mean + sd·u + slope_sd·v·[factor = level], with u, v independent standard
    normal, the same u and v in all cells of the cluster; the mean is chosen by quadrature so that
    the table's probability is met exactly. With law "beta" every cell of a cluster has a Beta share
    of its own with this ICC: its counts are Beta-Binomial. Probabilities of 0 and 1 do not vary.

    Parameters
    ----------
    node : one of `NODES`
    sd : float
        On the logit scale, 0 to 10.
    slope_sd : float
        On the logit scale, 0 to 10.
    slope_on : (factor, level), optional
        Where the slope acts; needed where slope_sd > 0.
    law : "logit-normal" or "beta"
    icc : float
        For law "beta": Var(p) / (π (1 - π)), from 0 to below 1.
    own : tuple of str
        Factors whose levels have deviates of their own ("model"); all others share them.
    """

    node: StageNode
    sd: float = 0.0
    slope_sd: float = 0.0
    slope_on: tuple[str, str] | None = None
    law: EffectLaw = "logit-normal"
    icc: float = 0.0
    own: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        choice("node", self.node, StageNode)
        choice("law", self.law, EffectLaw)
        for name, high in (("sd", _LARGEST_SD), ("slope_sd", _LARGEST_SD), ("icc", 0.999)):
            object.__setattr__(self, name, real(name, getattr(self, name), 0.0, high))
        object.__setattr__(self, "own", tuple(self.own))
        if self.slope_on is not None:
            factor, level = self.slope_on
            object.__setattr__(self, "slope_on", (str(factor), str(level)))
        if self.slope_sd > 0.0 and self.slope_on is None:
            raise InputError("slope_on", "given where slope_sd is above 0", None)
        if self.law == "beta" and (self.sd or self.slope_sd):
            raise InputError("sd", "0 with law beta, which takes icc", max(self.sd, self.slope_sd))
        if self.law == "logit-normal" and self.icc:
            raise InputError("icc", "0 with law logit-normal, which takes sd", self.icc)

    def spread(self, labels: dict[str, str]) -> tuple[float, float]:
        """Give the SDs of level and slope in a cell."""
        on = self.slope_on is not None and labels.get(self.slope_on[0]) == self.slope_on[1]
        return self.sd, self.slope_sd if on else 0.0

    def beta(self, rate: float) -> tuple[float, float] | None:
        """Give the Beta parameters for this mean, or None where the node does not vary."""
        if self.law != "beta" or self.icc == 0.0 or rate in (0.0, 1.0):
            return None
        return beta_parameters(rate, self.icc)

    def to_dict(self) -> dict[str, Any]:
        """Give plain data."""
        data = asdict(self)
        data["own"] = list(self.own)
        data["slope_on"] = None if self.slope_on is None else list(self.slope_on)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ClusterEffect:
        """Make the effect that `to_dict` described."""
        more = dict(data)
        if more.get("slope_on") is not None:
            more["slope_on"] = tuple(more["slope_on"])
        return cls(**(more | {"own": tuple(more.get("own", ()))}))


@lru_cache(maxsize=4096)
def logit_mean(rate: float, sd: float) -> float:
    """Which mean on the logit scale gives this rate, for this SD over clusters?

    Parameters
    ----------
    rate : float
        Strictly between 0 and 1.
    sd : float
        From 0.

    Returns
    -------
    float
        A multiple of 2^-37.

    Examples
    --------
    >>> round(logit_mean(0.6967346701, 1.0), 6)
    1.0
    """
    return round(logit_normal_mean(rate, sd) / _STEP) * _STEP
