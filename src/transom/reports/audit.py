"""Audits the compactions that Claude Code and Codex made themselves: what of a session was lost with each.

A session file keeps what was before a compaction, and the summary that the model had afterwards. So both can be
compared. Whether a text is still told is judged by its words, since a summary uses its own: a text is lost if less than
KEPT_SHARE of its key words are in what the model was left with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from transom.core.message import Addressed, Assistant, Call, Fact, Text, ToolResult, User, parts_of
from transom.core.tokens import TokenCounter
from transom.importers.recorded import Recorded
from transom.strategies.actions.action import action_of
from transom.strategies.actions.outcome import HEADER
from transom.strategies.record.passages import sentences
from transom.strategies.text.one_line import one_line

KEPT_SHARE = 0.6
"""A text counts as kept if this share of its key words is in what the model was left with."""
LEAST_RESULT = 80
"""Characters of a result from which it counts as work: a shorter one says only that something was done."""
SHOWN = 160
"""Characters of a text in a report."""
MOST_WORDS = 400
"""The key words of a long text that are looked for: the first ones, since a request precedes what is pasted."""

_DECIDES = re.compile(
    r"(?i)\b(?:decided|agreed|we will|we'll|let's|going with|chose|settled)\b|, not \b|决定|同意|采用"
)
"""What a sentence says that is a decision."""

_WORD = re.compile(r"[^\W\d_]{4,}|\w*\d\w*")
UNREADABLE = "[context compacted]"
"""What stands for a summary that only its provider can read, in files that name it at all."""
_BEGINS = "This session is being continued from a previous conversation"
_SUMMARIES: Mapping[str, tuple[str, ...]] = {"claude_code": (_BEGINS,), "openai": (_BEGINS, UNREADABLE)}
"""How summaries begin, by format, where no mark of the file says what they are."""


class LostText(Struct, frozen=True, kw_only=True):
    """A request, a file or a decision that the text after a compaction no longer tells or names.

    `message`: the position, from 0, of the message that has it; of a file, the last message that changed it; of a
    decision, the first that says it. `text`: the words or the file's name, on one line of at most 160 characters.
    """

    message: int
    text: str


class RepeatedCall(Struct, frozen=True, kw_only=True):
    """A call after a compaction that was made before it too, and gave the same result again.

    `message`, `before`: the positions, from 0, of the messages with the call and with the equal call before the
    compaction. `text`: the tool and what the call was about, on one line of at most 160 characters. `tokens`: of the
    result.
    """

    message: int
    before: int
    text: str
    tokens: int


class AuditedCompaction(Struct, frozen=True, kw_only=True):
    """What one compaction lost of what the model had: the messages since the compaction before it, and what that one
    had left it with.

    - `conversation`, `message`: where its summary is. `tokens_before`: of what the model had; `tokens_after`: of the
      text that it was left with.
    - `is_readable`: whether the recorded file has that text. If not, only `tokens_before` and `repeated` say something,
      and the next compaction is judged by the messages since this one.
    - `requests`, `files`, `decisions`: how many messages of the user, changed files, and sentences with a decision the
      model had. `earlier_requests`, `earlier_files`, `earlier_decisions`: those of them that precede the compaction
      before, which did not lose them. `lost_requests`, `lost_decisions`: those of which the text has less than the
      share `KEPT_SHARE` (60%) of the key words. `lost_files`: those that the text does not name. What is lost is not
      counted again at the compactions behind it.
    - `repeated`: the calls after this compaction, and before the next one, that had the same tool, arguments and result
      before this compaction.
    """

    conversation: str
    message: int
    tokens_before: int
    tokens_after: int = 0
    is_readable: bool = True
    requests: int = 0
    files: int = 0
    decisions: int = 0
    earlier_requests: int = 0
    earlier_files: int = 0
    earlier_decisions: int = 0
    lost_requests: tuple[LostText, ...] = ()
    lost_files: tuple[LostText, ...] = ()
    lost_decisions: tuple[LostText, ...] = ()
    repeated: tuple[RepeatedCall, ...] = ()


def audit(record: Recorded, counter: TokenCounter) -> list[AuditedCompaction]:
    """Audit every compaction of a recorded conversation, in order; empty if it has none. Compactions are those that the
    file marks, and summaries that are recognised by how they begin. `counter`: counts the tokens.

    Raises InvalidMessage for a message that its dialect does not allow.
    """
    _, facts = record.facts()
    injected = record.injected_in(facts)
    compactions = {**_recognised(record, facts), **record.compactions}
    found: list[AuditedCompaction] = []
    calls = _Calls(counter)
    had = _Had(counter)
    for at, fact in facts:
        if at in compactions:
            left_with = compactions[at] or _text(fact)
            found.append(had.compacted(record.id, at, left_with))
            calls.compacted()
            continue
        had.add(at, fact, is_request=isinstance(fact, User) and at not in injected)
        if (repeated := calls.add(at, fact)) is not None:
            found[-1] = replace(found[-1], repeated=(*found[-1].repeated, repeated))
    return found


def _recognised(record: Recorded, facts: Iterable[tuple[int, Fact]]) -> dict[int, str]:
    """Return the positions of messages that are summaries by how they begin, each with an empty text: its own is used.
    For files of formats that mark no summary."""
    begins = _SUMMARIES.get(record.format, ())
    return {at: "" for at, fact in facts if begins and isinstance(fact, User) and _text(fact).startswith(begins)}


class _Had:
    """What the model has at one moment: what the last compaction left it with, and what was said and done since."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._tokens = 0
        self._requests: list[tuple[int, str]] = []
        self._decisions: dict[str, int] = {}
        self._files: dict[str, int] = {}
        self._earlier = (0, 0, 0)

    def add(self, at: int, fact: Fact, *, is_request: bool) -> None:
        """Add the fact of the message at position `at`. `is_request`: whether the user wrote it."""
        self._tokens += sum(self._counter.count(text) for part in parts_of(fact) if (text := _part_text(part)))
        said = _text(fact)
        if is_request and said.strip():
            self._requests.append((at, said))
        if is_request or isinstance(fact, Assistant):
            for sentence in (said[start:stop].strip() for start, stop in sentences(said, least=1)):
                if _DECIDES.search(sentence):
                    self._decisions.setdefault(sentence, at)
        if isinstance(fact, Assistant):
            for call in fact.calls:
                for name in action_of(call).changes:
                    self._files[name] = at

    def compacted(self, conversation: str, at: int, left_with: str) -> AuditedCompaction:
        """Return what a compaction lost whose summary is the message at position `at`, and go on with what is left.
        `left_with`: the text that the model was left with."""
        before, self._tokens = self._tokens, 0
        if left_with.startswith(UNREADABLE):
            self._requests, self._decisions, self._files, self._earlier = [], {}, {}, (0, 0, 0)
            return AuditedCompaction(conversation=conversation, message=at, tokens_before=before, is_readable=False)
        self._tokens = self._counter.count(left_with)
        words, folded = frozenset(_key_words(left_with)), left_with.casefold()
        requests = [(where, text) for where, text in self._requests if not _is_kept(text, words)]
        decisions = {text: where for text, where in self._decisions.items() if not _is_kept(text, words)}
        files = {name: where for name, where in self._files.items() if not _is_named(_base(name), folded)}
        earlier_requests, earlier_files, earlier_decisions = self._earlier
        audited = AuditedCompaction(
            conversation=conversation,
            message=at,
            tokens_before=before,
            tokens_after=self._tokens,
            requests=len(self._requests),
            files=len(self._files),
            decisions=len(self._decisions),
            earlier_requests=earlier_requests,
            earlier_files=earlier_files,
            earlier_decisions=earlier_decisions,
            lost_requests=tuple(LostText(message=where, text=one_line(text, SHOWN)) for where, text in requests),
            lost_files=tuple(LostText(message=where, text=one_line(name, SHOWN)) for name, where in files.items()),
            lost_decisions=tuple(
                LostText(message=where, text=one_line(text, SHOWN)) for text, where in decisions.items()
            ),
        )
        self._requests = [one for one in self._requests if one not in requests]
        self._decisions = {text: where for text, where in self._decisions.items() if text not in decisions}
        self._files = {name: where for name, where in self._files.items() if name not in files}
        self._earlier = len(self._requests), len(self._files), len(self._decisions)
        return audited


