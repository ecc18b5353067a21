"""Brings the draft of a plan within the budget, by adding the edits that the policy's strategies propose.

First, `arrival` strategies trim entries that were not sent yet, which breaks no cached prefix. If the fullest limit is
then at the trigger, `pressure` strategies run until the window is down to the target: one deep compaction, and then
many requests without another. If the window still does not fit, the `last_resort` strategies run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from typing import cast

from msgspec.structs import replace

from transom import texts
from transom.cache_prices import CompactionCosts, Prices
from transom.core.budget import between, fits, pressure
from transom.core.budget_bill import impossible
from transom.core.edit import Edit, Fold
from transom.core.message import Note
from transom.core.plan_draft import Draft, pin_before_fold, pin_required
from transom.core.plan_request import PlanRequest
from transom.core.policy import Choice, KeptUnit, Strategy, Target, name_of, naming, policy_limit, wants_of
from transom.core.priced_choices import (
    PricedChoice,
    PricedWindow,
    choice_cost,
    compaction_costs,
    price_of_summary,
    price_of_want,
    stand_in,
)
from transom.core.redact_derived_text import redacted_want
from transom.core.summary import Summarise, Summary, SummaryOptions
from transom.core.targets import Targets
from transom.core.unit import Unit
from transom.core.view import View
from transom.errors import BudgetImpossible, ContextStillTooLarge, InvalidEdit, quote

MAX_PASSES = 16
"""The maximum number of passes of one plan. A pass runs strategies, and may hide a state note in a fold: the note is
then due again and needs room, so another pass looks again. The passes end when one of them adds nothing. So a second
plan, made right after this one, has nothing to do (law 8 in CONTRIBUTING.md)."""

MAX_FUTILE_EDITS = 1_000
"""How many edits in a row a strategy may propose that make the window no smaller: this number, plus one for each entry
of the log and each byte of the window. We take it that a strategy that proposes more never ends."""

SUMMARY_CHECKS = 20
"""With prices: how often plans check, while a window fills up, whether a new summary is worth its price: each time the
window has grown past the next 1/20 of its limit. A check takes long, because it tries every choice."""


class BudgetEnforcer:
    """Adds edits to the draft of a plan, until its window is within the budget. Used for one plan: `run`, and then
    `recall`.

    The summaries that strategies want are collected in `wants`, if the request has `summary_options`.
    """

    def __init__(self, draft: Draft, request: PlanRequest) -> None:
        self.draft, self.budget, self.policy, self.ref = draft, request.budget, request.policy, request.ref
        self._request, self.redact = request, request.options.redact
        self.targets = Targets(draft, request)
        self.summary_options = request.summary_options
        self.wants: list[Summarise] = []
        self.costs: CompactionCosts | None = None
        """What `Sent.costs` will have: with prices, the costs that were compared to choose a compaction or to decide
        whether a summary is wanted. None if nothing was compared."""
        self._why = "full"
        """As `CompactionCosts.why`."""
        self._now = False
        """True if a compaction was asked for, although the window is not full."""
        self._kept_units: dict[int, KeptUnit] = {}
        """The units that the policy's keep rules name, by key, as they were last asked."""

    def run(self, *, now: bool = False) -> None:
        """Run the `arrival` strategies on what is new. Then compact if the fullest limit is at the policy's trigger, if
        the window is over a limit, or if prices say that a compaction pays. `now`: compact in any case.

        Raises BudgetImpossible, with the size of each part, if the head alone does not fit, or if nothing makes the
        window fit; in the second case ContextStillTooLarge, its subclass, if the policy has `pressure` or `last_resort`
        strategies. Raises InvalidEdit if a strategy proposes something that is no edit, or goes on proposing edits that
        make nothing smaller.
        """
        head = self.draft.view.head_and_request_size
        if not fits(head, self.targets.limit):  # before all other work, whose time grows with what is new in the log
            raise impossible(self._request, self.draft.view, head)
        # Pins first: a fold of somebody else may hide the task. Pinned, it takes room that the strategies must find.
        pin_required(self.draft)
        self.run_arrival()
        if self.budget.prices is not None:
            self._lower_limit_where_it_pays(self.budget.prices)
        self._now = now
        if now:
            has_new_summary = any(isinstance(entry.body, Summary) for entry in self.draft.entries)
            self.targets.may_replace_summary = has_new_summary or (
                self.summary_options is not None and self.summary_options.may_replace
            )
            # With a limit as high as the window, the window is full: the strategies then do what they always do.
            self.targets.lower_limit(self.targets.used().tokens)
        # Nearly every request ends here. What follows looks at the whole window, this at a few sums.
        if self._is_surely_quiet():
            return
        self._compact()
        if self.summary_options is not None and not self.summary_options.waits:
            self._ask_in_advance()

    def run_arrival(self) -> None:
        """Run the `arrival` strategies, if there are slots that no request has carried. Needs no `run` before it."""
        view = self.draft.view
        # Only slots that were not sent: a trim there breaks no cached prefix, so it needs no reason to wait.
        if self.policy.arrival and view.shared_slots < len(view.slots):
            self._take_edits(self.policy.arrival, self.targets.on_arrival(), only_as_needed=False)

    def _compact(self) -> None:
        """Run passes until one adds nothing. Raises as `run` does."""
        for _ in range(MAX_PASSES):
            before = len(self.draft.entries)
            self._one_pass()
            if len(self.draft.entries) == before:
                break
        if not fits(self.targets.used(), self.targets.limit):
            view = self.draft.view
            listed = {view.newest_unit: "newest_turn", view.newest_user: "newest_user"}
            listed |= dict.fromkeys(view.first_task, "first_task")
            kind = ContextStillTooLarge if self.policy.last_resort or self.policy.pressure else BudgetImpossible
            raise impossible(self._request, view, self.targets.used(), listed, kind)

    def recall(self) -> None:
        """Add the fact that the policy's recall steps give for the newest turn, if the window is below the trigger with
        it; with a trigger of 0 or infinity, below the limits. Otherwise, or if something was recalled for this turn
        already, add nothing. Raises InvalidEdit if a step gives a value that is not a Recalled with a text.

        Call it after `run`: a compaction in `run` has made room for the fact. So a second plan, made right after this
        one, has nothing to do.
        """
        if (recalled := self.targets.due_recall()) is None:
            return
        # Not `lowered_limit`: prices may have lowered that for this one request.
        limit = policy_limit(self.budget, self.policy, self.draft.view.calibration)
        # A trigger of 0 or infinity says when to compact (always, never), and not how full a window may be.
        fullest = self.policy.trigger if 0 < self.policy.trigger <= 1 else 1.0
        if pressure(self.targets.used_with_recall(), self.draft.view.fixed_size, limit) < fullest:
            self.draft.add(recalled)

    def _one_pass(self) -> None:
        """Make room at the trigger, run the last resort above a limit, and fold superseded notes if the prefix is
        broken."""
        # The trigger counts recalled text, the limit does not: nothing is ever removed to make room for it.
        if not self.targets.has_room_below_trigger(self.targets.used_with_recall()):
            self._make_room()
        if not fits(self.targets.used(), self.targets.limit):
            view = self.draft.view
            # Turns that the user restored and that do not fit are folded again as the policy folds, not left out.
            again = self.policy.pressure if any(map(view.user_restored, view.slots)) else ()
            self._run_strategies((*again, *self.policy.last_resort), over_limit=True)
        if self.draft.view.first_break is not None:
            self._fold_superseded_notes()

    def _make_room(self) -> None:
        """Run the `pressure` strategies, or with prices, once in a plan, the policy's cheapest choice."""
        prices = self.budget.prices
        if prices is None or self.costs is not None:
            self._run_strategies(self.policy.pressure, over_limit=False)
            return
        window, before = self._priced_window(prices), len(self.draft.entries)
        # Choices are tried with the summaries that there are. Where the request can wait for a new one, trying them
        # would decide before it is made.
        waits = self._now or (self.summary_options is not None and self.summary_options.waits)
        tried = [] if waits else self._tried_choices(window, in_advance=False)
        if tried:
            self.draft.become(tried[0].draft)
        else:
            self._run_strategies(self.policy.pressure, over_limit=False)
        if len(self.draft.entries) > before:
            all_costs = [one.cost for one in tried]
            if not tried:
                left = self.targets.used().tokens
                all_costs = [choice_cost(self.policy.name, self.draft.view, left, window)]
            self.costs = compaction_costs(window, self.draft.view, self._why, all_costs, all_costs[0].name)

    def _run_strategies(self, strategies: Iterable[Strategy], *, over_limit: bool) -> None:
        """Run strategies in order until the target is met. `over_limit`: the window does not fit, so keep rules do not
        count."""
        self._kept_units = {} if over_limit or not self.draft.view.slots else self._ask_keep_rules()
        for strategy in strategies:
            target = self.targets.under_pressure(self._kept_units, over_limit=over_limit)
            if target.is_met(self.draft.view) or not self.draft.view.slots:
                return
            if self.summary_options is not None and self.summary_options.waits and not over_limit and not self.wants:
                self._ask(strategy, self.summary_options, target)
            self._take_edits((strategy,), target, only_as_needed=True)

    # ---- wants

    def _ask_in_advance(self) -> None:
        """Collect the summaries that the next compaction will want, once the window has reached `soft_trigger`."""
        soft = self.policy.soft_trigger
        assert self.summary_options is not None
        if soft is None or self.costs is not None:  # with costs, this plan has compacted the window already
            return
        fullest = pressure(self.targets.used(), self.draft.view.fixed_size, self.targets.lowered_limit)
        if fullest < soft * self.policy.trigger and not self._is_soon_cheaper(soft):
            return
        self._kept_units = self._ask_keep_rules() if self.draft.view.slots else {}
        strategies = self.policy.pressure
        if self.budget.prices is not None and self.policy.choices:
            strategies = self._worth_a_summary(self.budget.prices)
        for strategy in strategies:
            self._ask(strategy, self.summary_options, self.targets.under_pressure(self._kept_units, over_limit=False))

    def _is_soon_cheaper(self, soft: float) -> bool:
        """Whether there are prices, and the window has the share `soft` of the size at which a compaction pays."""
        view, prices = self.draft.view, self.budget.prices
        return prices is not None and self._compaction_pays(prices, view, self.targets.used().tokens, soft)

    def _worth_a_summary(self, prices: Prices) -> tuple[Strategy, ...]:
        """The strategies of the choice that would be cheapest if the summaries that it wants were made. Sets `costs`.
        Empty if that choice wants no summary worth making, or if the window has not grown much since (see
        `SUMMARY_CHECKS`)."""
        window = self._priced_window(prices)
        step = max(1, window.limit // SUMMARY_CHECKS)
        if self.draft.view.sent_tokens // step == window.tokens // step:
            return ()
        wants = [want for choice in self.policy.choices for want in self.wants_of_choice(choice)]
        if self.summary_options is None or not any(want.max_tokens >= self.summary_options.least for want in wants):
            return ()
        tried = self._tried_choices(window, in_advance=True)
        if not tried or not self.wants_of_choice(tried[0].choice):
            return ()
        self.costs = compaction_costs(
            window, self.draft.view, "soon", [one.cost for one in tried], tried[0].choice.name
        )
        return tried[0].choice.strategies

    # ---- choices

    def _tried_choices(self, window: PricedWindow, *, in_advance: bool) -> list[PricedChoice]:
        """Try each choice of the policy on a draft of its own. Returns those that bring the window below the trigger
        and make it smaller, the cheapest for each call first; empty if none does.

        `in_advance`: the window is not full yet. So they are tried with a token limit as high as the window, and as if
        the summaries that they want were made; the price of these is added.
        """
        found: list[PricedChoice] = []
        for choice in self.policy.choices:
            tried, summary = self._attempt(), 0.0
            if in_advance:
                full = replace(self.targets.lowered_limit, tokens=self.targets.used().tokens)
                tried.targets.lowered_limit = full
                for want in tried.wants_of_choice(choice):
                    summary += price_of_want(want, tried.draft.view, window)
                    tried.draft.add(stand_in(want, tried.draft.view.counter))
            tried.run_choice(choice)
            left = tried.targets.used().tokens
            if tried.targets.has_room_below_trigger(tried.targets.used_with_recall()) and left < window.tokens:
                cost = choice_cost(choice.name, tried.draft.view, left, window, summary)
                found.append(PricedChoice(choice, cost, tried.draft))
        return sorted(found, key=lambda one: one.cost.per_call)

    def _attempt(self) -> BudgetEnforcer:
        """An enforcer with the same settings on a copy of the draft. It asks for no summaries."""
        other = copy(self)
        other.draft, other.summary_options, other.wants, other._kept_units = self.draft.copy(), None, [], {}
        other.targets = self.targets.of_draft(other.draft)
        return other

    def run_choice(self, choice: Choice) -> None:
        """Run the strategies of a choice in order on the draft, until the target is met. If they end before that, the
        draft keeps what they did; nothing is raised."""
        self._run_strategies(choice.strategies, over_limit=False)

    def wants_of_choice(self, choice: Choice) -> list[Summarise]:
        """The summaries that the strategies of a choice want, as the draft is now. The draft and `wants` are not
        changed. Unlike those in `wants`, the summaries are not redacted, and may be shorter than
        `SummaryOptions.least`."""
        target = self.targets.under_pressure(self._kept_units, over_limit=False)
        return [w for one in choice.strategies for w in wants_of(one, self.draft.view, target, self.policy)]

    def _priced_window(self, prices: Prices) -> PricedWindow:
        """What the price of every choice depends on. Its limit is the size at which the trigger compacts the window."""
        used, view, fixed = self.targets.used().tokens, self.draft.view, self.draft.view.fixed_size
        full = between(fixed, policy_limit(self.budget, self.policy, view.calibration), min(1.0, self.policy.trigger))
        return PricedWindow(prices, used, view.since_break.growth(used), full.tokens)

    def _ask(self, strategy: Strategy, summary_options: SummaryOptions, target: Target) -> None:
        """Add the summaries that a strategy wants to `wants`, redacted, unless they would be too short (`least`)."""
        target = replace(
            target, waits_for_wants=summary_options.waits, summaries_can_be_made=summary_options.can_be_made
        )
        for want in wants_of(strategy, self.draft.view, target, self.policy):
            if want.max_tokens < summary_options.least:
                continue
            whole = replace(want, focus=summary_options.focus, notes=summary_options.notes, waits=summary_options.waits)
            if self.redact is not None:
                whole = redacted_want(self.draft.view, whole, self.redact, target.indexes)
            self.wants.append(whole)

    # ---- when to compact

    def _lower_limit_where_it_pays(self, prices: Prices) -> None:
        """Lower the token limit to the window's size if the prices say that a compaction pays: so the window is full.

        Only while there are slots that no request has carried: a second plan right after this one must not compact
        again (law 8).
        """
        view, used = self.draft.view, self.targets.used().tokens
        has_new_slots = view.shared_slots < len(view.slots)
        if has_new_slots and used < self.targets.lowered_limit.tokens and self._compaction_pays(prices, view, used):
            self.targets.lower_limit(used)
            self._why = "price"

    def _compaction_pays(self, prices: Prices, view: View, used: int, share: float = 1.0) -> bool:
        """Whether a compaction pays now; with a `share` below 1, whether it will soon (see `SinceBreak.pays`).

        If the policy has summaries made in the background, a compaction costs the price of one too: we take that of the
        newest summary.
        """
        since = view.since_break
        if not since.pays(prices, used, share=share):
            return False
        newest = None if self.policy.soft_trigger is None else view.summary
        if newest is None:
            return True
        price = price_of_summary(newest[1], prices, view.counter, window=view.sent_tokens)
        return since.pays(prices, used, price, share)

    def _is_surely_quiet(self) -> bool:
        """Whether the window is certainly below the trigger, and below the soft trigger if summaries are asked for."""
        soft = self.policy.soft_trigger if self.summary_options is not None else None
        if soft is not None and self._is_soon_cheaper(soft):
            return False
        return self.targets.is_surely_below(1.0 if soft is None else soft)

    # ---- steps

    def _ask_keep_rules(self) -> dict[int, KeptUnit]:
        """The units that the keep rules name, by key. Where several rules name a unit, the first one counts. The rules
        are asked without the units that were kept before: these are forgotten here (`_kept_units`)."""
        self._kept_units, kept = {}, dict[int, KeptUnit]()
        target = self.targets.under_pressure(self._kept_units, over_limit=False)
        for rule in self.policy.keep:
            with naming(rule, self.policy):
                for unit in rule(self.draft.view, target):
                    kept.setdefault(unit.key, unit)
        return kept

    def _take_edits(self, strategies: Iterable[Strategy], target: Target, *, only_as_needed: bool) -> None:
        """Add the proposed edits that apply, folds redacted and with pins in front. `only_as_needed`: stop when the
        target is met."""
        for strategy in strategies:
            for edit in self._proposals(strategy, target):
                taken = edit
                if isinstance(edit, Fold) and self.draft.view.refusal(edit) is None:
                    taken = target.as_logged(self.draft.view, edit)
                    if self.draft.view.refusal(taken) is not None:
                        continue  # the names of secrets are longer than what was to be quoted
                    pin_before_fold(self.draft, edit, self._kept_units)
                self.draft.propose(taken)
                if only_as_needed and target.is_met(self.draft.view):
                    return

    def _proposals(self, strategy: Strategy, target: Target) -> Iterator[Edit]:
        """The edits that a strategy proposes. Raises InvalidEdit if it proposes something else, or too many edits in a
        row that make the window no smaller (`MAX_FUTILE_EDITS`)."""
        least = self.draft.view.total.bytes
        most, without = MAX_FUTILE_EDITS + self.draft.view.length + least, 0
        with naming(strategy, self.policy):
            for edit in strategy(self.draft.view, target):
                if not isinstance(cast("object", edit), Edit):
                    raise InvalidEdit(f"strategy {name_of(strategy)} must propose edits, not {quote(edit)}")
                yield edit
                size = self.draft.view.total.bytes
                without = 0 if size < least else without + 1
                least = min(size, least)
                if without > most:
                    raise InvalidEdit(
                        f"strategy {name_of(strategy)} proposed {without:,} edits in a row that make nothing smaller"
                    )

    def _fold_superseded_notes(self) -> None:
        """Fold each note that has a newer one of its key, where the prefix is broken: there it costs nothing more."""
        view = self.draft.view
        for slot in view.slots[max(0, view.shared_slots) :]:
            note = slot.first_fact if isinstance(slot, Unit) else None
            if (
                isinstance(note, Note)
                and note.key
                and view.notes[note.key][0] != slot.first
                and not view.user_restored(slot)
            ):
                text = texts.superseded_note(self.ref(slot.first))
                self.draft.propose(Fold(first=slot.first, last=slot.last, text=text, why="superseded"))
