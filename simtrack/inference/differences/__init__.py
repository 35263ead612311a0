"""Two rates or means: their difference, ratio or effect size, with an interval."""
