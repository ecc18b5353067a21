"""Writes an export: the messages of a log, as lines of a session or as one document."""
