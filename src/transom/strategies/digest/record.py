"""The text of a digest: a record of what happened, in order, with the words that matter.

    [entry 3 to entry 26, a record of 9 turns (6,674 tokens), not instructions. …]
    3 Bash git diff renderer.py: 214 lines (changed since: 21)
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
nothing in it can pass for one (`texts.quote_marks`).

Every folded turn has its line, or is counted in one: turns without a quote share lines, first a few of them with what
they did (11-19 above), then, where there is less room, the older ones as counts ("40-77 12 × Read under src/, 5 ×
Grep").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile

from msgspec import Struct
from msgspec.structs import replace

from transom import texts

CHARACTERS_PER_TOKEN = 3.2
"""Of a line of a record, about; what is built is counted exactly, and built again if it is too large."""

SHORT = 30
"""Characters of a subject that a count of one has room for."""

LONG = 100
"""Tokens of a message from which its line says how long it is."""

EARLIER = "earlier turns"
"""In place of a role: turns of which only the number is known."""

EDITED = 96
"""Characters of the names of edited files in a count of edits: about 30 tokens."""

DEEDS = 4
"""How many commits and the like a line of counts names: the last ones."""

LINE = 180
"""Characters up to which turns without quotes share a detailed line."""


class CallLine(Struct, frozen=True, kw_only=True):
    """One call of a turn: the tool, what the call was about, how it ended, and what is quoted of its arguments and of
    its result. `path`: the file in full, where the subject is one. `chosen`: its line stands in for a quote. `changed`:
    the entries that changed what the result shows. `tested`: it was a test run that says how it ended. `deed`: what it
    did that lasts, such as a commit. `files`: those that an edit changed."""

    tool: str
    subject: str = ""
    path: str = ""
    outcome: str = ""
    quotes: tuple[str, ...] = ()
    chosen: bool = False
    failed: bool = False
    tested: bool = False
    changed: tuple[str, ...] = ()
    deed: str = ""
    files: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The line of the call, without its quotes."""
        return self.named(self.subject) + texts.changed_since(self.changed)

    def named(self, subject: str) -> str:
        """The call with its subject in other words."""
        about = f"{self.tool} {subject}" if subject else self.tool
        return f"{about}: {self.outcome}" if self.outcome else about


class RecordTurn(Struct, frozen=True, kw_only=True):
    """One folded turn: a message, with its calls. `first`, `last`: the numbers of its first and last entry. `role`:
    whose it is. `words`: what is quoted of its message. `names`: those of its names that stand alone. `tokens`: of all
    of it.

    A turn without calls or quotes may stand for several (`count`).
    """

    first: str
    last: str
    role: str
    tokens: int = 0
    words: str = ""
    names: tuple[str, ...] = ()
    calls: tuple[CallLine, ...] = ()
    count: int = 1

    @property
    def is_quoted(self) -> bool:
        """Whether it has lines of its own, since something of it is quoted or a call of it stands in for a quote."""
        return bool(self.words) or any(call.quotes or call.chosen for call in self.calls)


def record_text(title: str, turns: Sequence[RecordTurn], endings: Iterable[str], room: float) -> str:
    """The record of these turns, in order, below its title. `endings`: the last lines (what changed, the plan). The
    turns without quotes take about `room` tokens: the newest in detail, the older ones as counts."""
    blocks = [list(block) for _, block in groupby(_with_paths(turns), key=lambda turn: turn.is_quoted)]
    lines: list[list[str]] = []
    left = room
    for block in reversed(blocks):
        if block[0].is_quoted:
            lines.append([line for turn in block for line in _quoted_lines(turn)])
        else:
            written, left = _shared_lines(block, left)
            lines.append(written)
    return "\n".join([title, *(line for block in reversed(lines) for line in block), *endings])


def _with_paths(turns: Sequence[RecordTurn]) -> Iterator[RecordTurn]:
    """These turns, with each path in full where it comes first, and then only with as much of its end as tells it from
    the other paths."""
    shown: set[str] = set()
    ends = Counter(_last_part(path) for path in {call.path for turn in turns for call in turn.calls})
    for turn in turns:
        calls: list[CallLine] = []
        for call in turn.calls:
            is_known = call.path in shown and ends[_last_part(call.path)] == 1
            subject = _last_part(call.path) if is_known else call.path or call.subject
            calls.append(replace(call, subject=subject))
            if call.path:
                shown.add(call.path)
        yield replace(turn, calls=tuple(calls)) if calls else turn


def _quoted_lines(turn: RecordTurn) -> Iterator[str]:
    """The lines of a turn of which something is quoted. Each of its calls with a quote has its own; the first call
    stands behind what was said beside it."""
    said = texts.quote_marks(turn.words) if turn.words else ""
    if not turn.calls:
        yield _with_names(f"{turn.first} {turn.role} {said}", [turn])
        return
    for has_quotes, calls in groupby(turn.calls, key=lambda call: bool(call.quotes)):
        some = list(calls)
        for of_line in [[call] for call in some] if has_quotes else [some]:
            line = of_line[0].text if has_quotes else texts.BETWEEN_CALLS.join(_joined_calls(of_line))
            yield f"{turn.first} {said} {line}" if said else f"{turn.first} {line}"
            said = ""
            yield from (texts.quote_marks(quote) for call in of_line for quote in call.quotes)
    if turn.names:
        yield _names_alone([turn])


def _names_alone(turns: Sequence[RecordTurn]) -> str:
    """Names of these turns that nothing else in the window has, without what stands around them."""
    return texts.quote_marks(texts.gap_in_line().join(name for turn in turns for name in turn.names))


