"""The laws of a plan, that is of every request before it is sent: 1 to 5, 8 and 10."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from transom.core.budget import Budget
from transom.core.codec import decode, encode
from transom.core.edit import Edit, Fold, Pin, Trim
from transom.core.entry import Entry, Sent
from transom.core.message import Head
from transom.core.plan import Plan, plan
from transom.core.plan_request import PlanRequest, WindowOptions
from transom.core.policy import Policy
from transom.core.reducer import apply, build_view
from transom.core.undo import undo_last
from transom.core.unit import FoldedSlot
from transom.core.view import View
from transom.core.window import Window
from transom.errors import BudgetImpossible
from transom.testing.fakes import Entries
from transom.testing.laws.log import check_bound, check_order, check_text, check_thrift
from transom.testing.laws.reachable import check_reachable, numbers_of, references_in
from transom.testing.laws.shared import COUNTER, blanked, messages_of, texts_in, unbound, visible
from transom.testing.view_appearance import appearance_of
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named
from transom.wire.rendering import render, render_messages


class PlannedCall(NamedTuple):
    """A log, the plan for its next request, and what that request was planned with: what `plan_call` returns.

    `before`: the view of the log without the plan. `dialect`: the dialect of the request, or its name.
    """

    log: Sequence[Entry]
    options: WindowOptions
    budget: Budget
    policy: Policy
    dialect: str | Dialect
    before: View
    plan: Plan

    @property
    def window(self) -> Window:
        """The window that is about to be sent."""
        return self.plan.window

    @property
    def whole_log(self) -> list[Entry]:
        """The log with the plan's entries behind it; the last one is the `Sent`."""
        return [*self.log, *self.plan.entries]

    @property
    def after(self) -> View:
        """The view of `whole_log`, made from the plan's own view."""
        return apply(self.plan.before, self.plan.entries[-1:]).with_log(Entries(self.whole_log))


def plan_call(
    log: Sequence[Entry],
    budget: Budget,
    policy: Policy,
    *,
    state: Mapping[str, str] | None = None,
    dialect: str | Dialect = "openai",
) -> PlannedCall:
    """Plan the next request of a log, whose head is the newest head in the log. Nothing is appended. `state`: what must
    be announced, by key; None: nothing. `dialect`: the one in which the request is sent; it counts the tokens, with
    `WordCounter`.

    Raises BudgetImpossible if no window fits, and AssertionError if the bill of that error is wrong.
    """
    spoken = dialect_named(dialect)
    view = build_view(Entries(log), spoken.format_counter(COUNTER))
    options = WindowOptions(head=view.head, state=state or {}, required_user_turn=spoken.required_user_turn)
    try:
        done = plan(PlanRequest(view, options, budget, policy))
    except BudgetImpossible as refused:
        check_refusal(refused)
        raise
    return PlannedCall(log, options, budget, policy, dialect, view, done)


def check_plan(call: PlannedCall) -> None:
    """Check every law that holds of a single plan. Raises AssertionError for the first one that is broken.

    The window is valid (1) and within the budget (2). The stored log gives it again (4), an undo of the plan's edits
    shows what was there before (5), the order of its trims makes no difference (6), a fold saves bytes and a trim adds
    none (7). A second plan has nothing to do (8). What is hidden can be read back (9), and what must be there is there
    (10). Texts are whole (12), and bound reasoning stands on its prefix (13).
    """
    check_valid(call.window, call.dialect)
    check_fits(call.window, call.budget, call.dialect)
    check_replay(call)
    check_plan_undo(call)
    for run in _runs_of_trims(call):
        check_order(*run)
    check_thrift(call.whole_log)
    check_settled(call)
    check_reachable(call.after, call.dialect)
    check_present(call)
    check_text(call.window.view)
    check_bound(call.whole_log, call.before.counter)


def check_valid(window: Window, dialect: str | Dialect = "openai") -> None:
    """Law 1: the window breaks no rule of the provider. A window without messages is not checked."""
    if messages_of(window.view, dialect):  # a request without messages is the caller's to notice
        broken = dialect_named(dialect).violations(render(window.view, dialect))
        assert broken == [], f"the window breaks rules of {dialect}: {broken}"


