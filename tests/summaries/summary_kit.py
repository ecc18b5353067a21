"""What the tests of summarizers share: turns in few words, and a driver of ten lines."""

from __future__ import annotations

import json

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
    view = build_view(Entries(talk(*items)), COUNTER)
    units = [slot for slot in view.slots if isinstance(slot, Unit)]
    return tuple(SourceTurn(key=u.key, facts=tuple(e.body for e in view.entries_of(u))) for u in units)


def want_of(turns, prior=None, **more) -> Summarise:
    return Summarise(last=turns[-1].key if turns else 0, turns=tuple(turns), prior=prior, **more)


def drive(summarizer, want, provider=None, *, context=100_000, same_as_live=False, asked=None) -> Summary:
    """Run a summarizer's steps against a provider. `asked` collects its requests."""
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
