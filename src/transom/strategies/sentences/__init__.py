"""Sentences of users and models: how much each matters, and which a later one has replaced."""
