"""Termination gates, replayed on archived sessions."""
