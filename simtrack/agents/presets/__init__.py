"""Agents at published operating points, with the source of every number."""
