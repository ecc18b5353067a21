"""Summaries in folds: when one is wanted, and which fold shows it."""
