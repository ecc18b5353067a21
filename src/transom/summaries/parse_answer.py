"""Reads the answer of a summarizer's model as the changes of an outline. An answer that cannot be used is refused with
one line; then nothing is replaced."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from transom.errors import SummaryFailed, quote
from transom.strategies.text.terms import words_in
from transom.summaries.base import Answer
from transom.summaries.outline import Addition, Delta, Section, Status, Update

CHARACTERS_PER_TOKEN = 12
"""An answer with more characters for each token that it was allowed is no summary."""

MOST_CHANGES = 200
"""The most changes that an answer may name."""

CHECKED_WORDS = 15
"""An answer with at least this number of different words is checked for words of the conversation."""

KNOWN_SHARE, KNOWN_SHARE_CJK = 0.25, 0.1
"""The share of its words that must occur in the conversation; of pairs of letters in Chinese, Japanese and Korean,
where fewer recur."""

LEAST_TERMS = 3
"""Different words that a line must have to be known as one that repeats the task: shorter ones are alike by chance."""

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_BOUNDARY = re.compile(r"^\s*(?:===+ [0-9a-f]{10} .*|The boundary is [0-9a-f]{10}\.)$", re.MULTILINE)
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s*|\*\*\s*)(?:\d{1,2}[.)]\s*)?([^*#:\n]{2,60}?)\s*:?\s*(?:\*\*)?\s*:?\s*#*\s*")
_BARE = re.compile(r"\s{0,3}(?:\d{1,2}[.)]\s*)?([^\W\d][\w /&,-]{2,60}):\s*")
_BULLET = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+")
_STATUS: dict[str, Status] = {
    **dict.fromkeys(("active", "", "open", "pending", "in progress", "in_progress", "todo", "current"), "active"),
    **dict.fromkeys(("blocked", "waiting", "on hold"), "blocked"),
    **dict.fromkeys(("done", "x", "complete", "completed", "finished", "resolved", "fixed"), "done"),
}
"""How models write the status of an item."""
_MARK = re.compile(rf"(?i)\(?s\d+\)?:?\s+(?=\[)|\[\s*({'|'.join(_STATUS)})\s*\]\s*")
_REFUSAL = re.compile(
    r"(?i)\W*(?:i['’]m sorry|i am sorry|sorry,|i (?:can['’]?t|cannot|can not|won['’]t|am unable)|as an ai\b|"
    r"i apologi[sz]e)"
)
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")


class Unusable(SummaryFailed):
    """An answer of the model that cannot be used. `reason`: in our own words, without any of the answer's; the message
    also quotes `text`, a part of the answer."""

    def __init__(self, reason: str, text: str = "") -> None:
        self.reason = reason
        super().__init__(f"{reason}: {quote(text)}" if text else reason)


def answer_text(answer: Answer, max_tokens: int) -> str:
    """The text of an answer, without what the model thought aloud and without our boundary lines. `max_tokens`: the
    most tokens that the answer was allowed. Raises Unusable if the model called a tool, if no text is left, or if the
    answer has more than 12 characters for each of these tokens (`CHARACTERS_PER_TOKEN`)."""
    if answer.called_tools:
        raise Unusable("the model called a tool instead of answering")
    if len(answer.text) > CHARACTERS_PER_TOKEN * max_tokens:
        raise Unusable(f"the answer has {len(answer.text):,} characters, for at most {max_tokens:,} tokens")
    text = _BOUNDARY.sub("", _THOUGHTS.sub("", answer.text)).strip()
    if not text:
        raise Unusable("the answer is empty")
    return text


def delta_of(text: str, sections: Sequence[Section], known: Iterable[str] = (), task: str = "") -> Delta:
    """The changes that an answer names: a JSON object with `add`, `update` and `remove`, as much of it as is well
    formed; or a whole summary, as text with headings or as JSON by section, whose sections replace what they had
    (`Delta.replaced`). If there is only one section, it needs no heading. JSON that names no change gives an empty
    delta.

    `known`: the ids of the items that exist; a change of any other id is malformed. `task`: the instructions at the end
    of the request, which the model may repeat: lines of a summary that repeat one of their lines are left out, and so
    is an object that equals the example in them.

    Raises Unusable if the answer is none of these, or if it has more malformed changes than others.
    """
    found = _json_object(text, sections, example=_json_object(task, sections))
    if found is None or not _CHANGES & set(found):
        delta = _whole(text, sections, task) if found is None else _whole_json(found, sections)
        if not delta.add:
            why = "the model refused" if _REFUSAL.match(text) else "none of the sections is in it"
            raise Unusable(why, text)
        return delta
    changes, malformed = _checked(found, sections, set(known))
    if malformed > sum(map(len, (changes.add, changes.update, changes.remove))):
        raise Unusable(f"{malformed:,} of its changes are malformed", text)
    return changes


def check_words(delta: Delta, source: Iterable[str]) -> None:
    """Raises Unusable if hardly any words of what a delta adds occur in the texts of `source`: fewer than 25%, or 10%
    in Chinese, Japanese and Korean. Then it is nonsense, about something else, or in another language. A delta that
    adds fewer than 15 different words (`CHECKED_WORDS`) is not checked. `source`: the turns, the earlier summary, and
    whatever else the model has read."""
    added = " ".join([*(one.text for one in delta.add), *(change.text or "" for change in delta.update)])
    words = words_in(added)
    if len(words) < CHECKED_WORDS:
        return
    known: set[str] = set()
    for text in source:
        known.update(words_in(text))
    share = sum(word in known for word in words) / len(words)
    least = KNOWN_SHARE_CJK if len(_CJK.findall(added)) > len(added) / 4 else KNOWN_SHARE
    if share < least:
        raise Unusable(f"only {share:.0%} of its words are in the conversation: nonsense, or another language", added)


# ---- JSON


_CHANGES = {"add", "update", "remove"}


def _json_object(
    text: str, sections: Sequence[Section], example: Mapping[str, object] | None = None
) -> Mapping[str, object] | None:
    """The first JSON object in a text that names changes or sections, and is not the task's example."""
    decoder, at = json.JSONDecoder(), text.find("{")
    for _ in range(8):
        if at < 0:
            return None
        try:
            found: object = decoder.raw_decode(text, at)[0]
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            given = cast("dict[str, object]", found)
            is_example = given == example and any(given.values())
            if not is_example and (_CHANGES & set(given) or any(_section_named(key, sections) for key in given)):
                return given
        at = text.find("{", at + 1)
    return None


