"""Removes what a terminal would not show: control codes, and lines that were drawn again."""

from __future__ import annotations

import re

CONTROL = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)?|[@-Z\\-_=>])")
REDRAWN = re.compile(r"^[^\n]*\r(?=[^\n\r])", re.MULTILINE)


def without_controls(text: str) -> str:
    """A text as a terminal shows it: without control codes; of a line that was drawn several times (with a carriage
    return), only what was drawn last."""
    if "\x1b" in text:
        text = CONTROL.sub("", text)
    return REDRAWN.sub("", text) if "\r" in text else text
