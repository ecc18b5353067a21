"""Forks a conversation: makes a new one that begins with the first entries of another one."""

from __future__ import annotations

import re
from itertools import count

from transom.clock import Clock, system_clock
from transom.core.entry import CallPlace, Entry, Forked
from transom.core.reducer import build_view
from transom.core.tokens import FormatCounter, NoCounter
from transom.errors import Conflict, InvalidSetting, quote
from transom.search.indexed_store import check_name
from transom.stores.base import Store, StoredLog, forget_all

_SUB_AGENT = re.compile(r"[^/]* (\d+)\.(\d+)")
"""What follows the name of a conversation and a slash in the name of its sub-agent's: see `sub_agent_name`."""


def sub_agent_name(conversation: str, tool: str, place: CallPlace) -> str:
    """Return the name of a sub-agent's conversation: the name of its caller's conversation, a slash, the name of the
    tool, and the place of the call, which is the key of the turn and the index of the call ("trip/research 7.0")."""
    return f"{conversation}/{tool} {place[0]}.{place[1]}"


def fork_log(
    store: Store, source: StoredLog, *, at: int | None = None, name: str | None = None, clock: Clock = system_clock
) -> StoredLog:
    """Make a conversation in `store` that begins with the entries of `source` up to and including `at`, and return its
    log.

    - `source`: a log of `store`; it is refreshed, and otherwise not changed.
    - `at`: None for its last entry.
    - `name`: of the new conversation; None for one made of the source's name and `at`, such as "trip@41", or if that is
      taken "trip@41 (2)", and so on.
    - `clock`: gives the time of the new entry.

    The copied entries equal the source's and have the same seqs. One new entry, `Forked`, follows them and names the
    source. All of it is stored in one transaction. Forgetting one of the two conversations leaves the other whole.

    If the call of a sub-agent waits at `at` (nobody has decided, or it is approved and not started), the sub-agent's
    conversation is forked too, as it is now, so that the fork can go on with it. If that fails, the new conversation is
    forgotten again.

    Raises InvalidSetting if `source` has no entry `at` or is empty, or if `name` is taken, no valid name, or kept for
    Transom's own logs; UnknownLog if `source` was forgotten.
    """
    return store.open(_fork(store, source, at, name, clock)[0])


def _fork(store: Store, source: StoredLog, at: int | None, name: str | None, clock: Clock) -> list[str]:
    """Fork a conversation and its waiting sub-agents. Returns the names of what was made; the first is the fork's."""
    length = source.refresh()
    last = length - 1 if at is None else at
    if type(last) is not int or not 0 <= last < length:
        has = f"it has the entries 0 to {length - 1}" if length else "it is empty"
        raise InvalidSetting(f"fork: there is no entry {quote(at)} in {quote(source.name)}: {has}")
    if name is not None:
        check_name("fork", name)
    then = Entry(seq=last + 1, at=clock(), body=Forked(source=source.name))
    for number in count(1):
        wanted = name if name is not None else f"{source.name}@{last}" + (f" ({number})" if number > 1 else "")
        try:
            _copy(store, source, wanted, then)
        except Conflict:
            if name is not None:
                raise InvalidSetting(f"fork: there is a conversation {quote(name)} already") from None
        else:
            made = [wanted]
            try:
                for agent, rest in _waiting_sub_agents(store, source, then.seq):
                    made += _fork(store, store.open(agent), None, f"{wanted}/{rest}", clock)
            except BaseException:
                forget_all(store, made)
                raise
            return made
    raise AssertionError


def _waiting_sub_agents(store: Store, source: StoredLog, stop: int) -> list[tuple[str, str]]:
    """The conversations of the sub-agents whose calls wait after the first `stop` entries of `source`: the name of
    each, and what of it follows the source's name and a slash."""
    prefix = f"{source.name}/"
    found = [(name, match) for name in store.names(prefix) if (match := _SUB_AGENT.fullmatch(name[len(prefix) :]))]
    if not found:
        return []
    approvals = build_view(source, FormatCounter(NoCounter()), stop).approvals
    waiting = {place for place, (_, state) in approvals.items() if state in {"pending", "approved"}}
    return [(name, match[0]) for name, match in found if (int(match[1]), int(match[2])) in waiting]


def _copy(store: Store, source: StoredLog, name: str, then: Entry) -> None:
    """Create the conversation `name` from the entries of `source` before `then`, its snapshot if that covers no more,
    and `then`. Raises Conflict if there is a conversation by that name."""
    if (own := getattr(source, "copy_to", None)) is not None:
        own(name, then.seq, then)
        return
    fork = store.open(name)
    fork.append([*source.read(0, then.seq), then], 0)
    saved = source.load_snapshot()
    if saved is not None and saved[0] <= then.seq:
        fork.save_snapshot(*saved)