def check_fits(window: Window, budget: Budget, dialect: str | Dialect = "openai") -> None:
    """Law 2: the window is within every limit of the budget.

    Tokens, bytes and images are those that the window itself counts. Messages are counted in the rendered request:
    those that the API joins count as one, and a call that is an item of its own (Responses) counts as a part of the
    item before it if the model wrote that item too.
    """
    items = messages_of(window.view, dialect)
    by_model = [item.get("role") == "assistant" or str(item.get("type", "")).endswith("_call") for item in items]
    sent = len(items) - sum(
        before and call and "role" not in item
        for before, call, item in zip(by_model, by_model[1:], items[1:], strict=False)
    )
    size = window.size
    assert window.tokens <= budget.usable, f"{window.tokens} tokens, of at most {budget.usable}"
    assert budget.max_messages is None or sent <= budget.max_messages, (
        f"{sent} messages, of at most {budget.max_messages}"
    )
    assert budget.max_bytes is None or size.bytes <= budget.max_bytes, (
        f"{size.bytes} bytes, of at most {budget.max_bytes}"
    )
    assert budget.max_images is None or size.images <= budget.max_images, (
        f"{size.images} images, of at most {budget.max_images}"
    )


def check_refusal(refused: BudgetImpossible) -> None:
    """Law 2: what was refused did not fit, and the bill of the error says so: it needs more than the limit."""
    assert refused.bill["need"] > refused.bill["limit"], f"what was refused fits: {refused}"


def check_prefix(before: Window, after: Window, dialect: str = "openai") -> None:
    """Law 3: of two consecutive requests, the later one begins with the whole earlier one, unless it names its break
    (`Window.breaks`); then it has the same slots up to the break.

    Where an API joins neighbouring messages, the last message of the earlier request may be longer in the later one. So
    blocks are compared, each with the other fields of its message.
    """
    old, new = (list(_all_blocks(messages_of(window.view, dialect))) for window in (before, after))
    if after.breaks is None:
        assert new[: len(old)] == old, "a break without a name"
        return
    assert after.breaks.why, "a break without a reason"
    same = max(0, after.breaks.slot)
    looks = [[slot.fingerprint() for slot in window.slots[:same]] for window in (before, after)]
    assert looks[0] == looks[1], "slots before the break have changed"


def check_plans_in_turn(
    log: Sequence[Entry],
    news: Sequence[Entry],
    budget: Budget,
    policy: Policy,
    *,
    state: Mapping[str, str] | None = None,
    dialect: str = "openai",
) -> None:
    """Law 3 for two requests in a row: the window of the second begins with the whole window of the first, or names its
    break (`check_prefix`).

    The first is planned for `log`. The second is planned for `log`, the entries of the first plan, and behind them
    those of `news`, renumbered; folds, trims, `Sent`s and heads among them are left out. If one of the two does not fit
    the budget, nothing is checked. Raises AssertionError if the law is broken.
    """
    try:
        first = plan_call(log, budget, policy, state=state, dialect=dialect)
        facts = [one for one in news if not isinstance(one.body, (Fold, Trim, Sent, Head))]
        longer = first.whole_log
        longer += [Entry(seq=seq, at=0.0, body=one.body, meta=one.meta) for seq, one in enumerate(facts, len(longer))]
        second = plan_call(longer, budget, policy, state=state, dialect=dialect)
    except BudgetImpossible:
        return
    check_prefix(first.window, second.window, dialect)


def check_replay(call: PlannedCall) -> None:
    """Law 4: the stored log gives the live view again, and its `Sent` has the fingerprint of the window."""
    stored = [decode(encode(one)) for one in call.whole_log]
    sent = stored[-1].body
    assert isinstance(sent, Sent)
    counter = call.before.counter
    assert appearance_of(build_view(Entries(stored), counter)) == appearance_of(call.after), (
        "the stored log gives another view"
    )
    assert (
        build_view(Entries(stored), counter, len(stored) - 1).fingerprint()
        == sent.fingerprint
        == call.window.fingerprint
    ), "the stored log gives another window than the one that was sent"


