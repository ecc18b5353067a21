"""Finds, opens and forks the conversations of the requests that pass, and lets one request at a time into each."""

from __future__ import annotations

import logging
import os
import re
import secrets
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import lru_cache
from itertools import chain
from threading import Lock
from typing import Any, Literal, cast

from msgspec.structs import replace

from transom.conversation import argument_checks as check
from transom.conversation.conversation import Conversation
from transom.conversation.lock_and_lease import pauses
from transom.conversation.settings import ASSUMED, Settings, SharedLimits
from transom.core.budget import Budget
from transom.core.edit import Trim
from transom.core.entry import Body
from transom.core.log import PendingLog
from transom.core.message import Assistant, Fact, Text, ToolResult, addressed_parts
from transom.core.policy import Policy
from transom.core.reducer import apply
from transom.core.trims import trims_of_entry
from transom.core.unit import FoldedSlot
from transom.errors import ConversationBusy, InvalidEdit, InvalidSetting, UnknownLog, no_setting, quote
from transom.http import prefix_hashes
from transom.http.conversation_matcher import Match, Matcher
from transom.http.provider_apis import CallBody
from transom.http.requesters import Requester
from transom.policies import policy_named
from transom.providers.model_prices import context_size
from transom.redaction import Redacting
from transom.stores import Store, StoredLog, fork_log, open_store
from transom.stores.prefix_index import KnownPrefix, prefix_index
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named
from transom.wire.same_message import fork_point, is_said

OnError = Literal["pass", "fail"]

MOST_OPEN_CONVERSATIONS = 256
"""How many conversations stay open between two of their requests."""
MOST_TENANTS = 10_000
"""How many tenants' learned limits are kept."""
WAIT = 30
"""Seconds that a request waits for another process that has its conversation: the lease of a process that died ends in
this time."""
MOST_RESERVED = 0.25
"""The largest share of a context window that is kept free for the answer, unless the budget has a reserve."""

LEAST_BUDGET = 100
"""The fewest tokens that a budget may leave for a window. With fewer, the newest message would be sent as a reference
to itself."""

FEW = 3
"""A conversation with fewer slots than this may have nothing that a window shows."""

_OPTIONS = frozenset({"summarizer", "digest_role", "counter", "redact"})
_END_OF_FORK = re.compile(r"@\d+-[0-9a-f]{6}$")


_logger = logging.getLogger(__name__)


