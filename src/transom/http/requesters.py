"""Who sends a request, and which session it names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from transom.http.provider_apis import CallBody

SESSION_HEADERS = ("x-transom-session", "x-claude-code-session-id", "session-id", "session_id")
"""The headers that may name the session of a request: ours, Claude Code's, and Codex's of two versions."""
SESSION_FIELDS = ("prompt_cache_key",)
"""The fields of a body that may name it."""

_NOT_IN_NAMES = re.compile(r"[^\w.:+=-]+")
_LONGEST_SESSION = 100


class Requester(NamedTuple):
    """Who sends a request: it decides which conversations the request may go on with.

    `tenant`: whose conversations; empty if all requests have the same owner. `session`: the session that the request
    names; empty if none. `is_beside`: the request is one of an agent's beside its conversation (a title, a check of a
    key), so that the conversation named like the session is left to the agent's work.
    """

    tenant: str = ""
    session: str = ""
    is_beside: bool = False

    def log_name(self, name: str) -> str:
        """The name that a conversation called `name` has in the store: "TENANT/NAME", or `name` alone without a
        tenant."""
        return f"{self.tenant}/{name}" if self.tenant else name


def requester_of(tenant: str, headers: Mapping[str, str], body: CallBody, session: str | None) -> Requester:
    """Make the requester of a request. `session`: the gateway's own; if it is not None, it is the requester's session.

    If the gateway has none, the first of `SESSION_HEADERS` that the request has names the session, else one of
    `SESSION_FIELDS` in the body; without any, the session is empty. A header is read as UTF-8 if it is that, else as
    Latin-1. In such a name, characters that a name cannot have become `_`, and it is cut after 100 characters.

    A request is beside the conversation if the gateway has no session of its own, an agent's own header (not
    `x-transom-session`) names the session, and the request offers no tools: agents send that header with every request.
    """
    if session is not None:
        return Requester(tenant, session)
    named = next((_as_utf8(value) for name in SESSION_HEADERS if (value := headers.get(name))), "")
    if not named:
        found = map(body.value, SESSION_FIELDS)
        named = next((value for value in found if isinstance(value, str)), "")
    is_by_agent = SESSION_HEADERS[0] not in headers and any(name in headers for name in SESSION_HEADERS)
    session = _NOT_IN_NAMES.sub("_", named)[:_LONGEST_SESSION]
    return Requester(tenant, session, is_beside=is_by_agent and not body.offers_tools)


def _as_utf8(value: str) -> str:
    """A header's value that was decoded as Latin-1, decoded as UTF-8 instead; as it is if its bytes are no UTF-8, or if
    it was decoded as UTF-8 already."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value
