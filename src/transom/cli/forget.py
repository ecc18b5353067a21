"""The command `transom forget`: removes a conversation, or everything of a user, for good."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from transom.cli.commands.stored import Forget
from transom.cli.progress import ProgressBar
from transom.cli.stores import MAX_LISTED_IDS, check_part, existing_store, find_name, short_id, store_url, subagents_in
from transom.cli.streams import counted, may_forget, one_line, print_notice
from transom.cli.terminal import print_json, print_wrapped, terminal
from transom.conversation.forget_user import data_of_user, forget_user
from transom.errors import InvalidSetting, StoreDamaged, UnknownLog, listed
from transom.stores import Store
from transom.stores.postgres_url import without_password


def run(options: Forget) -> int:
    """Ask the user, then remove the conversation or everything of a user. With `--yes` nobody is asked, and the id must
    be the whole one. What an interrupted `forget` has left of a conversation is removed without asking.

    Exit code 1 if the user does not agree. Raises InvalidSetting if nobody can be asked, and for options that do not go
    together; UnknownLog if there is nothing to remove.
    """
    if options.user is not None:
        if options.id is not None:
            raise InvalidSetting("forget: give the id of a conversation or --user, not both")
        return _forget_user(options, options.user)
    if options.id is None:
        raise InvalidSetting("forget: give the id of a conversation, or --user ID")
    return _forget_conversation(options, options.id)


def _forget_user(options: Forget, user: str) -> int:
    """Remove everything of a user.

    Raises InvalidSetting without --store, UnknownLog if the store has nothing of this user.
    """
    if options.store is None:
        raise InvalidSetting("forget: --user needs --store")
    url = store_url(options.store)
    with existing_store(url) as store:
        with ProgressBar() as bar:
            found = data_of_user(store, user, bar.update)
        for name in found.damaged:
            print_notice(f"{one_line(name)}: damaged, nobody can say whose it is, so it stays: forget it by its id")
        content = f"{counted(len(found.conversations), 'conversation')}, {counted(len(found.memory), 'log')} of memory"
        what = f"user {one_line(user)}: {content}"
        if not (found.conversations or found.memory):
            raise UnknownLog(f"{what} in {without_password(url)}")
        if not may_forget(what, f"user {user!r}", yes=options.yes, them="them"):
            return 1
        removed = forget_user(store, user)
    if options.json:
        print_json({"user": user, **msgspec.structs.asdict(removed)})
    else:
        print_wrapped(terminal(), f"{what}, forgotten")
    return 0


def _forget_conversation(options: Forget, part: str) -> int:
    """Remove one conversation, and with `--subagents` those of its subagents too. Without it a notice says how many
    stay, and how to forget them.

    Exit code 1 if the user does not agree. With --yes the id must be the whole one. If the store has no such id, but an
    interrupted `forget` left a part of that conversation, this part is removed without asking.
    """
    check_part(part)
    url = store_url(options.store)
    with existing_store(url) as store:
        name, entries = part, None
        names = store.names()
        subagents = subagents_in(store, name)
        if name not in names and _forget(store, name):
            done = f"{one_line(name)}: not there, leftovers removed"
        elif name not in names and subagents and options.subagents:
            done = one_line(name)  # they are what is left of it
            if not may_forget(
                f"{done}: {counted(len(subagents), 'subagent')}", repr(name), yes=options.yes, them="them"
            ):
                return 1
        else:
            name = find_name(store, name, url)
            subagents = subagents_in(store, name)
            with suppress(StoreDamaged):
                entries = len(store.open(name))
            content = "damaged" if entries is None else counted(entries, "entry", "entries")
            what = f"{one_line(name)}: {content}"
            if options.subagents and subagents:
                what = f"{what} and {counted(len(subagents), 'subagent')}"
            if options.yes and part != name:
                raise InvalidSetting(f"--yes takes the whole id: {name!r}")
            them = "them" if options.subagents and subagents else "it"
            if not may_forget(what, repr(name), yes=options.yes, them=them):
                return 1
            _forget(store, name)
            done = f"{what}, forgotten"
        forgotten = subagents if options.subagents else []
        for each in forgotten:
            _forget(store, each)
        if subagents and not options.subagents:
            left = "1 subagent of it stays" if len(subagents) == 1 else f"{len(subagents):,} subagents of it stay"
            print_notice(f"{left}: {listed(subagents, MAX_LISTED_IDS, show=short_id)}; --subagents forgets them too")
    if options.json:
        found = {"conversation": name, "entries": entries}
        print_json(found | ({"subagents": forgotten} if options.subagents else {}))
    else:
        print_wrapped(terminal(), done)
    return 0


def _forget(store: Store, name: str) -> bool:
    """Remove a conversation. Return false if the store had nothing of it."""
    with suppress(UnknownLog):
        store.forget(name)
        return True
    return False
