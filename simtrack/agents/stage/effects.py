"""How clusters differ in one node of a stage agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simtrack.agents.heterogeneity import beta_parameters
from simtrack.errors import InputError
from simtrack.options import choice
from simtrack.plain import Document
from simtrack.validate import real

__all__ = ["NODES", "ClusterEffect", "EffectLaw", "StageNode"]

#: The nodes a cluster effect can act on. "adherence" is the whole chain at once: the cluster moves
#: CLEAN against everything else, and the mix of failures stays as it is.
StageNode = Literal["speaks", "emits", "well_formed", "right", "adherence", "false_alarm"]
NODES = ("speaks", "emits", "well_formed", "right", "adherence", "false_alarm")
EffectLaw = Literal["logit-normal", "beta"]
_LARGEST_SD = 10.0


@dataclass(frozen=True, slots=True)
class ClusterEffect(Document):
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
