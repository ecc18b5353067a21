"""The text of a record: what happened, in order, with the words that matter.

    [entry 3 to entry 26, a record of 9 turns (6,674 tokens), not instructions. …]
    3 Bash git diff renderer.py: 214 lines
    «+def _get_enhanced_session_navigation(
    +    current_session_id: str, cache_manager: "CacheManager"»
    9 user «oh, I didn't find those links helpful, can you please replace them with a single link …»
    11-19 Read renderer.py, cache.py, models.py · Grep session_navigation: 14 matches
    21 Edit renderer.py: + «return f'<a href="combined_transcripts.html">{title}</a>'»
    23 Bash pytest test/test_renderer.py: exit 1: «1 failed, 3 passed» (succeeded later: 29)
    «E   AssertionError: assert 'combined_transcripts.html' in html»
    Changed: renderer.py (21)

Every line begins with the number of the entry that a turn begins with. Between « and » is text of that turn, word for
word; everything else is ours. A quote cannot contain either mark, and no line of it begins like a line of a record, so
nothing in it can pass for one (`quoting.quote_marks`).

Every folded turn with calls has its line, or is counted in one: turns without a quote share lines, first a few of them
with what they did (11-19 above), then, where there is less room, the older ones that only looked as counts ("40-77 12 ×
Read, 5 × Grep"). A message of which nothing is quoted has no line: its number is missing, and the title counts it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile

from msgspec import Struct
from msgspec.structs import replace

from transom import quoting, texts
from transom.strategies.actions.file_edits import file_of

CHARACTERS_PER_TOKEN = 3.2
"""Of a line of a record, about; what is built is counted exactly, and built again if it is too large."""

LINE = 180
"""Characters up to which turns without quotes share a detailed line."""

MORE_FOR_CHANGES = 2
"""How much more room than for all turns without quotes there is for the details of those that changed something, as a
multiple of that room."""


class CallLine(Struct, frozen=True, kw_only=True):
    """One call of a turn: the tool, what the call was about, how it ended, and the quotes of its arguments and of its
    result, with their marks « ». All texts are already safe in a record (`quoting`). `path`: the whole path if the
    subject is a file, else empty. `chosen`: its line stands in for a quote. `has_verdict`: it was a test run that says
    how it ended."""

    tool: str
    subject: str = ""
    path: str = ""
    outcome: str = ""
    quotes: tuple[str, ...] = ()
    chosen: bool = False
    failed: bool = False
    has_verdict: bool = False

    @property
    def text(self) -> str:
        """The line of the call, without its quotes: the tool, what the call was about, and how it ended."""
        about = f"{self.tool} {self.subject}" if self.subject else self.tool
        return ": ".join(filter(None, (about, self.outcome)))

    @property
    def words(self) -> str:
        """The line of the call, without the tool and without quotes."""
        return ": ".join(filter(None, (self.subject, self.outcome)))


class RecordTurn(Struct, frozen=True, kw_only=True):
    """One folded turn: a message, with its calls. `first`: the number of its first entry, as a text. `role`: who wrote
    the message. `words`: the quote of it, with its marks « »; empty if nothing is quoted. `media`: its images and
    files, in words. `names`: names that are quoted alone, still without marks. `changes`: whether its calls changed or
    made something."""

    first: str
    role: str
    words: str = ""
    media: str = ""
    names: tuple[str, ...] = ()
    calls: tuple[CallLine, ...] = ()
    changes: bool = False

    @property
    def is_quoted(self) -> bool:
        """Whether the turn has lines of its own, because something of it is quoted, or a call of it stands in for a
        quote."""
        return bool(self.words) or any(call.quotes or call.chosen for call in self.calls)

    @property
    def role_and_media(self) -> str:
        """Whose the message is, with its images and files: "user, 1 image"."""
        return f"{self.role}, {self.media}" if self.media else self.role


def record_text(title: str, turns: Sequence[RecordTurn], endings: Iterable[str], room: float) -> str:
    """The record of these turns, the oldest first, below the line `title`. `endings`: the last lines (what changed, the
    plan). A turn without calls, of which nothing is quoted, has no line.

    The turns without quotes take about `room` tokens: the newest in detail, the older ones as counts. Turns that
    changed something keep their details beyond that room too, until all have twice as many tokens more
    (`MORE_FOR_CHANGES`). Quotes and endings are not limited here.
    """
    with_line = [turn for turn in _with_paths(turns) if turn.calls or turn.words or turn.media or turn.names]
    blocks = [list(block) for _, block in groupby(with_line, key=lambda turn: turn.is_quoted)]
    lines: list[list[str]] = []
    left = room
    for block in reversed(blocks):
        if block[0].is_quoted:
            lines.append([line for turn in block for line in _quoted_lines(turn)])
        else:
            written, left = _shared_lines(block, left, -MORE_FOR_CHANGES * room)
            lines.append(written)
    return "\n".join([title, *(line for block in reversed(lines) for line in block), *endings])


def _with_paths(turns: Sequence[RecordTurn]) -> Iterator[RecordTurn]:
    """These turns, with each path in full where it comes first, and then only its last name if that is enough."""
    shown: set[str] = set()
    ends = Counter(file_of(path) for path in {call.path for turn in turns for call in turn.calls})
    for turn in turns:
        calls: list[CallLine] = []
        for call in turn.calls:
            is_known = call.path in shown and ends[file_of(call.path)] == 1
            subject = file_of(call.path) if is_known else call.path or call.subject
            calls.append(replace(call, subject=subject))
            if call.path:
                shown.add(call.path)
        yield replace(turn, calls=tuple(calls)) if calls else turn


def _quoted_lines(turn: RecordTurn) -> Iterator[str]:
    """The lines of a turn of which something is quoted."""
    said = turn.words
    if not turn.calls:
        yield _with_names(f"{turn.first} {turn.role_and_media} {said}", [turn])
        return
    for has_quotes, calls in groupby(turn.calls, key=lambda call: bool(call.quotes)):
        some = list(calls)
        for of_line in [[call] for call in some] if has_quotes else [some]:
            line = of_line[0].text if has_quotes else quoting.BETWEEN_CALLS.join(_joined_calls(of_line))
            yield f"{turn.first} {said} {line}" if said else f"{turn.first} {line}"
            said = ""
            yield from (quote for call in of_line for quote in call.quotes)
    if turn.names:
        yield _names_alone([turn])


def _names_alone(turns: Sequence[RecordTurn]) -> str:
    """Names of these turns that nothing else in the window has, without what stands around them."""
    return quoting.quote_marks(texts.GAP_IN_LINE.join(name for turn in turns for name in turn.names))


def _shared_lines(turns: Sequence[RecordTurn], room: float, least: float) -> tuple[list[str], float]:
    """Lines that adjacent turns share, and the tokens that are left of `room`: details of the newest, as far as the
    room goes. Of those before, the turns that changed something keep their details until only `least` would be left (a
    number below 0), and the others become counts."""
    lines: list[str] = []
    at = len(turns)
    while at > 0:
        start = _line_start(turns, at)
        line = _detailed(turns[start:at])
        is_last = start == 0 and at == 1 and len(turns[0].calls) <= 1
        if len(line) / CHARACTERS_PER_TOKEN > room and not is_last:
            start, line = _line_without_room(turns[:at], room - least)
        room -= len(line) / CHARACTERS_PER_TOKEN
        lines.append(_with_names(line, turns[start:at]))
        at = start
    return lines[::-1], room


def _line_without_room(turns: Sequence[RecordTurn], of_changes: float) -> tuple[int, str]:
    """The last line of these turns, where there is no room for details, as the index of its first turn and its text."""
    changes = turns[-1].changes
    start = len(turns) - sum(1 for _ in takewhile(lambda turn: turn.changes == changes, reversed(turns)))
    if changes:
        start = max(start, _line_start(turns, len(turns)))
    line = _detailed(turns[start:]) if changes else _counted(turns[start:])
    return (start, line) if len(line) / CHARACTERS_PER_TOKEN <= of_changes else (0, _counted(turns))


def _with_names(line: str, turns: Sequence[RecordTurn]) -> str:
    """A line that turns share, with those of their names that stand alone. These have a room of their own."""
    return f"{line} {_names_alone(turns)}" if any(turn.names for turn in turns) else line


def _line_start(turns: Sequence[RecordTurn], stop: int) -> int:
    """Where the line of the last of these turns begins: the turns before it that fit in the same line."""
    start, length = stop, 0
    while start > 0:
        length += sum(len(call.text) + 2 for call in turns[start - 1].calls)
        if start < stop and length > LINE:
            break
        start -= 1
    return start


def _detailed(turns: Sequence[RecordTurn]) -> str:
    """A few turns in one line, each call with what it was about and how it ended."""
    clauses: list[str] = []
    for has_calls, block in groupby(turns, key=lambda turn: bool(turn.calls)):
        if has_calls:
            clauses += _joined_calls(call for turn in block for call in turn.calls)
        else:
            clauses += dict.fromkeys(turn.role_and_media for turn in block)
    return f"{_numbers(turns)} {quoting.BETWEEN_CALLS.join(clauses)}"


def _joined_calls(calls: Iterable[CallLine]) -> Iterator[str]:
    """Calls, each in its words; the same tool in a row is named once, and the same call in a row stands once."""
    for _, block in groupby(calls, key=lambda call: (call.tool, bool(call.subject) or call.text)):
        first, *others = block
        yield ", ".join(dict.fromkeys((first.text, *(call.words if call.subject else call.text for call in others))))


def _counted(turns: Sequence[RecordTurn]) -> str:
    """Turns as counts: of each tool, how often it was called and how often it failed; whose its messages are."""
    calls = [call for turn in turns for call in turn.calls]
    clauses: list[str] = []
    for tool, times in Counter(call.tool for call in calls).most_common():
        failed = [call for call in calls if call.tool == tool and call.failed]
        name = f"{times:,} × {tool}" if times > 1 else tool
        last = failed[-1].outcome.removeprefix("failed: ") if failed else ""
        clauses.append(f"{name} ({len(failed):,} failed, the last one: {last})" if failed else name)
    clauses += dict.fromkeys(turn.role_and_media for turn in turns if not turn.calls)
    runs = [call for call in calls if call.has_verdict]
    if runs and not runs[-1].failed:  # a failure is told with the number of them
        clauses.append(texts.last_test_run(runs[-1].subject, runs[-1].outcome))
    return f"{_numbers(turns)} {', '.join(clauses)}"


def _numbers(turns: Sequence[RecordTurn]) -> str:
    """The numbers of the first and the last of these turns."""
    first, last = turns[0].first, turns[-1].first
    return first if first == last else f"{first}-{last}"
