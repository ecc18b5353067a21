"""Recognises errors that say that a request is longer than the model's context window."""

from transom.overflow.recognise import Overflow, classify

__all__ = ["Overflow", "classify"]
