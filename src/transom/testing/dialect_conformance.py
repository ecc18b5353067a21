"""The tests that every dialect must pass, as a class to inherit from. This module needs pytest and Hypothesis.

class TestMyDialect(DialectConformance):
    dialect = MyDialect()
    bodies = (VALID_BODY, ANOTHER_VALID_BODY)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from hypothesis import HealthCheck, given, settings

from transom.core.budget import Budget
from transom.core.entry import Body, Entry
from transom.core.message import Assistant, Head, Raw, Text, ToolResult, User, own_text, strings_in
from transom.core.reducer import build_view
from transom.core.tokens import replace_surrogates
from transom.core.tool import Tool
from transom.core.unit import FoldedSlot
from transom.core.view import View
from transom.errors import InvalidMessage
from transom.policies import policy_named
from transom.testing.fakes import Entries, WordCounter
from transom.testing.laws import plan_call
from transom.testing.random_logs import logs
from transom.wire.dialect import Dialect
from transom.wire.rendering import render

TOOL = Tool(
    name="find_flights",
    description="Finds flights between two cities.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)

_ODD_LISTS: list[list[object]] = [[], [[]], [None]]
JUNK: tuple[object, ...] = (None, 3, "", {}, {"role": 3}, {"role": "user", "content": 3}, object(), *_ODD_LISTS)
"""Values that are neither a message, content nor a reply."""

_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""No time limit: a slow machine is not a mistake of a dialect."""


class DialectConformance:
    """The tests of a dialect. Inherit from it in a class that pytest collects, and set `dialect` and `bodies`.

    `bodies`: request bodies that the API accepts; each must be rendered as it was read. `uncounted`: the keys of a body
    whose strings need not be counted as tokens, such as ids and the data of images. The other tests read random logs.
    """

    dialect: Dialect
    """The dialect to be tested."""
    bodies: Sequence[Raw] = ()
    """Request bodies that the API accepts, recorded or written by hand. Each must be rendered as it was read."""
    uncounted: frozenset[str] = frozenset({"type", "role", "id", "data", "url", "image_url", "file_data", "detail"})
    """The keys of a body whose strings need not be counted: labels, and the data of images and files."""

    # ---- what came in comes out

    def test_a_body_comes_out_as_it_came(self) -> None:
        for body in self.bodies:
            assert self.dialect.violations(body) == []
            assert json.dumps(self._round_trip(body)) == json.dumps(body)

    def test_what_we_read_is_copied(self) -> None:
        for body in self.bodies:
            given_body: Raw = json.loads(json.dumps(body))
            view = self._view_of(given_body)
            _spoil(given_body)
            assert render(view, self.dialect) == body

    def test_every_rendered_body_is_the_callers_own(self) -> None:
        for body in self.bodies:
            view = self._view_of(body)
            _spoil(render(view, self.dialect))
            assert render(view, self.dialect) == body

    def test_texts_are_read_as_what_they_are(self) -> None:
        user, result = self.dialect.parse_user("hello"), self.dialect.parse_tool_result("call_1", "found")
        assert isinstance(user, User)
        assert user.parts == (Text("hello"),)
        assert isinstance(result, ToolResult)
        assert (result.call, result.parts) == ("call_1", (Text("found"),))

    def test_what_cannot_be_read_raises_invalid_message(self) -> None:
        read = self.dialect
        for junk in JUNK:
            for parse in (read.parse, read.parse_system, read.parse_user, read.parse_reply):
                with suppress(InvalidMessage):
                    parse(cast("Any", junk))
            with suppress(InvalidMessage):
                read.parse_tool_result("call_1", junk)

    # ---- every log, also one from another provider

    def test_every_window_obeys_the_rules_and_holds_what_it_shows(self) -> None:
        def check(view: View) -> None:
            body = render(view, self.dialect)
            shown = body[self._key]
            if shown:
                assert self.dialect.violations(body) == []
            everything = json.dumps(list(strings_in(shown, without=())), ensure_ascii=False)
            at = 0
            for text in shown_texts(view):
                quoted = json.dumps(text, ensure_ascii=False)[1:-1]
                at = everything.find(quoted, at)
                assert at >= 0, text
                at += len(quoted)

        self._of_random_views(check)

    def test_the_count_is_never_less_than_what_is_sent(self) -> None:
        def check(view: View) -> None:
            texts = strings_in(render(view, self.dialect), without=self.uncounted)
            assert sum(map(WordCounter().count, texts)) <= view.total.tokens

        self._of_random_views(check)

    def test_what_is_joined_for_a_prefix_is_a_prefix(self) -> None:
        def check(view: View) -> None:
            rendered = [message for slot in view.slots for message in self.dialect.render_slot(slot)]
            before = json.dumps([list(each) for each in rendered])
            whole = list(_pieces(self.dialect.join(rendered)))
            for end in range(len(rendered)):
                part = list(_pieces(self.dialect.join(rendered[:end])))
                assert whole[: len(part)] == part
            assert json.dumps([list(each) for each in rendered]) == before

        self._of_random_views(check)

    # ---- tools

    def test_a_tool_is_rendered_counted_and_sent(self) -> None:
        tools = self.dialect.render_tools([TOOL.schema()])
        text = json.dumps(tools)
        for known in (TOOL.name, TOOL.description, json.dumps(TOOL.parameters)):
            assert known in text
        assert json.dumps(self.dialect.render_tools(tools)) == text, "a schema of its own must stay as it is"
        counted = self.dialect.format_counter(WordCounter()).count_tools([TOOL.schema()])
        assert counted >= WordCounter().count(json.dumps(tools[0], separators=(",", ":")))
        with_tool = render(self._view([Head(tools=(TOOL.schema(),)), User(parts=(Text("go"),))]), self.dialect)
        without = render(self._view([User(parts=(Text("go"),))]), self.dialect)
        assert [value for key, value in with_tool.items() if key not in without] == [tools]

    # ---- helpers

    def _of_random_views(self, check: Callable[[View], None]) -> None:
        """Check the views of random logs, each as a request in this dialect would send it."""

        @_PATIENT
        @given(logs())
        def checked(log: list[Entry]) -> None:
            check(closed_view(log, self.dialect))

        checked()

    def _view(self, bodies: Sequence[Body]) -> View:
        """The view of a log with these bodies."""
        log = [Entry(seq=seq, at=0.0, body=body) for seq, body in enumerate(bodies)]
        return build_view(Entries(log), self.dialect.format_counter(WordCounter()))

    def _view_of(self, body: Mapping[str, Any]) -> View:
        """The view of the log that has what a request's body says."""
        beside = next((value for key, value in body.items() if key not in {self._key, "tools"}), None)
        head = Head(
            messages=() if beside is None else tuple(self.dialect.parse_system(beside)),
            tools=tuple(json.loads(json.dumps(body.get("tools", [])))),
        )
        facts = [cast("Body", fact) for _, fact in self.dialect.parse(body[self._key])]
        return self._view([head, *facts] if head.messages or head.tools else facts)

    def _round_trip(self, body: Raw) -> Raw:
        """The body after it was read and rendered, with its keys in the given order."""
        rendered = render(self._view_of(body), self.dialect)
        return {key: rendered[key] for key in [*body, *(key for key in rendered if key not in body)]}

    @property
    def _key(self) -> str:
        """The key of the messages in a body."""
        return next(key for key, value in self.dialect.body(Head(), []).items() if value == [])


