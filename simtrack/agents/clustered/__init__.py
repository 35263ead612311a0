"""Rates that vary by cluster, for one arm or a pair, and their fits to pilots."""
