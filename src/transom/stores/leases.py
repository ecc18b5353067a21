"""Leases: the right to run a conversation, which one handle at a time has until a certain time.

Whoever holds a lease must renew it. If the holder's process dies, the lease ends after `LEASE_SECONDS`; another process
on the same host can see that it died (`is_gone`) and end the lease at once. Appending needs no lease.
`conversation/lock_and_lease.py` takes, renews and gives back the lease of a conversation.
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
    """A log of a store that has leases. A lease is the right to run a conversation, which one holder at a time has
    until a certain time. Appending needs none."""

    def take_lease(self, holder: str, seconds: float) -> str:
        """Take or renew the lease of this conversation for `seconds` from now, unless another holder has a lease that
        has not ended. Return who holds the lease then: `holder`, or the other holder. The conversation need not exist
        yet."""
        ...

    def release_lease(self, holder: str) -> None:
        """End the lease, if `holder` has it; else do nothing."""
        ...


def leased(log: StoredLog) -> LeasedLog | None:
    """Return the same log, typed as one with leases; None if its store has no leases."""
    return cast("LeasedLog", log) if hasattr(log, "take_lease") else None


class StoredLease(NamedTuple):
    """A lease as a store keeps it: who has it, and until when, in seconds since 1970."""

    holder: str
    until: float

    def blocks(self, holder: str, now: float) -> bool:
        """Whether `holder` may not take the lease now, because another holder has it and it has not ended. `now`:
        seconds since 1970."""
        return self.holder != holder and now < self.until


NO_LEASE = StoredLease("", 0.0)


def new_holder() -> str:
    """Make a name for a new holder of leases in this process. It has the host and the process, by which `is_gone` can
    tell whether the holder is gone, and a number, so that no two calls make the same name."""
    return f"{socket.gethostname()}/{os.getpid()}/{_token(os.getpid())}/{next(_numbers)}"


def describe_holder(holder: str) -> str:
    """Describe a holder to people: "this process" or "process 123 on HOST". A name that `new_holder` has not made is
    returned as it is; an empty one is "somebody"."""
    host, process, token = _parts(holder)
    if not process:
        return holder or "somebody"
    is_own = token == _token(os.getpid())
    return "this process" if is_own else f"process {process} on {host}"


def is_gone(holder: str) -> bool:
    """Whether this process can see that the process of a holder has ended. False if it cannot: for a holder on another
    host, on Windows, and for a name that `new_holder` has not made."""
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


@cache
def _token(process: int) -> str:  # noqa: ARG001 - a child after a fork has another number, and so another token
    """Random letters that tell this process from one that had its number before."""
    return os.urandom(4).hex()


_numbers = count(1)
