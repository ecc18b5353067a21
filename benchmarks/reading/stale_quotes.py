"""Finds stale quotes: quotes of a file or record that a later call changed; and whether the window says that it
changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from transom.core.message import Assistant, Call, ToolResult
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.record.passages import arguments
from transom.strategies.text.stubs import ending, tool_words

from .record_lines import Quote, Record

CHANGING = frozenset(
    (
        *("write", "edit", "update", "set", "create", "delete", "remove", "cancel", "move", "rename", "replace"),
        *("patch", "insert", "modify", "return", "exchange", "book", "add", "append", "apply", "save", "submit"),
        *("reset", "toggle", "enable", "disable", "refund", "suspend", "resume", "put", "post"),
    )
)
"""Words in the names of tools that change the file or record they are called with."""

SHELLS = frozenset(("bash", "shell", "exec", "terminal", "command"))
PATH_KEYS = frozenset(
    ("file_path", "path", "filename", "file_name", "file", "target_file", "notebook_path", "filepath", "old_path")
)
_ID = re.compile(r"(?=[^\s]*\d)[A-Za-z0-9#_@./-]{4,64}\Z")
_ID_KEY = re.compile(r"(?:^|_)(?:id|ids|number|key|name|email|code)\Z")
_PATH = re.compile(r"(?<![\w./~$-])(?:~|\.{1,2})?/?[\w@.-]+(?:/[\w@.-]+)*\.[A-Za-z]\w{0,7}(?![\w/])")
_COMMAND_END = re.compile(r"&&|\|\|?|[;&\n]")
_PIPELINE_END = re.compile(r"&&|\|\||[;&\n]")
_READS = re.compile(r"\s*(?:cat|head|tail|nl|bat|less|sed -n|grep|rg|awk|git (?:diff|show))\b(?!\s*[<>])")
_WRITES = re.compile(r"(?:^|[;&|]\s*)(?:sed -i|perl -p?i|mv|rm|touch|git (?:checkout|restore|mv|rm)) ")
_INTO = re.compile(r"(?:>>?|\btee(?: -a)?)\s*([^\s>&;|]+)")
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (\S[^\n]*)", re.MULTILINE)
_CHANGED_LINE = "Changed: "
_HUNK = re.compile(r"^@@[^\n]*\n", re.MULTILINE)
_LINE_NUMBER = re.compile(r"^\s*\d+(?:[→:\t-]|  +|$)", re.MULTILINE)
_BLANK = re.compile(r"\s+")
_OLD = frozenset(("old_string", "old_str", "oldText", "old_text", "oldString"))
_NEW = frozenset(("new_string", "new_str", "newText", "new_text", "newString"))
_SHORT = 12
"""Characters, blanks aside, up to which the end of one text and the beginning of another may be alike by chance."""
_NUMBERS = re.compile(r"\(([^()]*)\)")


class Touched(Struct, frozen=True):
    """The files (by path) and records (by id) that a call reads, and those that it changes.

    `replaced`: what an edit puts in place of what, without blanks; empty if the call does not say.
    """

    reads: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    replaced: tuple[tuple[str, str], ...] = ()


class StaleQuote(Struct, frozen=True):
    """A quote of a tool result that is out of date: a later call changed the file or record that the result showed.

    `quote`: the quote in the record. `changed_by`: the first entries of the turns whose calls changed it, in order.
    `marked`: the window tells the model so: in the record's list of changes, or
    because a changing turn is whole in the window.
    """

    quote: Quote
    changed_by: tuple[int, ...]
    marked: bool


def touched(call: Call) -> Touched:
    """Guess what one call reads and changes, from the tool's name, its arguments, or a shell command in them."""
    words, values = tool_words(call.name), list(arguments(call))
    if "*** " in call.args and (patched := _PATCHED.findall("\n".join(value for _, value in values))):
        return Touched(frozenset(patched), frozenset(patched), tuple(_hunks("\n".join(value for _, value in values))))
    if "stdin" in words:
        return Touched()  # what is typed into a running command; its session is no record
    if words & SHELLS:
        return _of_command("\n".join(value for key, value in values if key not in {"workdir", "cwd", "description"}))
    paths = frozenset(value for key, value in values if key in PATH_KEYS and value.strip())
    ids = frozenset(value for key, value in values if _ID.match(value) and _ID_KEY.search(key))
    about = paths or ids
    if not words & CHANGING:
        return Touched(about)
    old, new = ([_squeezed(value) for key, value in values if key in keys] for keys in (_OLD, _NEW))
    return Touched(about, about, tuple(zip(old, new, strict=True)) if len(old) == len(new) else ())


def _hunks(patch: str) -> Iterator[tuple[str, str]]:
    """Yield the two sides of each hunk of a patch; nothing if it also adds or deletes files."""
    if "*** Add File" in patch or "*** Delete File" in patch:
        return
    for hunk in _HUNK.split(patch)[1:]:
        lines = [line for line in hunk.splitlines() if not line.startswith("*** ")]
        old, new = ("\n".join(line[1:] for line in lines if line[:1] in side) for side in (" -", " +"))
        yield _squeezed(old), _squeezed(new)


