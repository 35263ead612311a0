"""Tests whose null law is enumerated, the intervals they invert to, and families of tests."""
