"""Frozen studies: find, run, store, and say where a result comes from."""