class OpenConversation:
    """A conversation of the gateway, open or about to be opened. At most one request is in it at a time.

    - `conversation`: the open conversation; None until the first request has opened it.
    - `length`: how many entries the log has up to the last fact that the client of the last request knows; -1 if the
      log has facts that this client does not know.
    - `entries`: how many the log had in all when that request left. As long as it has no more, a client that knows the
      first `length` of them knows everything that was said.
    - `held`: has the lease, which is given back when the request is over.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.conversation: Conversation | None = None
        self.length = self.entries = 0
        self.held = ExitStack()

    @property
    def conv(self) -> Conversation:
        """The open conversation. Only ask while a request is in it: before, it may not be open."""
        assert self.conversation is not None
        return self.conversation


class Gateway:
    """What all requests through one client or proxy share: the store, the settings, the index of known prefixes.

    - `store`, `policy`, `redact`: as for `Conversation.open`.
    - `budget`: as for `Conversation.open`, at least 100 tokens beside the reserve. None: the context size of each
      request's model, or 128,000 tokens and a warning if the price list does not know the model. If the budget has no
      reserve, the request's own limit of the answer is kept free, at most a quarter of the context.
    - `session`: the id of the conversation. Without it, a request belongs to the conversation that its headers or its
      messages name.
    - `user_id`: whose conversations these are, if the request has no tenant.
    - `dialect`: a form of an API, if the server has its own ("mistral", "anthropic_unsigned"). Requests to another API
      do not use it. None: the form that the host of each request speaks.
    - `on_error`: what happens to a request that no window can be built for. "pass" sends it as it came, with a warning
      in `logging`; "fail" answers it with an error.
    - `wait`: seconds that a request waits while another process has its conversation and has said nothing new in it,
      for example one that was stopped and whose lease has not ended. If the other process still has it then, or as soon
      as it has said something, the request gets a conversation of its own. 0: it does not wait.
    - `settings`: more arguments of `Conversation.open`: summarizer, digest_role, counter.

    Any number of threads may use it. Raises InvalidSetting for a wrong value, TypeError for another setting, and what
    opening the store raises.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | Store,
        *,
        budget: Budget | int | str | None = None,
        policy: str | Policy = "default",
        session: str | None = None,
        user_id: str | None = None,
        dialect: str | Dialect | None = None,
        on_error: OnError = "pass",
        wait: float = WAIT,
        redact: Redacting | None = None,
        **settings: Any,
    ) -> None:
        if on_error not in {"pass", "fail"}:
            raise InvalidSetting(f"on_error: must be 'pass' or 'fail', not {quote(on_error)}")
        if unknown := set(settings) - _OPTIONS:
            raise TypeError(no_setting(min(unknown), (*(Gateway.__init__.__kwdefaults__ or ()), *sorted(_OPTIONS))))
        check.owner(user_id, None)
        if session is not None:
            check.names(store, session)
        self.budget = None if budget is None else check.limits(budget)
        if self.budget is not None and self.budget.usable < LEAST_BUDGET:
            few = f"must leave at least {LEAST_BUDGET} tokens for a window, not {self.budget.usable}"
            raise InvalidSetting(f'budget: {few}: write 32_000 or "32k" for thirty-two thousand')
        self.dialect = None if dialect is None else dialect_named(dialect)
        self.session, self.user_id, self.on_error = session, user_id, on_error
        self._settings: dict[str, Any] = {**settings, "policy": policy_named(policy), "redact": redact}
        self._wait = check.seconds("wait", wait)
        self.store = open_store(store)
        self._owns_store = self.store is not store
        self.matcher = Matcher(prefix_index(self.store))
        self._open: dict[str, OpenConversation] = {}  # without a request; the one that was used last is the last
        self._busy: set[str] = set()
        self._lock = Lock()
        self._warned: set[str] = set()
        self._limits_of = lru_cache(maxsize=MOST_TENANTS)(_nothing_learned)

    def close(self) -> None:
        """Close the conversations, and the store if it was given as a URL or a path. No request may be at work: its
        conversation would stay open."""
        with self._lock:
            idle, self._open = [*self._open.values()], {}
        for each in idle:
            each.conv.close()
        if self._owns_store:
            self.store.close()

    def warn_once(self, what: str, text: str) -> None:
        """Log `text` as a warning, unless this gateway has logged one with the same `what` before. `what` is only a
        key."""
        with self._lock:
            if what in self._warned:
                return
            self._warned.add(what)
        _logger.warning("%s", text)

    # ---- one request in one conversation

    def enter(self, body: CallBody, requester: Requester) -> tuple[OpenConversation, Match] | None:
        """Find the conversation that a request goes on with, and let this request into it alone, until `leave`.

        Returns the conversation and the match. `Match.new` are the facts that the log does not have yet; the caller
        appends them. None, and the request is in no conversation, if its window would have no message.

        - If nothing of the request is known, a new conversation begins. The first one of a session gets the session's
          name, unless the request is beside the agent's work.
        - If a log says what the request begins with and no more, and no other request is in that conversation, the
          request goes on with it.
        - If a log says more, or a request is in it, it is forked where the two part. If there is no reply before that
          place, two clients have only begun alike, and a new conversation begins.
        - If the client has shortened results in its list, as agents do with old ones, the log goes on, and shows them
          as the client does. A result that was changed in another way makes a fork.

        While another process has the conversation and says nothing new in it, this blocks, at most for the gateway's
        `wait` seconds. Raises InvalidMessage, and what the store raises; then the request is in no conversation.
        """
        start = prefix_hashes.begin(requester.tenant, requester.session, body.dialect.name)
        by_outline = True
        while True:
            match = self.matcher.match(start, body.messages, body.dialect, by_outline=by_outline)
            if match.place is None:
                break
            shortened: list[Trim] | None = []
            if match.is_changed:
                shortened = _shortened_results(self.store.open(match.place.name), match.place.length, body.facts())
            if shortened is None:
                by_outline = False
                continue
            try:
                found = self._go_on(match.place, match.new, body, requester)
            except UnknownLog:  # it was forgotten, perhaps by another process
                self.matcher.forget(match.place.name)
                continue
            if found is None:
                break
            if len(found.conv.view.slots) < FEW and not body.shows_something(body.facts()):
                self.leave(found)
                return None
            _show_shortened(found.conv, shortened)
            return found, match
        facts = body.facts()
        if not body.shows_something(facts):
            return None
        opened = self._take_named(requester)
        opened = opened and self._enter_when_free(opened, 0, body, requester)
        if opened is None:
            opened = self._take_new(requester)
            self._prepare(opened, body, requester)
        return opened, match._replace(new=facts)

    def leave(self, opened: OpenConversation) -> None:
        """End a request in this conversation: give its lease back, and let others enter it. It stays open for the next
        request, until MOST_OPEN_CONVERSATIONS (256) others were used later."""
        opened.held.close()
        closing: list[OpenConversation] = []
        with self._lock:
            self._busy.discard(opened.name)
            if opened.conversation is not None:
                opened.entries = len(opened.conv.log)
                self._open[opened.name] = opened
            while len(self._open) > MOST_OPEN_CONVERSATIONS:
                closing.append(self._open.pop(next(iter(self._open))))
        for each in closing:
            each.conv.close()

    def count_tokens(self, body: CallBody, requester: Requester) -> int | None:
        """Return the tokens of the window that this request would be sent with. Nothing is sent or logged.

        None if the window has no fold, if the conversation is not known, if its log says more than the request, or if
        another request of this process is in it. Raises ConversationBusy if another process has the conversation,
        InvalidMessage, and what the store raises.
        """
        start = prefix_hashes.begin(requester.tenant, requester.session, body.dialect.name)
        match = self.matcher.match(start, body.messages, body.dialect)
        opened = None if match.place is None else self._take(match.place.name)
        if opened is None or match.place is None:
            return None
        self._prepare(opened, body, requester)
        try:
            conv = opened.conv
            has_fold = any(isinstance(slot, FoldedSlot) for slot in conv.view.slots)
            if not (has_fold and self._is_end(opened, match.place.length)):
                return None
            conv.budget = self.budget_of(body)
            view = conv.view
            facts = cast("list[Body]", match.new)
            entries = [view.entry(fact, 0.0, behind=number) for number, fact in enumerate(facts)]
            after = apply(view.with_log(PendingLog(view.log, entries)), entries)
            return conv.window(view=after, tools=body.tools).tokens
        finally:
            self.leave(opened)

    def budget_of(self, body: CallBody) -> Budget:
        """Return the budget of a request: the gateway's; without one the context size of the request's model, or if
        that is not known 128,000 tokens, with a warning. If it has no reserve, the request's own limit of the answer is
        kept free, at most a quarter of the context."""
        budget = self.budget
        if budget is None:
            size = _context_size(f"{body.dialect.name}:{body.model}")
            if size is None:
                self.warn_once(
                    f"context size {body.model}",
                    f"no budget given, and the context size of {quote(body.model)} is not known: assuming "
                    f"{ASSUMED.context:,} tokens",
                )
            budget = ASSUMED if size is None else Budget(context=size)
        if budget.reserve or (answer := body.longest_answer) is None:
            return budget
        return replace(budget, reserve=min(answer, int(budget.context * MOST_RESERVED)))

    # ---- private

    def _go_on(
        self, place: KnownPrefix, new: Sequence[Fact], body: CallBody, requester: Requester
    ) -> OpenConversation | None:
        """The conversation at this place, or a fork of it, for a list that goes on with the `new` facts; None if a new
        one must begin. Raises UnknownLog."""
        opened = self._take(place.name)
        if opened is not None and (entered := self._enter_when_free(opened, place.length, body, requester)):
            return entered
        log = self.store.open(place.name)
        if len(log) < place.length:
            raise UnknownLog(f"conversation {quote(place.name)} is shorter than it was")
        if not any(isinstance(entry.body, Assistant) for entry in log.read(0, place.length)):
            return None
        has_result = bool(new) and isinstance(new[0], ToolResult)  # its call may be closed behind this place
        at = place.length - 1 if has_result else fork_point(log, place.length)
        name = f"{_END_OF_FORK.sub('', place.name)}@{at}-{secrets.token_hex(3)}"
        fork_log(self.store, log, at=at, name=name)
        fork = self._take(name)
        assert fork is not None
        self._prepare(fork, body, requester)
        fork.length = place.length
        return fork

    def _enter_when_free(
        self, opened: OpenConversation, length: int, body: CallBody, requester: Requester
    ) -> OpenConversation | None:
        """Enter a conversation, of which the client knows `length` entries, or wait until another process is done with
        it. None, and the request has left it, if its log says more or the wait is over. It may be another object than
        `opened`. Raises UnknownLog."""
        for pause in chain(pauses(self._wait), (None,)):
            try:
                self._prepare(opened, body, requester)
            except ConversationBusy:
                if pause is None or _says_more(self.store.open(opened.name), length):
                    return None
                time.sleep(pause)
                again = self._take(opened.name)
                if again is None:  # another request of this process was faster
                    return None
                opened = again
                continue
            try:
                if self._is_end(opened, length):
                    return opened
            except BaseException:
                self.leave(opened)
                raise
            self.leave(opened)
            return None
        return None

    def _is_end(self, opened: OpenConversation, length: int) -> bool:
        """Whether the client knows the whole log if it knows its first `length` entries. Raises UnknownLog."""
        log = opened.conv.log
        if opened.length != length or opened.entries != len(log):
            opened.length = -1 if _says_more(log, length) else length
        return opened.length == length

    def _take(self, name: str) -> OpenConversation | None:
        """Let a request into the conversation with this name. None if another request is in it."""
        with self._lock:
            if name in self._busy:
                return None
            self._busy.add(name)
            return self._open.pop(name, None) or OpenConversation(name)

    def _take_named(self, requester: Requester) -> OpenConversation | None:
        """Let a request into the conversation named like its session. None if that conversation has entries already, if
        another request is in it, if the request names no session, or if it is beside the agent's work."""
        name = requester.log_name(requester.session)
        return None if not requester.session or requester.is_beside or len(self.store.open(name)) else self._take(name)

    def _take_new(self, requester: Requester) -> OpenConversation:
        """Let a request into a new conversation: its name is the session's, or the time, and random digits."""
        name = requester.log_name(requester.session or time.strftime("call-%Y%m%d-%H%M%S", time.gmtime()))
        opened = self._take(f"{name}-{secrets.token_hex(4)}")
        assert opened is not None
        return opened

    def _prepare(self, opened: OpenConversation, body: CallBody, requester: Requester) -> None:
        """Open the conversation if it is closed, read what others have appended, and hold its lease. If it raises, such
        as ConversationBusy, the request has left the conversation."""
        try:
            if opened.conversation is None:
                with self._lock:
                    learned = self._limits_of(requester.tenant)
                opened.conversation = Conversation.open(
                    self.store,
                    opened.name,
                    Settings(shared_limits=learned),
                    budget=self.budget_of(body),
                    dialect=body.dialect,
                    user_id=requester.tenant or self.user_id,
                    session_id=(requester.session or None) if self.session is None else None,
                    **self._settings,
                )
            opened.held.enter_context(opened.conv.lease())
            opened.conv._planner.writer.catch_up()  # pyright: ignore[reportPrivateUsage] - no other request is in it
        except BaseException:
            self.leave(opened)
            raise