def _squeezed(text: str) -> str:
    return _BLANK.sub("", text)


def leaves(quote: str, replaced: Sequence[tuple[str, str]]) -> bool:
    """True if these edits surely leave the words of a quote as they are, wherever in the file they stand."""
    pieces = [_squeezed(piece) for piece in _LINE_NUMBER.sub("", quote).split("…")]
    return bool(replaced) and not any(_is_changed(piece, *one) for piece in pieces for one in replaced)


def _is_changed(text: str, old: str, new: str) -> bool:
    """True if an edit that puts `new` in place of `old` may change this text, which stands in the same file."""
    if not text or not old:
        return not old
    if old in text:
        return text not in text.replace(old, new)
    if text in old:
        return text not in new
    return any(
        (text.endswith(old[:size]) and not new.startswith(old[:size]))
        or (text.startswith(old[-size:]) and not new.endswith(old[-size:]))
        for size in range(_SHORT, min(len(text), len(old)))
    )


def _of_command(command: str) -> Touched:
    paths = frozenset(_PATH.findall(command))
    changes = frozenset(_INTO.findall(command)) & paths
    for one in _COMMAND_END.split(command):
        if _WRITES.match(one.lstrip()):
            changes |= frozenset(_PATH.findall(one))
    read = {path for one in _PIPELINE_END.split(command) if _READS.match(one) for path in _PATH.findall(one)}
    return Touched(frozenset(read), changes)


def _same(one: str, other: str) -> bool:
    """True if two paths may be one file (one may be relative to an inner folder), or if two ids are the same."""
    one, other = one.removeprefix("./"), other.removeprefix("./")
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


class ChangeHistory:
    """What each turn of a log read and changed; each entry is looked at once."""

    def __init__(self) -> None:
        self._read = 0
        self._calls: dict[int, tuple[Touched, ...]] = {}
        self._changes: dict[str, list[tuple[int, int, str]]] = {}

    def update(self, view: View) -> None:
        """Take in the entries of the view that are new since the last call."""
        for seq in range(self._read, view.length):
            fact = view.fetch(seq).body
            if isinstance(fact, Assistant) and fact.calls:
                self._calls[seq] = found = tuple(map(touched, fact.calls))
                for at, one in enumerate(found):
                    for name in one.changes:
                        self._changes.setdefault(_last_part(name), []).append((seq, at, name))
        self._read = view.length

    def of_call(self, turn: int, at: int) -> Touched:
        """Return what one call touched. `turn`: the first entry of the turn; `at`: the index of the call in it."""
        calls = self._calls.get(turn, ())
        return calls[at] if at < len(calls) else Touched()

    def changed_after(self, view: View, turn: int, names: frozenset[str], quote: str) -> Iterator[int]:
        """Yield the turns after `turn` that changed one of these files or records, in order.

        A call that failed, or has no result, changed nothing. An edit whose old text is not in the quote did not change
        what that shows.
        """
        found = {
            (seq, at)
            for name in names
            for seq, at, changed in self._changes.get(_last_part(name), ())
            if seq > turn and _same(name, changed)
        }
        for seq, at in sorted(found):
            if not _failed(view, seq, at) and not leaves(quote, self.of_call(seq, at).replaced):
                yield seq


def _last_part(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]


def _failed(view: View, turn: int, at: int) -> bool:
    """True if a call failed, or has no result."""
    if view.unit_of[turn] < 0:
        return True
    unit = view.unit(view.unit_of[turn])
    if at not in unit.answered_calls:
        return True
    result = view.fetch(unit.seqs[1 + unit.answered_calls.index(at)]).body
    return not isinstance(result, ToolResult) or ending(result)[1]


def stale_quotes(
    view: View, history: ChangeHistory, records: Sequence[Record], quoted: Sequence[tuple[Quote, Unit, int]]
) -> Iterator[StaleQuote]:
    """Yield the stale ones among `quoted`: quotes, each with its turn and the index of the call whose result it is
    from.

    A quote is marked if a record lists a turn that changed it, or if such a turn is whole in the window.
    """
    whole = {unit.seqs[0] for unit in view.visible_units()}
    lines = [ending for record in records for ending in record.endings if ending.startswith(_CHANGED_LINE)]
    listed = {int(one) for line in lines for some in _NUMBERS.findall(line) for one in re.findall(r"\d+", some)}
    for quote, unit, at in quoted:
        one = history.of_call(unit.seqs[0], at)
        if one.changes and ("\n" not in quote.text.strip() or _failed(view, unit.seqs[0], at)):
            continue  # "The file was updated", "String not found": no text of the file
        by = tuple(dict.fromkeys(history.changed_after(view, unit.seqs[0], one.reads, quote.text)))
        if by:
            seen = bool((whole | listed).intersection(by))
            yield StaleQuote(quote, by, seen)
