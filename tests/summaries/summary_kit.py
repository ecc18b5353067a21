"""What the tests of summarizers share: turns in few words, and a driver of ten lines."""

from __future__ import annotations

import json
import re

from msgspec.structs import replace

from summary_requests import strings
from transom.core.message import Usage
from transom.core.reducer import build_view
from transom.core.summary import SourceTurn, Summarise
from transom.core.unit import Unit
from transom.errors import ProviderError
from transom.providers.scripted import Scripted
from transom.summaries import Answer, Ask, Model, Summary
from transom.testing import Entries, WordCounter, talk
from transom.wire.dialects import dialect_named

COUNTER = WordCounter()


def turns_of(*items) -> tuple[SourceTurn, ...]:
    """The units of a log in few words, as a want hands them over."""
    return source_turns(build_view(Entries(talk(*items)), COUNTER))


def source_turns(view) -> tuple[SourceTurn, ...]:
    """The units that a view shows, by value."""
    units = [slot for slot in view.slots if isinstance(slot, Unit)]
    return tuple(SourceTurn(key=u.key, facts=tuple(e.body for e in view.entries_of(u))) for u in units)


def want_of(turns, prior=None, **more) -> Summarise:
    """A want for these turns; with a summary before, they come after its own."""
    if prior is not None and turns and turns[0].key <= prior.last:
        turns = [replace(turn, key=turn.key + prior.last + 1) for turn in turns]
    return Summarise(last=turns[-1].key if turns else 0, turns=tuple(turns), prior=prior, **more)


def drive(summarizer, want, provider=None, *, context=100_000, same_as_live=False, asked=None, answers=None) -> Summary:
    """Run a summarizer's steps against a provider. `asked` collects its requests, `answers` what came back."""
    name = "" if provider is None else f"{provider.name}:{provider.model}"
    model = provider and Model(name=name, dialect=provider.dialect, context=context, same_as_live=same_as_live)
    steps = summarizer.steps(want, COUNTER, model)
    answer = None
    try:
        while True:
            ask = steps.send(answer)
            if asked is not None:
                asked.append(ask)
            answer = reply(provider, ask)
            if answers is not None:
                answers.append(answer)
    except StopIteration as stop:
        return stop.value


def reply(provider: Scripted, ask: Ask) -> Answer | ProviderError:
    try:
        turn = dialect_named(provider.dialect).parse_reply(provider.complete(ask.request, max_tokens=ask.max_tokens))
    except ProviderError as error:
        return error
    text = "".join(part.text for part in turn.parts)
    return Answer(text=text, called_tools=bool(turn.calls), usage=turn.usage or Usage())


def delta(add=(), update=(), remove=()) -> str:
    """An answer that names changes. `add`: pairs of section and text."""
    added = [{"section": section, "text": text} for section, text in add]
    return json.dumps({"add": added, "update": list(update), "remove": list(remove)})


BOUNDARY = re.compile(r"^=== ([0-9a-f]{10}) (.*) ===$", re.MULTILINE)


def user_text(request) -> str:
    """The text of the one user message of a flat request to OpenAI's chat API."""
    [text] = [message["content"] for message in request["messages"] if message["role"] == "user"]
    return text


def earlier_summary(request) -> str:
    """The summary that a flat request has between its boundary lines."""
    text = user_text(request)
    _, begins, rest = text.partition(" earlier summary begins ===\n")
    return rest.rpartition("\n===")[0].partition("\n=== ")[0] if begins else ""


def echo_sections(request) -> str:
    """A model that gives the sections of its input back, with one line more."""
    known = re.sub(r"(?m)^- s\d+ ", "- ", earlier_summary(request).partition("## ")[2])
    turns = BOUNDARY.split(user_text(request))
    words = next(turns[at + 2] for at in range(1, len(turns), 3) if turns[at + 1].startswith("turn "))
    more = f"## Progress\n- [done] {' '.join(words.split()[:12])}"
    return f"## {known}\n{more}" if known else f"## User intent\n- {' '.join(words.split()[:12])}\n{more}"


def strings_of(request) -> list[str]:
    """Every text of a request, in order."""
    return list(strings(request))
