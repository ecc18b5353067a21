"""Summaries of old turns: who makes them, what they are asked, and what is kept of the answer."""
