"""Stores what was read: which log an import continues, and what is appended to it."""
