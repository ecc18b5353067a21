"""Recognises errors that say that a request is longer than the model's context window."""

from transom.overflow.classify import Overflow, classify

__all__ = ["Overflow", "classify"]
