"""Folding whole turns: left out, into a record, and at the last resort."""