# ---- results that the client has shortened in its list, as agents do with old ones


def _shortened_results(log: StoredLog, length: int, facts: Sequence[Fact]) -> list[Trim] | None:
    """The trims with which the first `length` entries of a log show results as a client's list, `facts`, has them.

    Empty if the client has changed no result. None if it has changed one in another way than to a shorter text: no trim
    can show that. Results whose calls have no ids are not compared.
    """
    given: dict[str, list[ToolResult]] = {}
    for fact in facts:
        if isinstance(fact, ToolResult):
            given.setdefault(fact.call, []).append(fact)
    trims: list[Trim] = []
    for entry in log.read(0, length):
        if not isinstance(entry.body, ToolResult) or not entry.body.call or entry.body.call not in given:
            continue
        (result, *others) = given[entry.body.call]
        if prefix_hashes.after(b"", result) == prefix_hashes.after(b"", entry.body):
            continue
        if others or len(result.parts) != len(entry.body.parts):
            return None
        for (address, part), shown in zip(addressed_parts(entry.body), result.parts, strict=True):
            if part == shown:
                continue
            if not (isinstance(part, Text) and isinstance(shown, Text) and len(shown.text) < len(part.text)):
                return None
            trims.append(Trim(entry=entry.seq, part=address, note=shown.text, why="the client has shortened it"))
    return trims


def _show_shortened(conv: Conversation, trims: Sequence[Trim]) -> None:
    """Append those of these trims that the log does not have yet, and that make its window shorter."""
    for trim in trims:
        unit = conv.view.unit(conv.view.unit_of[trim.entry])
        if all(known.trim.note != trim.note for known in trims_of_entry(unit.trims, trim.entry)):
            with suppress(InvalidEdit):  # the window shows less of it already
                conv.edit(trim)


# ---- logs and models


def _nothing_learned(_tenant: str) -> SharedLimits:
    return SharedLimits()


def _says_more(log: StoredLog, length: int) -> bool:
    """Whether a log has a fact behind its first `length` entries that a client sends in its list. Raises UnknownLog if
    the log is shorter: it was forgotten, and began again."""
    if len(log) < length:
        raise UnknownLog(f"conversation {quote(log.name)} is shorter than it was")
    return any(is_said(entry.body) for entry in log.read(length))


_context_size = lru_cache(maxsize=1_000)(context_size)