def _shared_lines(turns: Sequence[RecordTurn], room: float) -> tuple[list[str], float]:
    """Lines that adjacent turns share, and the tokens that are left of `room`: details of the newest, as far as the
    room goes, and one line of counts for those before."""
    detailed: list[str] = []
    at = len(turns)
    while at > 0:
        start = _line_start(turns, at)
        line = _detailed(turns[start:at])
        cost = len(line) / CHARACTERS_PER_TOKEN
        if cost > room and (start > 0 or len(turns[start].calls) > 1 or at - start > 1):
            break
        room -= cost
        detailed.append(_with_names(line, turns[start:at]))
        at = start
    if at > 0:
        counts = _counted(turns[:at])
        room -= len(counts) / CHARACTERS_PER_TOKEN
        detailed.append(_with_names(counts, turns[:at]))
    return detailed[::-1], room


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
            clauses += _joined_calls([call for turn in block for call in turn.calls])
        else:
            clauses += _messages(list(block))
    return f"{_numbers(turns)} {texts.BETWEEN_CALLS.join(clauses)}"


def _joined_calls(calls: Sequence[CallLine]) -> Iterator[str]:
    """Calls, each in its words; the same tool in a row is named once, and a folder that the paths share too."""
    before: CallLine | None = None
    shown = ""
    for call in calls:
        if before is not None and call.text == before.text == call.tool:
            continue  # the same tool again, with nothing to say
        if before is not None and call.tool == before.tool and call.subject and before.subject:
            subject = in_same_folder(call.subject, before.subject)
            ending = f": {call.outcome}" if call.outcome else ""
            shown += f", {subject}{ending}{texts.changed_since(call.changed)}"
        else:
            if shown:
                yield shown
            shown = call.text
        before = call
    if shown:
        yield shown


def in_same_folder(path: str, before: str) -> str:
    """A path; only its last part if it is in the same folder as the one before."""
    folder, slash, name = path.rpartition("/")
    return name if slash and " " not in path and before.rpartition("/")[0] == folder else path


def _messages(turns: Sequence[RecordTurn]) -> Iterator[str]:
    """Turns without calls of which nothing is quoted: whose a single one is, how many several are."""
    for is_earlier, block in groupby(turns, key=lambda turn: turn.role == EARLIER):
        some = list(block)
        count = sum(turn.count for turn in some)
        if is_earlier:
            yield f"{count:,} {EARLIER}" if count > 1 else "1 earlier turn"
        elif count > 1:
            yield f"{count:,} messages"
        else:
            yield f"{some[0].role} ({some[0].tokens:,} tokens)" if some[0].tokens >= LONG else some[0].role


def _counted(turns: Sequence[RecordTurn]) -> str:
    """Turns as counts: of each tool, how often it was called and how often it failed; of messages, whose."""
    tools = Counter(call.tool for turn in turns for call in turn.calls)
    failed = Counter(call.tool for turn in turns for call in turn.calls if call.failed)
    clauses: list[str] = []
    for tool, times in tools.most_common():
        subjects = [call.path or call.subject for turn in turns for call in turn.calls if call.tool == tool]
        more = f" ({failed[tool]:,} {_last_failure(turns, tool)})" if failed[tool] else ""
        if times == 1:
            name = _last_part(subjects[0])
            clauses.append(f"{tool} {name}{more}" if 0 < len(name) <= SHORT else f"{tool}{more}")
        else:
            calls = [call for turn in turns for call in turn.calls if call.tool == tool]
            clauses.append(f"{times:,} × {tool}{_edited(calls) or _under(subjects)}{more}")
    if messages := [turn for turn in turns if not turn.calls]:
        clauses += _messages(messages)
    clauses += [call.deed for turn in turns for call in turn.calls if call.deed and not call.failed][-DEEDS:]
    clauses += _last_test_run(turns)
    return f"{_numbers(turns)} {', '.join(clauses)}"


def _edited(calls: Sequence[CallLine]) -> str:
    """The files that these calls edited, the one that was edited most first, each with how often; as far as there is
    room."""
    times = Counter(_last_part(name) for call in calls if not call.failed for name in call.files)
    shown: list[str] = []
    for name, often in times.most_common():
        one = f"{name} ×{often}" if often > 1 and len(times) > 1 else name
        if len(", ".join([*shown, one])) > EDITED:
            shown.append(f"{len(times) - len(shown):,} more")
            break
        shown.append(one)
    return f" ({', '.join(shown)})" if shown else ""


def _last_test_run(turns: Sequence[RecordTurn]) -> list[str]:
    """How the last test run of these turns ended, if it did not fail; a failure is told with the number of them."""
    runs = [call for turn in turns for call in turn.calls if call.tested]
    if not runs or runs[-1].failed:
        return []
    return [texts.last_test_run(runs[-1].subject, runs[-1].outcome)]


def _last_failure(turns: Sequence[RecordTurn], tool: str) -> str:
    """How the last failed call of a tool ended."""
    calls = [call for turn in turns for call in turn.calls if call.tool == tool and call.failed]
    return f"failed, the last one: {calls[-1].outcome.removeprefix('failed: ')}"


def _last_part(path: str) -> str:
    """The file of a path; another subject as it is."""
    return path if " " in path else path.rpartition("/")[2]


def _under(paths: Sequence[str]) -> str:
    """The folder that all of these paths share, if any."""
    if len(paths) < 2 or any(" " in path or "/" not in path for path in paths):
        return ""
    low, high = min(paths), max(paths)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False)))
    folder = low[:shared].rpartition("/")[0]
    return f" under {folder}/" if folder.strip("./~…") else ""


def _numbers(turns: Sequence[RecordTurn]) -> str:
    """The numbers of the first and the last of these turns; those that stand for several may reach furthest."""
    first = turns[0].first
    last = max((turn.first if turn.count == 1 else turn.last for turn in turns), key=int)
    return first if first == last else f"{first}-{last}"
