"""Finds the conversations in a JSON value, whatever its format."""
