"""Stores what the importers have read: compares it with the log that an import continues, and appends what is new."""
