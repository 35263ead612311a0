"""Relapses to a withdrawn clause."""
