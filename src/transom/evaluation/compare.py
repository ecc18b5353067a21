"""Compares policies on recorded conversations.

It asks: are the windows valid, what do they cost, how often does the cached prefix break, and do they contain what the
next step needs?
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import inf

from msgspec import Struct

from transom.cache_prices import ANTHROPIC, OPENAI, Prices, RequestTokens
from transom.core.message import Assistant, Raw
from transom.core.tokens import MESSAGE_TOKENS, TokenCounter
from transom.core.unit import Unit
from transom.core.window import Window
from transom.errors import BudgetImpossible
from transom.evaluation.grounding import Grounding, History, grounding, texts_of
from transom.evaluation.replay_stats import ReplayStats, newest_fold, replay_stats
from transom.evaluation.simulated_cost import Cost, cost
from transom.evaluation.sums import Sums, share
from transom.wire.openai import OPENAI_CHAT


class RecordedCall(Struct, frozen=True, kw_only=True):
    """One call of a recorded conversation, with the window that a policy gives it.

    `number`: from 1. `at`: the position of its reply among the messages. `window`: None if no window fits; then
    `refused` says why. `request`: the part of the request's body that the window gives; empty without a window.
    `seconds`: of CPU that building both took.
    """

    number: int
    at: int
    window: Window | None
    refused: BudgetImpossible | None = None
    request: Raw
    seconds: float = 0.0


class Compared(Sums, frozen=True, kw_only=True):
    """Figures of one policy, summed over conversations.

    A refused call is in `stats.calls`, `stats.refused` and `stats.seconds`, and in no other sum: nothing was sent that
    could cost or be grounded.

    - `stats`: counts and tokens. `anthropic`, `openai`: cost with the prices of each; `model_cost`: with the prices
      that were given, if any.
    - `requests`: for each sent call, the messages of the user so far, summed; `requests_kept`: those of them that the
      window has, at least half of each.
    - `consecutive_breaks`: breaks at a call where the sent call before it had a break too.
    - `reasoning_turns`: for each sent call, the turns of the model since the newest user message, summed;
      `reasoning_kept`: those of them that the window has behind the same prefix as when they were made.
    - `grounding`: names that the next step needs.
    - `summaries`, `failed_summaries`: how many a model made, and how often it made none; 0 where no model was asked.
    """

    stats: ReplayStats = ReplayStats()
    anthropic: Cost = Cost()
    openai: Cost = Cost()
    model_cost: Cost = Cost()
    requests: int = 0
    requests_kept: int = 0
    consecutive_breaks: int = 0
    reasoning_turns: int = 0
    reasoning_kept: int = 0
    grounding: Grounding = Grounding()
    summaries: int = 0
    failed_summaries: int = 0

    @property
    def append_only(self) -> float | None:
        """The share of sent calls whose window begins with the whole window before; None if nothing was sent."""
        return share(self.stats.sent - self.stats.breaks, self.stats.sent)

    @property
    def requests_share(self) -> float | None:
        """The share of the user's messages that the windows have; None if the user has said nothing before a call."""
        return share(self.requests_kept, self.requests)

    @property
    def found_share(self) -> float | None:
        """Of the old names that the next steps use, the share that the windows have. Old are names that were last
        mentioned further back than the budget has tokens. If the next steps use no old names, the share is of all names
        that they use; None if they use none."""
        every_name, old_names, _ = self.grounding.shares
        return every_name if old_names is None else old_names

    @property
    def reasoning_lost(self) -> float | None:
        """The share of the turns since the newest user message whose reasoning cannot be sent any more, if reasoning is
        bound to its prefix; None without such turns."""
        return share(self.reasoning_turns - self.reasoning_kept, self.reasoning_turns)


def tokens_of(message: Raw, counter: TokenCounter) -> int:
    """Count the tokens of an OpenAI Chat message: of its texts (`grounding.texts_of`) by `counter`, and 4
    (`MESSAGE_TOKENS`) for the message. How far back a name was mentioned is measured in these tokens."""
    return MESSAGE_TOKENS + sum(map(counter.count, texts_of(message)))


