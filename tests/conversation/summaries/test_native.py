"""Policy `native`: the provider's own compaction in place of old turns, with a record as its twin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from native_kit import Server, block, bodies, failures, kept, messages, opened, shown, talk
from test_summary_scheduler import NowPool

import transom
from oracle import appearance
from transom.core.edit import Undo
from transom.core.summary import Summary
from transom.errors import ProviderError
from transom.testing import WordCounter
from transom.testing.view_appearance import appearance_of
from transom.texts import is_record
from transom.wire.dialects import dialect_named

APIS = pytest.mark.parametrize("dialect", ["anthropic", "responses"])
NOW = transom.SummarySettings(pool=NowPool())


def first_of(request: Any, dialect: str) -> Any:
    """What a request begins with: the blocks of the first message, or its first items."""
    given = messages(request)
    return given[0]["content"][:1] if dialect == "anthropic" else given[:2]


@APIS
def test_the_provider_compacts_the_very_messages_that_were_sent(dialect: str) -> None:
    provider = Server(dialect)
    with opened(dialect, summarizer=NOW) as conv:
        talk(conv, provider, 0, 40)
        assert len(provider.compacted) > 1
        assert failures(conv) == []
        for request in provider.compacted:
            assert any(messages(request) == messages(sent) for sent in provider.asked)
        number = next(conv.view.newest_summaries())[1].compaction.parts[-1].raw
        made = [one for one in bodies(conv, Summary) if one.compaction is not None]
        assert {one.made_by for one in made} == {f"{dialect}:m1"}
        assert [one.usage.prompt for one in made] == [100] * len(made)
        assert number in (block(len(made)), kept(len(made))[-1])
        [fold] = shown(conv)
        at = [entry.seq for entry in conv.log.read() if isinstance(entry.body, Summary)].index(fold.summary) + 1
        assert first_of(provider.asked[-1], dialect) == ([block(at)] if dialect == "anthropic" else kept(at))
        assert is_record(fold.text)
        assert "is a record of" not in str(provider.asked[-1])
        assert conv.window().tokens <= conv.budget.usable
        seen, defined = appearance_of(conv.view), appearance(list(conv.log.read()), conv.view.counter)
        assert seen.slots == defined.slots
        assert seen.fingerprint == defined.fingerprint


@APIS
def test_what_came_behind_the_compaction_stays_whole(dialect: str) -> None:
    provider = Server(dialect)
    with opened(dialect, summarizer=NOW) as conv:
        talk(conv, provider, 0, 20)
        [fold] = shown(conv)
        behind = [entry for entry in conv.log.read(fold.last + 1) if type(entry.body).__name__ in {"User", "Assistant"}]
        assert behind
        sent = str(messages(provider.asked[-1]))
        assert all(entry.body.parts[0].text in sent for entry in behind[:-1])


@APIS
def test_undo_search_and_a_copy_of_the_file(dialect: str, tmp_path: Path) -> None:
    provider, store = Server(dialect), f"sqlite:///{tmp_path}/a.db"
    with opened(dialect, store, summarizer=NOW) as conv:
        talk(conv, provider, 0, 20)
        window = transom.render(conv.window(), dialect)
    with opened(dialect, store) as conv:
        assert transom.render(conv.window(), dialect) == window
        assert "pier 3" in str(conv.search("pier 3"))
        [fold] = shown(conv)
        seq = next(slot.seq for slot in conv.view.slots if getattr(slot, "compaction", None) is not None)
        conv.undo(seq)
        assert shown(conv) == []
        assert "Question 3 about pier 3" in str(transom.render(conv.view, dialect))
        other = "responses" if dialect == "anthropic" else "anthropic"
        assert "compaction" not in str(transom.render(conv.view, other))
        assert fold.last > 0


@APIS
def test_the_record_takes_over_where_another_model_goes_on(dialect: str) -> None:
    one, two = Server(dialect), Server(dialect, "m2")
    with opened(dialect, summarizer=NOW) as conv:
        talk(conv, one, 0, 20)
        [fold] = shown(conv)
        talk(conv, two, 20, 21)
        assert shown(conv) == []
        assert "opaque" not in str(two.asked)
        assert fold.text.splitlines()[1] in str(messages(two.asked[0])).replace("\\\\", "\\")
        talk(conv, one, 21, 22)
        assert "opaque" not in str(one.asked[-1])
        why = {entry.body.why for entry in conv.log.read() if isinstance(entry.body, Undo)}
        assert f"made by {dialect}:m1; now {dialect}:m2 goes on" in why


def test_the_record_takes_over_where_another_api_goes_on() -> None:
    one, two = Server("anthropic"), Server("responses")
    with opened("anthropic", summarizer=NOW) as conv:
        talk(conv, one, 0, 20)
        assert len(shown(conv)) == 1
        talk(conv, two, 20, 21)
        assert "opaque" not in str(two.asked)
        seen, defined = appearance_of(conv.view), appearance(list(conv.log.read()), conv.view.counter)
        assert seen.slots == defined.slots
        assert seen.fingerprint == defined.fingerprint


REFUSALS = {
    "anthropic": '{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.0: '
    'compaction_signature_invalid: the block was made by another organization"}}',
    "responses": '{"error":{"type":"invalid_request_error","code":"invalid_encrypted_content",'
    '"message":"The encrypted content for item cmp_1 could not be verified."}}',
}


@APIS
def test_the_record_takes_over_where_the_api_refuses_the_block(dialect: str) -> None:
    one = Server(dialect)
    with opened(dialect, summarizer=NOW) as conv:
        talk(conv, one, 0, 20)
        assert len(shown(conv)) == 1
        one.refuses = REFUSALS[dialect]  # another account has the same model
        talk(conv, one, 20, 21)
        assert shown(conv) == []
        assert "opaque" not in str(one.asked[-1])
        assert "Question 20" in str(one.asked[-1])
        talk(conv, one, 21, 22)
        assert shown(conv) == []


@APIS
@pytest.mark.parametrize(("status", "tries"), [(503, 2), (400, 1)])
def test_where_no_compaction_can_be_had_the_record_is_made(dialect: str, status: int, tries: int) -> None:
    kind = "server" if status == 503 else "bad_request"
    body = '{"error":{"type":"compaction_unavailable","message":"compaction is not available now"}}'
    provider = Server(dialect, fails=ProviderError(kind, status=status, body=body))
    with opened(dialect, summarizer=NOW) as conv:
        talk(conv, provider, 0, 30)
        assert bodies(conv, Summary) == []
        assert len(provider.compacted) == tries * len(failures(conv))
        assert 1 <= len(failures(conv)) <= 4
        assert "compaction is not available now" in failures(conv)[0]
        assert any(is_record(getattr(slot, "text", "")) for slot in conv.view.slots)


def test_an_api_without_a_compaction_is_told_and_the_record_is_made() -> None:
    from transom.providers.scripted import Scripted  # noqa: PLC0415 - only here

    with opened("openai", summarizer=NOW) as conv:
        talk(conv, Scripted(then="Well done. " * 40), 0, 20)
        assert bodies(conv, Summary) == []
        assert failures(conv)[0] == "the API of scripted:scripted has no compaction of its own"


def test_compact_asks_for_what_it_is_to_keep() -> None:
    provider = Server("anthropic")
    with opened("anthropic", summarizer=transom.SummarySettings(provider=provider, pool=NowPool())) as conv:
        talk(conv, provider, 0, 4)
        sent = messages(provider.asked[-1])
        conv.user("And the last pier? " * 20)
        done = conv.compact(focus="the crane at pier 2")
        assert done.failure == ""
        [asked] = provider.compacted
        assert asked["messages"] == sent
        assert asked["compaction"]["type"] == "summarize"
        assert "the crane at pier 2" in asked["compaction"]["instructions"]
        [fold] = shown(conv)
        assert [type(slot.first_fact).__name__ for slot in conv.view.slots[1:]] == ["Assistant", "User"]
        assert conv.view.newest_user > fold.last
        conv.undo()
        assert shown(conv) == []
        assert conv.summary is None


@APIS
def test_the_size_of_a_fold_is_that_of_the_compaction(dialect: str) -> None:
    provider = Server(dialect)
    with opened(dialect, summarizer=NOW) as conv:
        talk(conv, provider, 0, 20)
        [slot] = [slot for slot in conv.view.slots if getattr(slot, "compaction", None) is not None]
        counter = dialect_named(dialect).format_counter(WordCounter())
        assert slot.compaction is not None
        assert slot.tokens == sum(counter.count_body(slot.compaction.first_fact)) == slot.compaction.size.tokens
