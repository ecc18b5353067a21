"""The front door over real stores: what is logged, what is learned, what survives."""

from __future__ import annotations

import tracemalloc

import pytest

import transom
from transom import Budget, Conversation, InvalidEdit, InvalidSetting
from transom.conversation.render_window import render
from transom.core.edit import Fold
from transom.core.entry import Sent
from transom.core.message import Assistant, Failure
from transom.evaluation.explanations import explain
from transom.stores import open_store
from transom.testing import talk
from transom.testing.fakes import FakeClock, WordCounter

URLS = ["sqlite:///{}/agent.db", "jsonl:///{}/logs"]


def opened(url, context=500, **settings):
    return Conversation.open(
        url, "trip", budget=Budget(context=context), counter=WordCounter(), clock=FakeClock(), **settings
    )


def turn(conv, number, size=100):
    window = conv.plan_request()
    body = {"id": f"c{number}", "type": "function", "function": {"name": "sh", "arguments": "{}"}}
    conv.observe({"role": "assistant", "content": None, "tool_calls": [body]})
    conv.tool_result(f"c{number}", f"{number} " * size)
    return window


@pytest.fixture(params=URLS)
def url(request, tmp_path):
    return request.param.format(tmp_path)


def test_no_budget_is_said_once():
    with pytest.warns(UserWarning, match="128,000 tokens"):
        conv = Conversation.open("memory:", "trip")
    assert conv.budget.context == 128_000


def test_reopened_it_goes_on_where_it_was(url):
    with opened(url, system="You book trips.") as conv:
        conv.user("to Lisbon")
        for number in range(30):
            turn(conv, number)
        last = conv.plan_request()
    with opened(url) as again:
        assert render(again.plan_request())["messages"] == render(last)["messages"]
        assert again.plan_request().tokens == last.tokens
        again.observe({"role": "assistant", "content": "booked"})
        assert again.view.in_flight is None, "the reply answers the request of the process before"
        longer = again.plan_request()
    assert render(longer)["messages"][: len(render(last)["messages"])] == render(last)["messages"]


def test_every_sent_fingerprint_can_be_made_again_from_the_log(url):
    with opened(url) as conv:
        conv.user("go")
        for number in range(40):
            turn(conv, number)
        sents = [entry for entry in conv.log.read() if isinstance(entry.body, Sent)]
        assert len(sents) == 40
        for call, entry in enumerate(sents, start=1):
            assert conv.view_at_call(call).fingerprint() == entry.body.fingerprint


def test_another_writer_is_no_reason_to_lose_a_fact(url):
    first, second = opened(url), opened(url)
    first.user("from the first")
    second.user("from the second")
    first.user("from the first again")
    assert [m["content"] for m in render(first.plan_request())["messages"]] == [
        "from the first",
        "from the second",
        "from the first again",
    ]
    second.user("late")
    first.close()  # gives its lease back
    assert render(second.plan_request())["messages"][-1]["content"] == "late"
    second.close()


def test_an_outstanding_window_is_read_off_the_view(url):
    with opened(url, system="You book trips.") as conv:
        conv.user("go")
        for number in range(60):
            turn(conv, number)
        while (last := conv.plan_request()).breaks is None:
            number += 1
            turn(conv, number)
        rows = explain(last)
    assert last.shared_tokens
    with opened(url) as again:
        first = [again.log[seq].body for seq in range(len(again.log))]
        read = Counted(again.log)
        again._planner.writer.log = read
        window = again.plan_request()
        assert read.entries == 0, "all of it stands in the view and the Sent"
        assert again.plan_request() is window
        assert explain(window) == rows
        assert [again.log[seq].body for seq in range(len(again.log))] == first
    parts = ("head_entry", "fingerprint", "size", "tokens", "limit", "shared_tokens", "breaks")
    assert [getattr(window, part) for part in parts] == [getattr(last, part) for part in parts]
    assert render(window)["messages"] == render(last)["messages"]


class Counted:
    """A stored log that counts the entries it is asked for."""

    def __init__(self, log):
        self._log, self.entries = log, 0

    def __getattr__(self, name):
        return getattr(self._log, name)

    def __len__(self):
        return len(self._log)

    def __getitem__(self, seq):
        self.entries += 1
        return self._log[seq]

    def read(self, start=0, stop=None):
        for entry in self._log.read(start, stop):
            self.entries += 1
            yield entry