def check_plan_undo(call: PlannedCall) -> None:
    """Law 5: after all edits of a plan were undone, the window shows what was there before the plan, and the facts that
    the plan added. A plan without edits is not checked."""
    log, counter = [unbound(one) for one in call.whole_log], call.before.counter
    view = build_view(Entries(log), counter)
    made = [seq for seq in view.live_edits if seq >= len(call.log)]
    if not made:
        return
    assert {log[seq].plan for seq in made} == {len(call.log)}, "the edits of a plan do not have its number"
    undone = build_view(Entries([*log, *undo_last(view, why="", at=0.0)]), counter)
    bare = [blanked(one) if isinstance(one.body, Edit) else one for one in log[len(call.log) :]]
    assert visible(undone) == visible(build_view(Entries([*log[: len(call.log)], *bare]), counter)), (
        "undoing the plan does not show what was there before"
    )


def check_settled(call: PlannedCall) -> None:
    """Law 8: a plan leaves nothing to do. A second plan, made as if nothing had been sent, consists of a `Sent`
    alone."""
    view = call.after
    view = replace(view, in_flight=None)
    again = plan(PlanRequest(view, call.options, call.budget, call.policy))
    left = [one.body for one in again.entries if not isinstance(one.body, Sent)]
    assert not left, f"a second plan has more to do: {left}"


def check_present(call: PlannedCall) -> None:
    """Law 10: head, state, first task and newest user message are in the window: the last two verbatim, or named by a
    reference in a text of the window.

    Not checked is a message that an edit without a `why`, which is the caller's own, shortens or excerpts.
    """
    view, spoken = call.after, dialect_named(call.dialect)
    request = render(view, call.dialect)
    texts = list(texts_in(request))
    for key, text in call.options.state.items():
        assert f"[{key}] {text}" in texts, f"the state {key!r} is missing"
    if call.options.head.messages:
        assert view.head == call.options.head, "the head has changed"
    blocks = list(_blocks(messages_of(view, call.dialect)))
    for key in view.required:
        if any(not cut.trim.why for cut in view.unit(key).trims):
            continue
        slot = view.slots[view.slot_index(key)]
        if isinstance(slot, FoldedSlot) and not slot.why and key in slot.excerpted:
            continue
        fact = view.fetch(view.unit(key).seqs[0]).body
        alone = build_view(Entries([Entry(seq=0, at=0.0, body=fact)]), view.counter)
        whole = _blocks(render_messages(alone, spoken))
        named = any(key in numbers_of(reference) for text in texts for reference in references_in(text))
        assert named or all(block in blocks for block in whole), f"entry {key} is neither there nor named"


def _blocks(messages: Iterable[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The content of messages, block by block, each with the role of its message (of an item without a role, its
    type)."""
    for beside, block in _all_blocks(messages):
        yield str(beside.get("role") or beside.get("type")), beside if block is None else block


def _all_blocks(messages: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Any]]:
    """The content of messages, block by block, each with the other fields of its message. The block of a message
    without content is None."""
    for message in messages:
        beside = {key: value for key, value in message.items() if key not in {"content", "parts"}}
        content: Any = next((message[key] for key in ("content", "parts") if key in message), None)
        if isinstance(content, list):
            yield from ((beside, block) for block in cast("list[Any]", content))
        else:
            yield beside, {"type": "text", "text": content} if isinstance(content, str) else content


def _runs_of_trims(call: PlannedCall) -> Iterator[tuple[list[Entry], list[Edit]]]:
    """The runs of neighbouring trims and pins in a plan, each with the log before it."""
    log, run = list(call.log), list[Edit]()
    for one in call.plan.entries:
        if isinstance(one.body, (Trim, Pin)):
            run.append(one.body)
            continue
        if run:
            yield log[: one.seq - len(run)], run
            run = []
        log = call.whole_log[: one.seq + 1]
