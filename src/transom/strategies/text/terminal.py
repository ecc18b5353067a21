"""Texts as a terminal shows them."""

from __future__ import annotations

import re

CONTROL = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)?|[@-Z\\-_=>])")
REDRAWN = re.compile(r"^[^\n]*\r(?=[^\n\r])", re.MULTILINE)


def without_controls(text: str) -> str:
    """A text as a terminal shows it: without control codes, and of a line that was drawn again the last one."""
    if "\x1b" in text:
        text = CONTROL.sub("", text)
    return REDRAWN.sub("", text) if "\r" in text else text
