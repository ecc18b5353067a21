"""Cuts texts to one line of a given length."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_PATH = 400
"""Characters up to which a value may be a path."""


def one_line(text: str, most: int) -> str:
    """A text in one line of at most `most` characters, with one blank in place of all blanks and line ends in a row. A
    longer text is cut behind a word and ends with " …"; it may have one character more. Only the first 8 × `most`
    characters are read."""
    line = " ".join(text[: 8 * most].split())
    return line if len(line) <= most else cut_at_word(line, most)


def cut_at_word(text: str, most: int) -> str:
    """The beginning of a text that has more than `most` characters, with " …" behind it: cut behind the last word that
    ends within `most` characters, or within a word if less than half of these characters would stay otherwise. The
    result may have one character more than `most`."""
    at = max(text.rfind(blank, most // 2, most) for blank in " ,;\n")
    return text[: at if at > 0 else most - 1].rstrip(" ,;\n") + " …"


def values_in_a_line(values: Sequence[str], most: int) -> str:
    """Values in one line, with commas between them, cut to `most` characters as by `one_line`. Each value is cut to as
    many before that; of a path the folders at its beginning are left out, because its end tells the most."""
    shown: list[str] = []
    for value in values:
        is_path = len(value) <= LONGEST_PATH and "/" in value and len(value.split()) == 1
        line = value if is_path else one_line(value, most)
        while is_path and len(line) > most and "/" in line[2:]:
            line = "…/" + line.removeprefix("…/").split("/", 1)[1].lstrip("/")
        shown.append(line)
    return one_line(", ".join(shown), most)
