"""PostgreSQL URLs: what may be shown of one, and what of it is ours.

Only a URL that can be read in one way is taken. So no part of a password can be mistaken for a host or a database,
which error messages name.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

from transom.errors import InvalidSetting, quote

SCHEMES = ("postgresql", "postgres")
SCHEMA = "transom"

_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[^:@/?#\[\],\s]*)(?::\d+)?"
_URL = re.compile(
    rf"(?P<scheme>postgres(?:ql)?://)(?:(?P<user>[^:@/?#\s]*)(?::[^:@/?#\s]*)?@)?(?P<hosts>{_HOST}(?:,{_HOST})*)"
    r"(?P<database>/[^@/?#\s]*)?(?:\?(?P<query>[^@?#\s]*))?"
)
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,39}")
_SECRET = ("password", "secret", "scram")
_FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with % codes for special characters (%40 for @, %2F for /)"


class PostgresUrl(NamedTuple):
    """`conninfo`: what libpq reads; it may have a password. `shown`: the same URL as people may see it."""

    conninfo: str
    schema: str
    shown: str

    def __repr__(self) -> str:
        return f"PostgresUrl({self.shown!r})"


def is_postgres_url(place: object) -> bool:
    """Whether a place is meant to be a PostgreSQL database."""
    return isinstance(place, str) and place.startswith(tuple(f"{scheme}:" for scheme in SCHEMES))


def parse_postgres_url(url: str) -> PostgresUrl:
    """The parts of a URL. `?schema=NAME` is ours, everything else is libpq's. Raises InvalidSetting."""
    found = _URL.fullmatch(url)
    if found is None:
        raise InvalidSetting(f"store {without_password(url)!r}: a PostgreSQL store is {_FORM}")
    items = [item for item in (found["query"] or "").split("&") if item]
    schema = next((unquote(item[7:]) for item in items if item.startswith("schema=")), SCHEMA)
    if not _SCHEMA.fullmatch(schema):
        allowed = "lower-case letters, digits and _, at most 40"
        raise InvalidSetting(f"store {without_password(url)!r}: schema {quote(schema)} must be {allowed}")
    rest = "&".join(item for item in items if not item.startswith("schema="))
    return PostgresUrl(url.partition("?")[0] + (f"?{rest}" if rest else ""), schema, without_password(url))


def without_password(url: str) -> str:
    """The URL as it may be shown and kept: without a password. Any other text comes back as it is."""
    if not is_postgres_url(url):
        return url
    found = _URL.fullmatch(url)
    if found is None:
        return f"{url.partition(':')[0]}://…"
    user = "" if not found["user"] else f"{found['user']}@"
    items = [item for item in (found["query"] or "").split("&") if _may_be_shown(item)]
    query = f"?{'&'.join(items)}" if items else ""
    return f"{found['scheme']}{user}{found['hosts']}{found['database'] or ''}{query}"


def _may_be_shown(item: str) -> bool:
    key, found, _ = item.partition("=")
    return bool(found) and not any(word in unquote(key).lower() for word in _SECRET)