def test_another_writers_entry_ends_an_outstanding_window(url):
    with opened(url) as first, opened(url) as second:
        first.user("go")
        first.plan_request()
        second.user("stop")
        window = first.plan_request()
        assert [message["content"] for message in render(window)["messages"]] == ["go", "stop"]
        assert first.plan_request() is window


def test_a_unit_is_pinned_once(url):
    with opened(url) as first, opened(url) as second:
        entry = first.user("go")
        second.user("on")
        pin = first.pin(entry, "the task")
        assert first.pin(entry) == pin
        assert second.pin(entry) == pin, "it finds out by a conflict"
        second.undo(pin)
        again = first.pin(entry)
        assert again > pin, "somebody else has taken the first one back"
        assert [entry.seq for entry in first.log.read() if isinstance(entry.body, transom.Pin)] == [pin, again]


def test_a_pin_of_a_plan_is_no_pin_of_yours():
    conv = opened("memory:")
    conv.user("go")
    plans = conv.edit(transom.Pin(entry=0, why="required", implied=True))
    mine = conv.pin(0)
    assert mine > plans
    assert conv.pin(0) == mine


def test_after_a_conflict_no_stale_window_is_given(url, monkeypatch):
    # the first one loses its lease at once
    monkeypatch.setattr("transom.conversation.lock_and_lease.LEASE_SECONDS", 0.0)
    with opened(url) as first, opened(url) as second:
        pin = first.pin(first.user("go"))
        stale = first.plan_request()
        second.observe({"role": "assistant", "content": "went"})
        second.undo(pin)
        sent = second.plan_request()
        with pytest.raises(transom.InvalidEdit):  # now the first knows of all that, by a conflict
            first.undo(pin)
        assert render(first.plan_request())["messages"] == render(sent)["messages"] != render(stale)["messages"]
        assert len(first.log) == 6


def test_tools_left_out_are_those_of_the_last_window(url):
    tools = [{"type": "function", "function": {"name": "sh", "parameters": {"required": ["cmd"]}}}]
    with opened(url) as conv:
        conv.user("go")
        conv.plan_request(tools=tools)
        conv.observe({"role": "assistant", "content": "on"})
        kept = conv.plan_request()
        assert kept.breaks is None
        assert conv.plan_request(tools=tools) is kept
    with opened(url) as again:
        again.observe({"role": "assistant", "content": "and on"})
        later = again.plan_request()
        assert later.breaks is None
        assert list(later.head_entry.body.tools) == tools
        tools[0]["function"]["name"] = "changed by its owner"
        assert later.head_entry.body.tools[0]["function"]["name"] == "sh"
        again.observe({"role": "assistant", "content": "done"})
        without = again.plan_request(tools=[])
        assert (without.breaks.slot, without.breaks.why) == (-1, "head")
        assert without.head_entry.body.tools == ()


def test_a_long_log_opens_from_its_snapshot(tmp_path):
    url = f"sqlite:///{tmp_path}/agent.db"  # JSON Lines has no snapshots
    with opened(url) as conv:
        conv.user("go")
        for number in range(400):
            turn(conv, number, size=5)
        last, length = render(conv.plan_request())["messages"], len(conv.log)
    assert length > 1_200
    with opened(url) as again:
        assert again.log.load_snapshot()[0] == length
        assert render(again.plan_request())["messages"] == last


def test_a_snapshot_that_fails_is_forgotten(url):
    prefilled(url, 790)
    with opened(url) as conv:
        while len(conv.log) < 998:
            conv.user("more")
        no_room_for_a_snapshot(conv, url)
        conv.user("more")
        conv.user("the thousandth, at which a snapshot is due")
        conv.user("one more, so that closing would leave one too")
    with opened(url) as again:
        assert again.log.load_snapshot() is None
        assert len(again.log) == 1_001


def prefilled(url, count):
    """A log of so many entries, stored in one go."""
    store = open_store(url)
    store.open("trip").append(talk(*["go"] * count), 0)
    store.close()


def no_room_for_a_snapshot(conv, url):
    """The disk is full, but for a few small entries."""
    if url.startswith("jsonl"):
        conv.log._path.with_suffix(".view").mkdir()  # a file cannot be put there
    else:
        db = conv.log._store.file._db
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages + 1}")


