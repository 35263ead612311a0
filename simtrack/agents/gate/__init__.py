"""Sessions that a gate may stop."""
