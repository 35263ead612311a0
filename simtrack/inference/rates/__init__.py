"""One rate or one mean, with an interval that respects clusters."""
