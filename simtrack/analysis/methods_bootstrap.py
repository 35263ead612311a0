"""The catalogue's entries for the cluster bootstrap."""

from __future__ import annotations

from simtrack.analysis.method import Method

__all__ = ["BOOTSTRAP_METHODS"]

_IN = "simtrack.inference"

BOOTSTRAP_METHODS: tuple[Method, ...] = (
    Method(
        "bootstrap-percentile", "rate", f"{_IN}.resampling.bootstrap:percentile_rates",
        "Twenty clusters or more, rates away from 0 and 1; the law itself is exact.",
        "Few clusters or rates near 0 or 1 (it covers too little); all clusters alike (refused).",
        "convolution", "asymptotic", "Efron & Tibshirani 1993, section 13.3",
    ),
    Method(
        "bootstrap-basic", "rate", f"{_IN}.resampling.bootstrap:basic_rates",
        "As bootstrap-percentile, where the estimate's error has the same law at every rate.",
        "Rates near 0 or 1: skewness is mirrored to the wrong side; all clusters alike (refused).",
        "convolution", "asymptotic", "Davison & Hinkley 1997, eq. 5.6",
    ),
    Method(
        "bootstrap-bca", "rate", f"{_IN}.resampling.bootstrap:bca_rates",
        "As bootstrap-percentile, with skewed clusters: second-order correct.",
        "Few clusters: acceleration is ill known; all clusters alike (refused).",
        "convolution", "asymptotic", "Efron 1987, JASA 82, 171-185",
    ),
    Method(
        "bootstrap-studentized", "rate", f"{_IN}.resampling.bootstrap:studentized_rates",
        "As bootstrap-percentile, for scores whose spread differs from resample to resample.",
        "Resamples without spread (infinite t); more than 12 unlike clusters are drawn at random.",
        "enumeration", "asymptotic", "Davison & Hinkley 1997, eq. 2.43",
    ),
    Method(
        "bootstrap-difference", "difference", f"{_IN}.resampling.bootstrap:bootstrap",
        "Differences or ratios of two arms, paired within clusters or (groups=) independent.",
        "Few clusters (it covers too little); clusters crossed with another sample (refused).",
        "enumeration", "asymptotic", "Efron & Tibshirani 1993, chapters 8 and 13",
    ),
    Method(
        "bootstrap-contrast", "contrast", f"{_IN}.resampling.bootstrap:bootstrap",
        "Equal-weight means over models, factorial effects, any weighted sum of ratios.",
        "More than 12 clusters with unequal denominators are drawn at random (errors stated).",
        "convolution", "asymptotic", "Efron & Tibshirani 1993, chapter 13",
    ),
)  # fmt: skip
