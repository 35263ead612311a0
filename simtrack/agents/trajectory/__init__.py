"""Adherence along a trajectory of stages."""
