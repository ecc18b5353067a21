"""Leases: the right to run a conversation, which one handle at a time has until a certain time.

A store has leases if its logs have `take_lease` and `release_lease`. Whoever holds a lease must renew it. If the
holder's process dies, the lease ends after `LEASE_SECONDS`; another process on the same host can see that it died
(`is_gone`) and end the lease at once. Appending needs no lease. `conversation/lock_and_lease.py` takes, renews and
gives back the lease of a conversation.
"""

from __future__ import annotations

import os
import socket
from functools import cache
from itertools import count
from typing import NamedTuple, Protocol, cast

from transom.stores.base import StoredLog

LEASE_SECONDS = 30.0
"""How long a lease lasts if it is not renewed."""


class LeasedLog(Protocol):
    """A log of a store that has leases."""

    def take_lease(self, holder: str, seconds: float) -> str:
        """Take or renew the lease of this conversation for `seconds`, unless another holder has it. Return who has it
        then: `holder`, or the other one. The conversation need not exist yet."""
        ...

    def release_lease(self, holder: str) -> None:
        """End the lease, if `holder` has it; else do nothing."""
        ...


def leased(log: StoredLog) -> LeasedLog | None:
    """The log, if its store has leases; else None."""
    return cast("LeasedLog", log) if hasattr(log, "take_lease") else None


class StoredLease(NamedTuple):
    """A lease as a store keeps it: who has it, and until when, in seconds since 1970."""

    holder: str
    until: float

    def blocks(self, holder: str, now: float) -> bool:
        """Whether `holder` may not have the lease now, because it is another one's and has not ended."""
        return self.holder != holder and now < self.until


NO_LEASE = StoredLease("", 0.0)


def new_holder() -> str:
    """Make a name for a new holder: its host and process, by which others can see whether it is gone, and a number."""
    return f"{socket.gethostname()}/{os.getpid()}/{_token(os.getpid())}/{next(_numbers)}"


def described(holder: str) -> str:
    """Describe a holder to people: "this process" or "process 123 on HOST". A name that `new_holder` has not made is
    returned as it is; an empty one is "somebody"."""
    host, process, _ = _parts(holder)
    if not process:
        return holder or "somebody"
    return "this process" if _is_own(holder) else f"process {process} on {host}"


def is_gone(holder: str) -> bool:
    """Whether this process can see that the process of a holder has ended. False for a holder on another host, and on
    Windows."""
    host, process, token = _parts(holder)
    if host != socket.gethostname() or not process or os.name != "posix":
        return False
    if process == os.getpid():
        return token != _token(os.getpid())  # a process that had this number before
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _parts(holder: str) -> tuple[str, int, str]:
    """Split the name of a holder into host, process and token. The process is 0 if `new_holder` has not made the
    name."""
    host, process, token, _ = (*holder.rsplit("/", 3), "", "", "")[:4]
    return host, int(process) if process.isdigit() else 0, token


def _is_own(holder: str) -> bool:
    return _parts(holder)[2] == _token(os.getpid())


@cache
def _token(process: int) -> str:  # noqa: ARG001 - a child after a fork has another number, and so another token
    """Random letters that tell this process from one that had its number before."""
    return os.urandom(4).hex()


_numbers = count(1)