def test_memory_follows_the_window_and_not_the_payloads(tmp_path):
    url = f"sqlite:///{tmp_path}/agent.db?synchronous=normal"
    with opened(url, context=5_000) as conv:  # of which an index reaches 16 windows back
        conv.user("go")
        tracemalloc.start()
        for number in range(40):  # until what is kept of standing texts is nearly full
            turn(conv, number, size=5_000)
        before = tracemalloc.get_traced_memory()[0]
        for number in range(40, 80):
            turn(conv, number, size=5_000)  # 20 kB each, 800 kB in all; new results are not clipped
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
    assert grown < 600_000


def test_a_reply_object_is_read_through_its_own_dump():
    class Reply:
        def model_dump(self):
            return {
                "choices": [{"message": {"role": "assistant", "content": "hi", "refusal": None}}],
                "usage": {"prompt_tokens": 20, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 10}},
            }

    conv = opened("memory:")
    conv.user("hello")
    conv.plan_request()
    entry = conv.log[conv.observe(Reply())].body
    assert isinstance(entry, Assistant)
    assert (entry.usage.prompt, entry.usage.cached, entry.usage.output) == (20, 10, 2)
    assert entry.answers == 1
    assert render(conv.plan_request())["messages"][-1] == {"role": "assistant", "content": "hi"}


@pytest.mark.parametrize("reply", ["hi", None, 7, {"role": "user", "content": "x"}, {"choices": []}])
def test_what_is_no_reply_is_refused_and_not_stored(reply):
    conv = opened("memory:")
    with pytest.raises(transom.InvalidMessage, match="reply"):
        conv.observe(reply)
    assert len(conv.log) == 0


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ({"choices": []}, "the reply has no choices"),
        ({"id": "x", "choices": None}, "the reply has no choices"),
        ({"error": {"message": "Rate limit", "code": 429}}, "the reply is an error: Rate limit"),
        ({"error": {"code": 429}, "choices": None}, "the reply is an error: {'code': 429}"),
        ({"error": "overloaded", "choices": []}, "the reply is an error: overloaded"),
        ({"choices": [{"index": 0}]}, "a response or an assistant message is needed, not NoneType"),
    ],
)
def test_what_came_instead_of_a_reply_is_said(reply, says):
    for form in (reply, Dumped(reply)):
        conv = opened("memory:")
        with pytest.raises(transom.InvalidMessage) as caught:
            conv.observe(form)
        assert str(caught.value) == f"reply: {says}"
        assert len(conv.log) == 0


class Dumped:
    """An object of a client library."""

    def __init__(self, fields):
        self._fields = fields

    def model_dump(self):
        return self._fields


def test_a_message_object_is_observed_without_its_nulls():
    conv = opened("memory:")
    conv.user("hello")
    conv.observe(Dumped({"role": "assistant", "content": "hi", "refusal": None, "tool_calls": None}))
    assert render(conv.plan_request())["messages"][-1] == {"role": "assistant", "content": "hi"}


@pytest.mark.parametrize(
    "asked",
    [
        lambda conv: conv.user("b"),
        lambda conv: conv.observe({"role": "assistant", "content": "b"}),
        lambda conv: conv.tool_result("c", "b"),
        lambda conv: conv.pin(0),
        lambda conv: conv.undo(),
        lambda conv: conv.undo(1),
        lambda conv: conv.plan_request(),
        lambda conv: conv.window(),
        lambda conv: conv.explain(),
        lambda conv: conv.explain(at=1),
    ],
)
@pytest.mark.parametrize("url", ["memory:", "sqlite:///{}/a.db", "jsonl:///{}/logs"])
def test_a_closed_conversation_says_so(tmp_path, url, asked):
    with opened(url.format(tmp_path)) as conv:
        conv.user("a")
        conv.pin(0)
        conv.plan_request()
    conv.close()  # twice is once
    with pytest.raises(transom.InvalidSetting) as caught:
        asked(conv)
    assert str(caught.value) == "the conversation is closed"
    assert conv.window_usage.used > 0


def test_an_abandoned_request_is_closed_by_a_fact():
    conv = opened("memory:")
    conv.user("a")
    conv.plan_request()
    conv.user("b")
    conv.plan_request()
    kinds = [type(entry.body).__name__ for entry in conv.log.read()]
    assert kinds == ["User", "Sent", "User", "Failure", "Sent"]
    failure = conv.log[3].body
    assert isinstance(failure, Failure)
    assert (failure.failure, failure.answers, failure.shown) == ("abandoned", 1, "")