class _Calls:
    """Finds calls of a conversation that were made for nothing.

    Such a call has the same tool, the same text of arguments and the same result (of `LEAST_RESULT` characters or more)
    as the newest call like it before the last compaction. Each counts once per compaction.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._open: dict[str, tuple[int, Call]] = {}
        self._before: dict[tuple[str, str], tuple[int, str]] = {}
        self._since: dict[tuple[str, str], tuple[int, str]] = {}
        self._is_compacted = False

    def compacted(self) -> None:
        """Note that everything so far was compacted."""
        self._before |= self._since
        self._since = {}
        self._is_compacted = True

    def add(self, at: int, fact: Fact) -> RepeatedCall | None:
        """Add a fact. If it is the result of a call that repeats one from before the last compaction, return that
        call."""
        if isinstance(fact, Assistant):
            self._open |= {call.id: (at, call) for call in fact.calls}
        if not isinstance(fact, ToolResult) or fact.call not in self._open:
            return None
        where, call = self._open.pop(fact.call)
        key, text = (call.name, call.args), _output(fact)
        before = self._before.get(key)
        is_first = key not in self._since
        self._since[key] = where, text
        if not self._is_compacted or before is None or not is_first or before[1] != text or len(text) < LEAST_RESULT:
            return None
        about = one_line(f"{call.name} {action_of(call).about}", SHOWN)
        return RepeatedCall(message=where, before=before[0], text=about, tokens=self._counter.count(text))


def _text(fact: Fact) -> str:
    return "\n".join(part.text for part in fact.parts if isinstance(part, Text))


def _part_text(part: Addressed) -> str:
    """Return the text of a part that counts as tokens; empty for reasoning and media."""
    return part.text if isinstance(part, Text) else f"{part.name} {part.args}" if isinstance(part, Call) else ""


def _output(result: ToolResult) -> str:
    """The text of a result without the header that a program puts before it: a header has times and ids."""
    text = _text(result)
    header = HEADER.match(text)
    return text[header.end() :] if header else text


def _key_words(text: str) -> Iterator[str]:
    """Yield the key words of a text: the words of four letters or more, and those with a digit, without case."""
    return (found[0].casefold() for found in _WORD.finditer(text))


def _is_named(file: str, text: str) -> bool:
    """Whether a text has the name of a file, and not only as a part of another name. Letters of a language that is
    written without blanks may stand beside it."""
    return re.search(rf"(?<![\w.-]){re.escape(file)}(?![\w-])", text, re.ASCII) is not None


def _is_kept(text: str, left_with: frozenset[str]) -> bool:
    words = list(dict.fromkeys(_key_words(text)))[:MOST_WORDS]
    return sum(word in left_with for word in words) >= KEPT_SHARE * len(words)


def _base(name: str) -> str:
    """The last part of a path: summaries shorten paths."""
    return name.rstrip("/").rpartition("/")[2].casefold()
