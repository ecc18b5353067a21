"""Shortening parts of turns: which parts, and what is left of them."""
