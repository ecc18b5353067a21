"""Texts in one line."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_PATH = 400
"""Characters up to which a value may be a path."""


def one_line(text: str, most: int) -> str:
    """A text in one line of at most `most` characters. A longer one is cut behind a word and ends with " …"; it may
    have one character more."""
    line = " ".join(text[: 8 * most].split())
    return line if len(line) <= most else cut_at_word(line, most)


def cut_at_word(text: str, most: int) -> str:
    """The beginning of a text that has more than `most` characters, with " …" behind it: cut behind the last word that
    ends within `most` characters, or within a word if that would leave less than half of them. It may have one
    character more."""
    at = max(text.rfind(blank, most // 2, most) for blank in " ,;\n")
    return text[: at if at > 0 else most - 1].rstrip(" ,;\n") + " …"


def values_in_a_line(values: Sequence[str], most: int) -> str:
    """Values in one line, with commas, each in about `most` characters and all of them too. Of a long path the end
    stays, which tells the most."""
    shown: list[str] = []
    for value in values:
        is_path = len(value) <= LONGEST_PATH and "/" in value and len(value.split()) == 1
        line = value if is_path else one_line(value, most)
        while is_path and len(line) > most and "/" in line[2:]:
            line = "…/" + line.removeprefix("…/").split("/", 1)[1].lstrip("/")
        shown.append(line)
    return one_line(", ".join(shown), most)
