"""Constraints that code can check in a reply: words, numbers, structure, patterns."""
