"""The dialects by name. A dialect's package is imported when its name is first used."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from msgspec.structs import replace

from transom.core.log import Log
from transom.core.tokens import FormatCounter, TokenCounter
from transom.errors import InvalidSetting, quote
from transom.wire.dialect import Dialect

DIALECTS = {
    "openai": "transom.wire.openai:OPENAI_CHAT",
    "mistral": "transom.wire.openai.mistral:MISTRAL",
    "responses": "transom.wire.responses:RESPONSES",
    "deepseek_responses": "transom.wire.responses:DEEPSEEK_RESPONSES",
    "anthropic": "transom.wire.anthropic:ANTHROPIC",
    "anthropic_bedrock": "transom.wire.anthropic:ANTHROPIC_BEDROCK",
    "anthropic_unsigned": "transom.wire.anthropic:ANTHROPIC_UNSIGNED",
    "gemini": "transom.wire.gemini:GEMINI",
}
"""For each name of a dialect, the module and the variable that has it."""

HOSTS = {
    ("anthropic", "deepseek.com"): "anthropic_unsigned",
    ("anthropic", "kimi.com"): "anthropic_unsigned",
    ("anthropic", "moonshot.ai"): "anthropic_unsigned",
    ("anthropic", "moonshot.cn"): "anthropic_unsigned",
    ("openai", "mistral.ai"): "mistral",
    ("responses", "deepseek.com"): "deepseek_responses",
}
"""Hosts that speak an API in a form of their own: for the API's dialect and the domain of the host, the dialect that
the host speaks."""


def dialect_at(host: str | None, dialect: str) -> str:
    """The name of the dialect in which a host speaks an API. `host`: in lower case, without a port. `dialect`: the name
    of the API's own dialect. It is returned if `host` is None, and for a host that is in none of the domains that
    `HOSTS` has for this API. A host is in a domain if it is the domain itself or ends with a dot and the domain."""
    for (api, domain), form in HOSTS.items():
        if api == dialect and host and (host == domain or host.endswith(f".{domain}")):
            return form
    return dialect


def dialect_named(dialect: str | Dialect) -> Dialect:
    """The dialect with this name; a dialect is returned as it is.

    Raises InvalidSetting for an unknown name, with the known ones, and for a value that is neither a name nor a
    dialect.
    """
    if isinstance(dialect, str):
        return _loaded(dialect)
    if not hasattr(dialect, "format_counter"):
        raise InvalidSetting(f"dialect: must be a name or a dialect, not {type(dialect).__name__}")
    return dialect


def with_digest_role(dialect: Dialect, role: object) -> Dialect:
    """A copy of the dialect that shows the texts of folds under this role; the same dialect for None.

    Raises InvalidSetting if the API does not allow the role (`Dialect.digest_roles`).
    """
    if role is None or role == dialect.digest_role:
        return dialect
    if role not in dialect.digest_roles:
        allowed = " or ".join(map(repr, dialect.digest_roles))
        raise InvalidSetting(f"digest_role: {dialect.name} allows {allowed}, not {quote(role)}")
    return replace(dialect, digest_role=role)


def with_foreign_tools(dialect: Dialect) -> Dialect:
    """A copy of the dialect that leaves no tool out: for requests whose tools somebody else has chosen for the server
    that gets them."""
    return replace(dialect, foreign_tools=True)


def dialect_of_log(log: Log) -> Dialect:
    """The dialect for which the entries of a log were counted: it is part of the name of the counter (`Entry.counter`)
    of the first entry that has one. OpenAI chat if no entry has a counter, or if its name has no known dialect."""
    counter = next((name for seq in range(len(log)) if (name := log[seq].counter)), "")
    _, slash, name = counter.rpartition("/")
    return dialect_named(name if slash and name in DIALECTS else "openai")


def counter_of_log(log: Log, counter: TokenCounter) -> FormatCounter:
    """The format counter of the dialect of a log (`dialect_of_log`). `counter`: counts the texts."""
    return dialect_of_log(log).format_counter(counter)


@cache
def _loaded(name: str) -> Dialect:
    """The dialect with this name. Raises InvalidSetting for an unknown one."""
    if name not in DIALECTS:
        raise InvalidSetting(f"unknown dialect {quote(name)}: there are {', '.join(DIALECTS)}")
    module, _, value = DIALECTS[name].partition(":")
    return getattr(import_module(module), value)
