"""Adherence by stage, and its fit to pilots."""
