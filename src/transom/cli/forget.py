"""`transom forget`: a conversation is removed for good."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from transom.cli.commands import Forget
from transom.cli.confirm import confirmed
from transom.cli.locate import named, opened, path_of, url_of
from transom.cli.lock_notice import Watch
from transom.cli.streams import one_line, say
from transom.cli.terminal import put_json, put_whole, terminal
from transom.errors import Conflict, InvalidSetting, StoreDamaged, UnknownLog
from transom.stores import Store


def run(options: Forget) -> int:
    """Ask, remove, say what that freed. Exit code 1 if the answer is no.

    An id that is not there: what a `forget` that never finished left is removed; if there is such, no more is done.
    """
    url = url_of(options.store)
    with opened(url) as store:
        size, name, entries = _size(url), options.id, None
        if name not in store.names() and _forget(url, store, name):
            done = f"{one_line(name)}: not there, leftovers removed"
        else:
            name = named(store.names(), name, url)
            with suppress(StoreDamaged):
                entries = len(store.open(name))
            known = "damaged" if entries is None else "1 entry" if entries == 1 else f"{entries:,} entries"
            what = f"{one_line(name)}: {known}"
            if not _is_confirmed(options, name, what):
                return say(f"{what}, all kept", 1)
            _forget(url, store, name)
            done = f"{what}, forgotten"
        freed = max(0, size - _size(url))
    if options.json:
        put_json({"conversation": name, "entries": entries, "freed": freed})
    else:
        put_whole(terminal(), (f"{done}; the store is {freed:,} bytes smaller" if freed else done, ""))
    return 0


def _forget(url: str, store: Store, name: str) -> bool:
    """Whether anything was left to remove; now there is nothing."""
    with Watch(url, writing=True), suppress(Conflict, StoreDamaged):
        store.open(name).append([], 0)  # only waits for others who write: `forget` itself would look like one
    with suppress(UnknownLog):
        store.forget(name)
        return True
    return False


def _is_confirmed(options: Forget, name: str, what: str) -> bool:
    """Whether that is the conversation that is meant. Raises InvalidSetting if nobody can say so."""
    if options.yes and options.id != name:
        raise InvalidSetting(f"--yes takes the whole id: {name!r}")
    return confirmed(f"{what}. Forget it for good?", yes=options.yes, why=f"forgetting {name!r} cannot be undone")


def _size(url: str) -> int:
    """Bytes of a store's files."""
    place = Path(path_of(url))
    files = place.rglob("*") if place.is_dir() else (place, place.with_name(f"{place.name}-wal"))
    return sum(file.stat().st_size for file in files if file.is_file())
