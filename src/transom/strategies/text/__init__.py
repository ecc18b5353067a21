"""Texts: names and words in them, shortened forms, and stubs of tool results."""
