"""Forget a user: every conversation, memory block and archive that a store has of one user."""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec import Struct

from transom.core.log import owner_of
from transom.errors import InvalidSetting, StoreDamaged, quote
from transom.memory.memory import ROOT, is_memory_of
from transom.stores import Store
from transom.stores.base import forget_all
from transom.stores.urls import store_in_use

Progress = Callable[[float, str], None]
"""Called before each conversation is looked at, with the share that is done, from 0 to 1, and its name."""


class UserData(Struct, frozen=True, kw_only=True):
    """What a store has of one user. `conversations`: their names. `memory`: the names of the logs of memory blocks and
    archives. `damaged`: conversations whose first entry cannot be read, so that nobody can say whose they are."""

    conversations: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()


def forget_user(store: str | os.PathLike[str] | Store, user_id: str) -> UserData:
    """Remove everything of one user from a store for good; returns what was removed.

    That is: the conversations that belong to `user_id`, forks and logs of sub-agents among them, the user's memory
    blocks with all their versions, the archives, and what the search index has of all these. `store`: a URL, a path, or
    a store object, as for `Conversation.open`.

    What belongs to no user stays: conversations without a `user_id`, memory of everybody. So do copies elsewhere:
    exports, mirrored files, backups. A conversation whose first entry cannot be read stays too, and is in `damaged`:
    look at it, and forget it by its name.

    If this is interrupted, the same call again removes the rest. Raises InvalidSetting for an empty `user_id`,
    StoreUnavailable.
    """
    with store_in_use(store) as opened:
        found = data_of_user(opened, user_id)
        forget_all(opened, (*found.conversations, *found.memory))
    return found


def data_of_user(store: Store, user_id: object, progress: Progress | None = None) -> UserData:
    """Find what a store has of one user. The first entry of each conversation is read for that. `progress`: called
    before each conversation; None: nobody is told. Raises InvalidSetting for an empty id, StoreUnavailable."""
    if not isinstance(user_id, str) or not user_id:
        raise InvalidSetting(f"user_id: must be a text of at least one character, not {quote(user_id)}")
    names = store.names()
    conversations, damaged = list[str](), list[str]()
    for at, name in enumerate(names):
        if progress is not None:
            progress(at / len(names), name)
        try:
            if owner_of(store.open(name)).user_id == user_id:
                conversations.append(name)
        except StoreDamaged:
            damaged.append(name)
    memory = (name for name in store.names(ROOT) if is_memory_of(name, user_id))
    return UserData(conversations=tuple(conversations), memory=tuple(memory), damaged=tuple(damaged))