def _pieces(messages: Sequence[Raw]) -> Iterator[tuple[object, object]]:
    """The content parts of messages, each with the role of its message: joining messages does not change these."""
    for message in messages:
        parts = next((message[key] for key in ("content", "parts") if isinstance(message.get(key), list)), [message])
        yield from ((message.get("role"), part) for part in parts)


def _spoil(value: object) -> None:
    """Empty a JSON value and everything in it, in place."""
    if isinstance(value, dict):
        _spoil(list(cast("Raw", value).values()))
        value.clear()
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            _spoil(inner)
        value.clear()


def closed_view(log: Sequence[Entry], dialect: Dialect) -> View:
    """The view of a log as a request in this dialect would send it: open calls have synthetic results, and a note in
    the user's role follows the model's last message if the API requires one."""
    return plan_call(log, Budget(context=10**9), policy_named("passthrough"), dialect=dialect).after


def shown_texts(view: View) -> list[str]:
    """The texts that a view shows and the names of its calls, in order, as they are sent: with a question mark for a
    lone surrogate. White space at their ends is cut off; blank texts are left out."""
    out: list[str] = []
    for slot in view.slots:
        units = slot.pinned_units if isinstance(slot, FoldedSlot) else (slot,)
        out += [slot.text] if isinstance(slot, FoldedSlot) else []
        for unit in units:
            for fact in unit.shown_facts():
                out += [own_text(fact), *(part.text for part in fact.parts if isinstance(part, Text))]
                out += [call.name for call in fact.calls] if isinstance(fact, Assistant) else []
    return [text for text in (replace_surrogates(text).strip() for text in out) if text.strip()]