class Judge:
    """Judges the windows of one conversation under one policy, one after another: `add` each call, then take the
    `result`.

    `messages`: the conversation, as OpenAI Chat messages. `budget`: the tokens that a window may have; names that were
    last mentioned further back than this are old. `counter`: counts how far back that is. `injected`: the positions of
    messages in the user's role that a program wrote.
    """

    def __init__(
        self, messages: Sequence[Raw], *, budget: int, counter: TokenCounter, injected: Collection[int] = ()
    ) -> None:
        self._messages, self._budget, self._counter = messages, budget, counter
        self._injected, self._requests = injected, UserRequests()
        self._history, self._read, self._tokens = History(), 0, 0
        self._newest, self._broke = -1, False
        self._turns, self._intact, self._seen = 0, set[int](), 0
        self._sent: list[RequestTokens] = []
        self._whole: list[int] = []
        self._total = Compared(stats=ReplayStats(conversations=1))

    def add(self, one: RecordedCall) -> None:
        """Judge the next call. Calls must come in the order of the conversation. The window of a call is compared with
        the messages before `RecordedCall.at`."""
        self._total = self._total.plus(self._judged(one))

    def result(self, prices: Prices | None = None) -> Compared:
        """Return the figures of all calls that were added. `prices`: those for `Compared.model_cost`; None leaves it
        0."""
        turns = sum(message.get("role") == "assistant" for message in self._messages)
        anthropic, openai = (cost(self._sent, self._whole, each) for each in (ANTHROPIC, OPENAI))
        skipped = ReplayStats(skipped=turns - self._total.stats.calls)
        model_cost = Cost() if prices is None else cost(self._sent, self._whole, prices)
        return self._total.plus(Compared(stats=skipped, anthropic=anthropic, openai=openai, model_cost=model_cost))

    def _judged(self, one: RecordedCall) -> Compared:
        """Return the figures of one call, without its cost, which is computed at the end."""
        window = one.window
        if window is None:
            return Compared(stats=ReplayStats(calls=1, refused=1, seconds=one.seconds))
        invalid, over = bool(OPENAI_CHAT.violations(one.request)), window.tokens > self._budget
        checked = ReplayStats(invalid=int(invalid), over=int(over), seconds=one.seconds)
        texts = [text for message in one.request["messages"] for text in texts_of(message)]
        return self._call(one.at, window, texts).plus(Compared(stats=checked))

    def _call(self, at: int, window: Window, texts: list[str]) -> Compared:
        for position, message in enumerate(self._messages[self._read : at], self._read):
            self._tokens += tokens_of(message, self._counter)
            self._history.add(message, self._tokens)
            role = message.get("role")
            if role == "user" and position not in self._injected:
                self._requests.add(list(texts_of(message)))
            self._turns = 0 if role == "user" else self._turns + (role == "assistant")
        stats = replay_stats(window, newest_before=self._newest)
        consecutive_breaks = int(bool(stats.breaks) and self._broke)
        self._read, self._broke = at, bool(stats.breaks)
        self._newest = max(self._newest, newest_fold(window))
        self._sent.append((stats.tokens, stats.shared_tokens))
        self._whole.append(stats.passthrough)
        found = grounding(self._history, texts, self._messages[at], self._tokens, self._budget)
        return Compared(
            stats=stats,
            requests=len(self._requests),
            requests_kept=self._requests.kept(texts),
            consecutive_breaks=consecutive_breaks,
            reasoning_turns=self._turns,
            reasoning_kept=min(self._turns, self._reasoning_kept(window)),
            grounding=found,
        )

    def _reasoning_kept(self, window: Window) -> int:
        """Count the turns since the newest user message that stand behind the prefix that they were made on.

        A turn loses it if a slot before it changes, in this window or one that was sent before.
        """
        view, changed = window.view, inf if window.breaks is None else window.breaks.slot
        units = ((at, slot) for at, slot in enumerate(view.slots) if isinstance(slot, Unit))
        turns = [(at, unit.key) for at, unit in units if isinstance(unit.first_fact, Assistant)]
        self._intact = {key for at, key in turns if at <= changed and (key in self._intact or key >= self._seen)}
        self._seen = view.length
        return sum(key > (view.newest_user or -1) for key in self._intact)


PIECE = 40
"""Characters of a piece of a message. A window has the piece if it has these characters in a row."""
MOST_PIECES = 40
"""The most pieces that are looked for, spread evenly over a long message."""


class UserRequests:
    """The messages of the user so far, cut into pieces of 40 characters, which are looked for in windows: at most 40
    pieces of each message, spread evenly over it. Blanks and line ends count as one blank, since records join lines."""

    def __init__(self) -> None:
        self._pieces: list[tuple[str, ...]] = []

    def __len__(self) -> int:
        return len(self._pieces)

    def add(self, texts: Sequence[str]) -> None:
        """Add a message, by its texts. A message without a text is not counted."""
        text = " ".join(" ".join(texts).split())
        if text:
            starts = range(0, max(1, len(text) - PIECE + 1), PIECE)
            step = -(-len(starts) // MOST_PIECES)
            self._pieces.append(tuple(text[at : at + PIECE] for at in starts[::step]))

    def kept(self, window: Sequence[str]) -> int:
        """Count the messages of which the texts of a window have at least half of the pieces."""
        shown = " ".join(" ".join(window).split())
        return sum(2 * sum(piece in shown for piece in pieces) >= len(pieces) for pieces in self._pieces)
