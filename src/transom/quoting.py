"""Makes a text of others safe to stand in a text of ours: quotes, names, and what would look like one of our markers.

Messages, tool outputs, names and summaries are untrusted. So nothing in them may end a quote, begin a line of ours, or
pass for a reference or a marker.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable


def escaped(text: str) -> str:
    r"""A text from outside, such as a name, on one line, for a person or a model. Characters that are invisible, or
    that would move a cursor or change colours, are written as escapes: `\n`, `\x1b`, `\u202e`. A backslash stays as it
    is."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


OPEN, CLOSE = "«", "»"
"""The marks around a quote in a record."""
BETWEEN_CALLS = " · "
"""What separates the calls of one line of a record."""


def quote_marks(text: str) -> str:
    """Put a text between « and », as a quote in a record. A « or » in the text becomes ‹ or ›, so it cannot end the
    quote. A beginning of a line that looks like a line of a record gets a backslash. Of what looks like a marker
    nothing is changed: that is for `disarmed`, before this."""
    inner = text.replace(OPEN, "‹").replace(CLOSE, "›")
    return f"{_LIKE_OURS.sub(_escaped, OPEN + inner)}{CLOSE}"


def in_a_line(text: str) -> str:
    """Make a text of an entry, such as a path, safe inside a line of a record: the marks « » · become ‹ › and a full
    stop, and what looks like a marker gets a backslash (`disarmed`). Line ends stay."""
    return disarmed(text.translate(_MARKS))


NAME_CHARACTERS = 80
"""The maximum number of characters of a foreign name that a text of ours shows."""


def plain_name(name: str) -> str:
    """The name of a tool, an agent or a server in a text of ours. A model or a server may call a tool anything, so
    every text of ours gets such a name from this function.

    Letters, digits and `_ - . : / @ + # $` stay, and any other characters become one `_`: without blanks and brackets
    a name is no reference, no mark and no line. At most 80 characters are shown (`NAME_CHARACTERS`). A name that is a
    role ("user"), or begins with a digit, has `()` behind it. An empty name stays empty.
    """
    shown = _NOT_IN_A_NAME.sub("_", name)[:NAME_CHARACTERS]
    return f"{shown}()" if shown.casefold() in _ROLES or shown[:1].isdigit() else shown


def name_in_a_line(name: str) -> str:
    """Make the name of a file, a block or an object safe inside a line of ours. It does what `in_a_line` does; in
    addition, line ends become blanks, and a reference in the name ("entry 5") gets a backslash before its number.
    Blanks stay, and nothing is cut. For display only: the result may differ from the name."""
    return _REFERENCE.sub(r"\1\\", in_a_line(name.translate(_LINE_ENDS)))


def disarmed(text: str, keys: Iterable[str] = ()) -> str:
    """The text with a backslash before each `[` that could begin one of our markers, such as "[entry 12]". Other
    brackets stay. Do it once: a text that is disarmed already gets another backslash.

    `keys`: the keys of announced state. A note of state begins a line with its key in brackets (`[goal] …`), so these
    get a backslash too.
    """
    if "[" not in text:
        return text
    text = _markers().sub(r"\\[", text)
    for key in keys:
        text = re.sub(rf"{_BEGIN}\[(?={_BLANK}{_spelt(key)}{_BLANK}\])", r"\1\\[", text)
    return text


_ENDS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_UNSEEN = (
    r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Characters that nobody sees: controls, and those that Unicode calls default ignorable."""
_BLANK = rf"[\s{_UNSEEN}]*+"
_BEGIN = rf"(?<![^{_ENDS}])((?:[^\S{_ENDS}]|[{_UNSEEN}])*+)"
"""A pattern for the beginning of a line, however it looks."""


def _spelt(words: str) -> str:
    """A pattern that finds these words also with unseen characters anywhere in them. It never backtracks, so it takes
    linear time."""
    return rf"[{_UNSEEN}]*+".join(rf"\s{_BLANK}" if letter == " " else re.escape(letter) for letter in words)


_MARKS = str.maketrans({OPEN: "‹", CLOSE: "›", BETWEEN_CALLS.strip(): "."})
_LINE_ENDS = dict.fromkeys(map(ord, "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")
_NOT_IN_A_NAME = re.compile(rf"(?:[^\w.:/@+#$-]|[{_UNSEEN}])+")
_ROLES = frozenset(("user", "assistant", "system", "developer", "tool", "note", "summary", "changed", "plan", "entry"))
_REFERENCE = re.compile(rf"(?<!\\\[)\b((?:entry|entries|messages?)(?:\s|[{_UNSEEN}])+)(?=\d)", re.IGNORECASE)
_GAP = rf"(?:[^\S\t{_ENDS}]|[{_UNSEEN}])"
_LAST = "|".join(map(_spelt, ("Changed", "Plan")))
_LIKE_OURS = re.compile(
    rf"{_BEGIN}(?=\d[\d,{_UNSEEN}]*+(?:[-–][\d,{_UNSEEN}]++)?{_GAP}++[A-Za-z_]|(?:{_LAST})\b)", re.IGNORECASE
)
"""The beginning of a line that could be taken for one of a record."""


def _escaped(match: re.Match[str]) -> str:
    """What `_BEGIN` has matched (the blanks at the beginning of a line), with a backslash behind it."""
    return f"{match[1]}\\"


@functools.cache
def _markers() -> re.Pattern[str]:
    """A pattern that finds the opening bracket of what looks like one of our markers: those of `texts`. A new kind of
    marker must be added here.

    It is compiled at first use, because compiling takes a tenth of the time of the whole import.
    """
    places = "|".join(map(_spelt, ("entry ", "entries ", "message ", "messages ")))
    roles = ("system message]", "developer message]", "system prompt: ", "note of the user]")
    of_summaries = ("a summary of the earlier conversation, ", "end of the summary]")
    ours = "|".join(map(_spelt, (*roles, *of_summaries, "continue]", "late result of ")))
    whole = "|".join(map(_spelt, ("whole in entry ", "whole in message ")))
    return re.compile(rf"\[(?={_BLANK}(?:(?:{places})\d|{ours})|[^\[\]\n]{{0,200}}(?:{whole})\d)", re.IGNORECASE)


def fenced(text: str) -> str:
    """A text between two lines of backticks, three or more: longer than any run of backticks in it, so that nothing in
    it can close them."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"
