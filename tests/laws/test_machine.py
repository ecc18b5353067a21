"""A whole conversation as a state machine, over a real SQLite file: laws 1, 2, 3, 4, 8, 10, 11 and 15 after each step.

It appends, asks for windows, pins, undoes, folds, shrinks and widens the budget, recalibrates, lets another writer in,
crashes without a word and opens again.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import turnsafe
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from oracle import appearance
from transom import Budget, BudgetImpossible, Conversation, InvalidMessage
from transom.cache_prices import ANTHROPIC, Prices
from transom.conversation.render_window import render
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.message import Head, ToolResult, User, addressed_parts, is_empty
from transom.core.plan import plan
from transom.core.plan_request import PlanRequest, WindowOptions
from transom.core.reducer import build_view
from transom.policies import policy_named
from transom.stores import leases
from transom.testing.fakes import FakeClock, WordCounter
from transom.testing.view_appearance import appearance_of
from transom.wire.openai import violations

SIZES = st.sampled_from([1, 3, 10, 60, 400, 3_000])
IDS = st.sampled_from(["a", "b", "c", "call_1", ""])
WORDS = st.sampled_from(["src/app.py ", "é ", "你好 ", "\ud83d ", '{"a": 1} ', "[entry 0: left out] ", "line\n", "x"])
LIMITS = st.sampled_from([60, 120, 300, 1_000, 5_000])
COUNTER = WordCounter()


class ConversationMachine(RuleBasedStateMachine):
    """One conversation, and what must hold of it whatever happens."""

    @initialize(limit=LIMITS, policy=st.sampled_from(["default", "sliding"]), system=st.booleans())
    def begin(self, limit: int, policy: str, system: bool) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.url = f"sqlite:///{self.folder}/talk.db?synchronous=normal"
        self.budget, self.policy = Budget(context=limit), policy
        self.system = "Be brief." if system else None
        self.previous: list[dict] | None = None
        self.acknowledged = 0
        self.conv = self.opened()

    def opened(self) -> Conversation:
        return Conversation.open(
            self.url,
            "talk",
            budget=self.budget,
            policy=self.policy,
            system=self.system,
            counter=COUNTER,
            clock=FakeClock(),
        )

    def stored(self) -> int:
        """The length of the log in the file, whatever our handle knows."""
        with self.opened() as other:
            return len(other.log)

    # ---- what can happen

    @rule(word=WORDS, size=SIZES)
    def user(self, word: str, size: int) -> None:
        self.conv.user(word * size)

    @rule(size=SIZES, images=st.integers(1, 3))
    def picture(self, size: int, images: int) -> None:
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * size}}
        self.conv.user([{"type": "text", "text": "look " * size}, *[image] * images])

    @rule(labels=st.lists(IDS, max_size=4), word=WORDS, size=SIZES, usage=st.sampled_from([0, 0, 0.7, 1.6]))
    def reply(self, labels: list[str], word: str, size: int, usage: float) -> None:
        message: dict = {"role": "assistant", "content": word * size if size != 3 else None}
        words = "y" * size if size % 2 else "more words " * size
        function = {"name": "sh", "arguments": json.dumps({"cmd": words})}  # the oracle counts them as they came
        if labels:
            message["tool_calls"] = [{"id": label, "type": "function", "function": function} for label in labels]
        if size == 60:
            message["reasoning_content"] = "hm " * size
        sent = self.conv.view.sent_tokens
        if usage and sent:
            self.conv.observe({"choices": [{"message": message}], "usage": {"prompt_tokens": int(sent * usage) + 1}})
        else:
            self.conv.observe(message)

    @rule(label=IDS, word=WORDS, size=SIZES)
    def result(self, label: str, word: str, size: int) -> None:
        before = len(self.conv.log)
        try:
            self.conv.tool_result(label, word * size)
        except InvalidMessage:  # no call in this log has such an id
            new = self.conv.log.read(before)  # the head may have been written, in a new log
            assert not any(isinstance(entry.body, ToolResult) for entry in new)

    @rule(word=WORDS, size=SIZES)
    def answer_all(self, word: str, size: int) -> None:
        for key in tuple(self.conv.view.open_units):
            unit = self.conv.view.open_unit(key)
            for index in unit.open_calls:
                self.conv.tool_result(unit.first_fact.calls[index].id, word * size)

    @rule(
        limit=LIMITS,
        messages=st.sampled_from([None, None, 3, 6, 20]),
        images=st.sampled_from([None, None, 1]),
        prices=st.sampled_from([None, ANTHROPIC, Prices(write=1.0, read=1.0)]),
    )
    def other_limits(self, limit: int, messages: int | None, images: int | None, prices: Prices | None) -> None:
        limits = Budget(context=limit, max_messages=messages, max_images=images, prices=prices)
        self.budget = self.conv.budget = limits

    @rule(at=st.integers(0, 400))
    def pin(self, at: int) -> None:
        self.try_edit(Pin(entry=at % max(1, len(self.conv.log)), why="mine"))

    @rule(back=st.integers(0, 30))
    def undo(self, back: int) -> None:
        self.try_edit(Undo(edit=len(self.conv.log) - 1 - back))

    @rule(a=st.integers(0, 30), b=st.integers(0, 10), text=st.sampled_from(["[mine]", "long " * 50]))
    def fold(self, a: int, b: int, text: str) -> None:
        slots = self.conv.view.slots
        if slots:
            first, last = slots[a % len(slots)], slots[min(a % len(slots) + b, len(slots) - 1)]
            self.try_edit(Fold(first=first.first, last=last.last, text=text, why="mine"))

    @rule(a=st.integers(0, 30), part=st.integers(0, 5))
    def trim(self, a: int, part: int) -> None:
        units = list(self.conv.view.visible_units())
        if units:
            unit = units[a % len(units)]
            parts = [(entry.seq, address) for entry in unit.entries for address, _ in addressed_parts(entry.body)]
            if parts:
                seq, address = parts[part % len(parts)]
                self.try_edit(Trim(entry=seq, part=address, note="{}", why="mine"))

    def try_edit(self, edit) -> None:
        if self.conv.view.refusal(edit) is None:
            self.conv.edit(edit)

    @rule(word=WORDS)
    def another_writer(self, word: str) -> None:
        with self.opened() as other:
            other.user(word * 3)

    @rule(politely=st.booleans())
    def reopen(self, politely: bool) -> None:
        if politely:
            self.conv.close()
        else:  # as after a crash: nothing was said goodbye to, and another process opens the file
            leases._token.cache_clear()
        self.conv = self.opened()

    @rule(state=st.sampled_from([{}, {"mode": "plan"}, {"mode": "act", "goal": "green tests " * 8}]))
    def window(self, state: dict[str, str]) -> None:
        before = self.stored()
        try:
            window = self.conv.plan_request(state=state)
        except BudgetImpossible as refused:
            assert self.stored() == before  # a refusal stores nothing
            self.check_refusal(refused, state)
            return
        self.check_window(window, state)

    # ---- what must hold

    def check_window(self, window, state: dict[str, str]) -> None:
        sent = render(window)["messages"]
        limit = self.conv.budget
        if sent:
            assert violations(sent) == []  # law 1
            assert turnsafe.validate(sent, provider="openai").violations == ()
        assert window.tokens <= limit.usable  # law 2
        assert limit.max_messages is None or len(sent) <= limit.max_messages
        assert limit.max_images is None or window.size.images <= limit.max_images
        if self.previous is not None and sent[: len(self.previous)] != self.previous:
            assert window.breaks is not None, "law 3: the break is named"
        view = self.conv.view
        assert view.head_entry is None or sent[0]["content"] == "Be brief."  # law 10
        for key in view.required:
            assert view.is_present(key)
        shown = [message.get("content") for message in sent]
        for key, text in state.items():
            assert f"[{key}] {text}" in shown
        assert build_view(self.conv.log, COUNTER, view.in_flight.seq).fingerprint() == window.fingerprint  # law 4
        self.previous = sent
        self.check_idempotent(state)

    def check_idempotent(self, state: dict[str, str]) -> None:
        """Law 8: as if the plan stood in the log and the request had not left."""
        live = self.conv.view
        view = replace(live, in_flight=None)
        head = view.head_entry.body if view.head_entry is not None else Head()
        options = WindowOptions(head=head, state=state)
        again = plan(PlanRequest(view, options, self.conv.budget, policy_named(self.policy)))
        assert [type(entry.body).__name__ for entry in again.entries] == ["Sent"]

    def check_refusal(self, refused: BudgetImpossible, state: dict[str, str]) -> None:
        """Law 2: what must be there, each at its smallest, does not fit (messages of our own come to 50 tokens)."""
        assert refused.bill["need"] > refused.bill["limit"]
        view, limit = self.conv.view, self.conv.budget
        if refused.unit == "messages":
            assert limit.max_messages <= 3 + len(state)
            return
        assert refused.unit == "tokens"
        words = sum(COUNTER.count(f"[{key}] {text}") + 4 for key, text in state.items())
        texts = [
            entry.body for entry in self.conv.log.read() if isinstance(entry.body, User) and not is_empty(entry.body)
        ]
        need = 7 + COUNTER.count(self.system or "") + words + 60 * min(2, len(texts)) + 60
        assert need * max(1.0, view.calibration) > limit.usable

    @invariant()
    def nothing_acknowledged_is_lost(self) -> None:
        if hasattr(self, "conv"):
            assert len(self.conv.log) >= self.acknowledged  # law 11
            self.acknowledged = len(self.conv.log)

    def teardown(self) -> None:
        if not hasattr(self, "conv"):
            return
        log = self.conv.log
        assert appearance_of(self.conv.view) == appearance(list(log.read()), COUNTER)  # law 15
        self.conv.close()
        shutil.rmtree(self.folder)


TestConversation = ConversationMachine.TestCase
TestConversation.settings = settings(max_examples=settings().max_examples // 3, stateful_step_count=40)
