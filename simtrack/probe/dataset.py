"""Operating characteristics as a labelled xarray Dataset."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np

from simtrack.probe.oc import LEVELS, Characteristics
from simtrack.probe.states import STATES

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["to_dataset"]

#: Name, leading dimensions, unit and meaning of each variable.
VARIABLES: Final = (
    ("probability", ("state",), "1", "probability of each state at the stop"),
    (
        "rounds_probability",
        ("rounds",),
        "1",
        "probability of exactly so many rounds",
    ),
    ("probability_confident", (), "1", "probability that both sides are decided at the stop"),
    ("expected_rounds", (), "rounds", "mean number of paired draws"),
    ("sd_rounds", (), "rounds", "standard deviation of the number of paired draws"),
    ("bias_full", (), "1", "mean of i/k at the stop less the true full pass rate (A)"),
    ("bias_ablated", (), "1", "mean of j/k at the stop less the true ablated pass rate"),
    ("bias_effect", (), "1", "mean of (i - j)/k at the stop less the true effect (B)"),
    ("rmse_effect", (), "1", "root mean squared error of (i - j)/k"),
    ("unbiased_full", (), "1", "mean of the unbiased estimate of the full pass rate"),
    ("unbiased_ablated", (), "1", "mean of the unbiased estimate of the ablated pass rate"),
    ("rmse_effect_unbiased", (), "1", "root mean squared error of the unbiased effect"),
)


def to_dataset(found: Characteristics) -> xr.Dataset:
    """Which labelled Dataset holds these characteristics?

    Parameters
    ----------
    found : Characteristics

    Returns
    -------
    xarray.Dataset
        Dimensions full and ablated (or point, with both rates as coordinates), state, rounds and
        quantile. Attributes: schema, rule (JSON), computation, guarantee. No value is missing.

    Examples
    --------
    >>> from simtrack.probe import StoppingRule
    >>> data = StoppingRule().operating_characteristics(["0.9"], ["0.1", "0.5"])
    >>> round(float(data.probability.sel(state="adopted", full=0.9, ablated=0.1)), 9)
    0.802804153
    """
    import xarray as xr

    truth = ("point",) if found.paired else ("full", "ablated")
    variables: dict[str, tuple[tuple[str, ...], object, dict[str, str]]] = {
        name: ((*lead, *truth), getattr(found, name), {"units": unit, "long_name": meaning})
        for name, lead, unit, meaning in VARIABLES
    }
    about = {"units": "rounds", "long_name": "rounds within which the probe stops so often"}
    variables["rounds_quantile"] = (("quantile", *truth), found.rounds_quantile(), about)
    rates = {
        "full": [float(value) for value in found.full],
        "ablated": [float(value) for value in found.ablated],
    }
    labels = {name: ("point" if found.paired else name, rates[name]) for name in rates}
    return xr.Dataset(
        variables,
        coords={
            **labels,
            "state": list(STATES),
            "rounds": np.arange(found.rule.k_max + 1),
            "quantile": list(LEVELS),
        },
        attrs={
            "schema": "simtrack.operating-characteristics/1",
            "rule": json.dumps(found.rule.to_dict()),
            "computation": found.computation,
            "guarantee": found.guarantee,
        },
    )
