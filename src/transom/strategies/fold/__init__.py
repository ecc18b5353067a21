"""Folding whole turns: left out, into a record, into key messages, and at the last resort."""