def _whole_json(found: Mapping[str, object], sections: Sequence[Section]) -> Delta:
    """A whole summary as JSON: under each section texts, or objects with a text and a status."""
    lines: list[str] = []
    for key, value in found.items():
        lines.append(f"## {key}")
        for each in _list(value) or [value]:
            item = cast("dict[str, object]", each) if isinstance(each, dict) else {"text": each}
            text = item.get("text")
            lines += [f"- [{_word(item.get('status'))}] {' '.join(text.split())}"] if isinstance(text, str) else []
    return _whole("\n".join(lines), sections)


def _checked(found: Mapping[str, object], sections: Sequence[Section], known: set[str]) -> tuple[Delta, int]:
    """The well-formed changes, and the number of the others."""
    malformed = 0
    add: list[Addition] = []
    for each in _dicts(found.get("add")):
        section, text = _section_named(_word(each.get("section")), sections), each.get("text")
        if section and isinstance(text, str) and text.strip():
            add.append(Addition(section, text, _STATUS.get(_word(each.get("status")), "active")))
        else:
            malformed += 1
    update: list[Update] = []
    for each in _dicts(found.get("update")):
        label, text, status = _id(each.get("id")), each.get("text"), _STATUS.get(_word(each.get("status")) or "?")
        if label in known and (status or isinstance(text, str)):
            update.append(Update(label, status, text if isinstance(text, str) else None))
        else:
            malformed += 1
    remove = [label for label in map(_id, _list(found.get("remove"))) if label in known]
    malformed += len(_list(found.get("remove"))) - len(remove)
    malformed += sum(not isinstance(found.get(key, []), list) for key in ("add", "update", "remove"))
    return Delta(add=tuple(add), update=tuple(update), remove=tuple(remove)), malformed


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value)[:MOST_CHANGES] if isinstance(value, list) else []


def _dicts(value: object) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", each) if isinstance(each, dict) else {} for each in _list(value)]


def _id(value: object) -> str:
    return _word(value).strip("()[]#: ")


def _word(value: object) -> str:
    return value.strip().lower() if isinstance(value, str) else ""


# ---- headings


def lines_of(text: str, sections: Sequence[Section]) -> Delta:
    """The lines of a summary of which only the text is known, as additions, each to the section of its heading; at most
    200 (`MOST_CHANGES`). If no heading is known, all lines are added without a section: `apply_delta` finds a place for
    them."""
    add = _whole(text, sections).add
    return Delta(add=add or tuple(Addition("", _BULLET.sub("", line)) for line in text.splitlines()[:MOST_CHANGES]))


def _whole(text: str, sections: Sequence[Section], task: str = "") -> Delta:
    """A whole summary: the sections that it has take the place of what there was."""
    lines = list(_section_lines(text, sections, task))
    add = tuple(Addition(section, line, status) for section, line, status in lines[:MOST_CHANGES])
    return Delta(add=add, replaced=frozenset(one.section for one in add))


def _section_lines(text: str, sections: Sequence[Section], task: str) -> Iterator[tuple[str, str, Status]]:
    """The lines below headings that are known, each with its section and status, without those of the task."""
    explained = {f"({each.about})" for each in sections}  # as the prompt shows them below the headings
    lines = (tuple(words_in(_BULLET.sub("", line, count=1))) for line in task.splitlines())
    asked = {terms for terms in lines if len(terms) >= LEAST_TERMS}
    section = sections[0].key if len(sections) == 1 else ""
    for line in text.splitlines():
        words = _BULLET.sub("", line, count=1)
        marked = words if words.startswith("#") else line
        heading = _HEADING.fullmatch(marked) or _BARE.fullmatch(line)
        if heading is not None and (found := _section_named(heading[1], sections)):
            section = found
            continue
        status: Status = "active"
        while mark := _MARK.match(words):
            status = _STATUS[mark[1].lower()] if mark[1] is not None else status
            words = words[mark.end() :]
        if words.strip() in explained or tuple(words_in(words)) in asked:
            continue
        if section and words.strip(" -*_`#=") and (heading is None or not marked.lstrip().startswith("#")):
            yield section, words.strip(), status


def _section_named(heading: str, sections: Sequence[Section]) -> str:
    wanted = heading.strip().casefold()
    for section in sections:
        if wanted in {section.heading.casefold(), section.key.casefold()}:
            return section.key
    return ""
