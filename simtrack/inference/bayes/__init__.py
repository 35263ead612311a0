"""Posteriors by quadrature and Bayes factors."""
