"""Statements that stay valid however often one looks."""