def test_usage_says_how_full_it_is():
    conv = opened("memory:", context=1_000)
    assert (conv.window_usage.percent, conv.window_usage.status) == (0.3, "normal")
    conv.user("x" * 2_600)
    assert (conv.window_usage.used, conv.window_usage.remaining, conv.window_usage.status) == (657, 343, "warning")
    conv.user("x" * 1_400)
    assert conv.window_usage.status == "compacting"


def test_the_calls_are_counted_from_one_and_from_the_end():
    conv = opened("memory:")
    conv.user("go")
    for number in range(5):
        turn(conv, number, size=2)
    assert len(conv.explain(at=1)) == 1
    assert len(conv.explain(at=-1)) == len(conv.explain(at=5)) == 9
    for call in (0, 6, -6):
        with pytest.raises(transom.InvalidSetting, match=f"no call {call}: trip has 5"):
            conv.explain(at=call)


def test_explain_looks_ahead_at_the_window_of_the_next_request():
    conv = opened("memory:")
    for number in range(12):
        conv.user(f"question {number} " + "word " * 40)
        conv.observe({"role": "assistant", "content": "word " * 40})
    conv.user("go on")
    assert {row.state for row in conv.explain()} == {"kept"}
    ahead = conv.explain(view=conv.window().view)
    assert "folded" in {row.state for row in ahead}
    assert {row.state for row in conv.explain()} == {"kept"}
    conv.request()
    assert conv.explain() == ahead
    with pytest.raises(transom.InvalidSetting, match="explain: give at or view, not both"):
        conv.explain(at=1, view=conv.view)
    with pytest.raises(transom.InvalidSetting, match="view"):
        conv.explain(view="now")


def test_the_public_names_are_all_there():
    assert len(transom.__all__) <= 60
    assert sorted(transom.__all__) == transom.__all__
    for name in transom.__all__:
        assert getattr(transom, name).__doc__


def contents(window) -> list[str]:
    return [message["content"] for message in render(window)["messages"]]


def test_a_state_is_said_when_it_changes_and_never_carried_twice():
    todo = ["write tests"]
    with Conversation.open("memory:", "x", budget=4_000, state={"todo": lambda: "; ".join(todo)}) as conv:
        conv.user("go")
        assert contents(conv.plan_request()) == ["go", "[todo] write tests"]
        conv.observe({"role": "assistant", "content": "done"})
        assert contents(conv.plan_request()).count("[todo] write tests") == 1
        todo[:] = ["run them"]
        assert contents(conv.plan_request())[-1] == "[todo] run them"
        todo.clear()
        assert contents(conv.plan_request(state={"mode": "plan"}))[-2:] == ["[mode] plan", "[todo] no longer applies."]


def test_a_state_that_is_no_text_is_refused():
    with Conversation.open("memory:", "x", budget=4_000, state={"todo": lambda: 7}) as conv:
        conv.user("go")
        with pytest.raises(InvalidSetting, match="the function for 'todo' must return a text or None, not int"):
            conv.plan_request()


def test_a_preview_shows_what_an_edit_would_do_and_appends_nothing():
    with Conversation.open("memory:", "x", budget=4_000) as conv:
        conv.user("go " * 200)
        conv.observe({"role": "assistant", "content": "done"})
        before, length = conv.view.fingerprint(), len(conv.log)
        view = conv.preview_edit(Fold(first=0, last=0, text="[entry 0]"))
        assert view.total.tokens < conv.view.total.tokens
        assert (conv.view.fingerprint(), len(conv.log)) == (before, length)
        with pytest.raises(InvalidEdit, match="no visible slots"):
            conv.preview_edit(Fold(first=0, last=7, text="[entry 0]"))


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "responses", "gemini"])
def test_a_request_without_messages_is_an_error_and_logs_nothing(dialect: str) -> None:
    with transom.Conversation.open("memory:", "c", budget=1_000, dialect=dialect) as conv:
        conv.extend([{"parts": [{"text": ""}]} if dialect == "gemini" else {"role": "user", "content": ""}])
        length = len(conv.log)
        with pytest.raises(transom.InvalidMessage, match="messages: none has content or calls, so there is nothing to"):
            conv.request()
        assert len(conv.log) == length
        conv.user("Hello")
        assert conv.request()
