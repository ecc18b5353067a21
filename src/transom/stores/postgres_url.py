"""PostgreSQL URLs: reading them, and showing them without a password.

Only a URL that can be read in one way is accepted. So no part of a password can be mistaken for a host or a database,
which error messages name.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

from transom.errors import InvalidSetting, quote

SCHEMA = "transom"

_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[^:@/?#\[\],\s]*)(?::\d+)?"
_URL = re.compile(
    rf"(?P<scheme>(?i:postgres(?:ql)?)://)(?:(?P<user>[^:@/?#\s]*)(?::[^:@/?#\s]*)?@)?(?P<hosts>{_HOST}(?:,{_HOST})*)"
    r"(?P<database>/[^@/?#\s]*)?(?:\?(?P<query>[^@?#\s]*))?"
)
_MEANT = re.compile(r"\s*postgres(?:ql)?(?P<driver>\+[a-z0-9_.-]*)?:", re.IGNORECASE)
"""Matches the beginning of a text that is meant as a PostgreSQL URL. A URL of SQLAlchemy names a driver too."""
_ANY_SCHEME = re.compile(r"([a-z][a-z0-9+.-]{0,60})://", re.IGNORECASE)
_FILE = re.compile(r"(?:sqlite|jsonl):///")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,39}")
_SECRET = ("password", "secret", "scram")
_FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with % codes for special characters (%40 for @, %2F for /)"


class PostgresUrl(NamedTuple):
    """A PostgreSQL URL in parts.

    `conninfo`: what libpq reads, with the password if there is one; `schema`: where our tables are; `shown`: the URL
    without a password, for messages.
    """

    conninfo: str
    schema: str
    shown: str

    def __repr__(self) -> str:
        return f"PostgresUrl({self.shown!r})"


def is_postgres_url(place: object) -> bool:
    """True for a text that begins like a PostgreSQL URL. It need not be a valid one."""
    return isinstance(place, str) and _MEANT.match(place) is not None


def parse_postgres_url(url: str) -> PostgresUrl:
    """Split a PostgreSQL URL into its parts. `?schema=NAME` is ours; every other option is passed on to libpq.

    Everything behind the scheme may be left out: then libpq's defaults hold. Raises InvalidSetting if the URL is not of
    the form postgresql://USER:PASSWORD@HOST:PORT/DATABASE, has special characters that are not % codes, or if the
    schema is not of lower-case letters, digits and _ (at most 40, the first no digit).
    """
    found = _URL.fullmatch(url)
    if found is None:
        meant = _MEANT.match(url)
        driver = meant["driver"] if meant else None
        way_out = f"leave {quote(driver)} out: " if driver else ""
        raise InvalidSetting(f"store {without_password(url)!r}: {way_out}a PostgreSQL store is {_FORM}")
    items = [item for item in (found["query"] or "").split("&") if item]
    schema = next((unquote(item[7:]) for item in items if item.startswith("schema=")), SCHEMA)
    if not _SCHEMA.fullmatch(schema):
        allowed = "lower-case letters, digits and _, at most 40"
        raise InvalidSetting(f"store {without_password(url)!r}: schema {quote(schema)} must be {allowed}")
    rest = "&".join(item for item in items if not item.startswith("schema="))
    place = found["scheme"].lower() + url.partition("?")[0][found.end("scheme") :]  # libpq knows lower case only
    return PostgresUrl(place + (f"?{rest}" if rest else ""), schema, without_password(url))


def without_password(url: str) -> str:
    """Return the text as it may be shown and stored: without a password.

    A valid PostgreSQL URL loses its password and every option that may be secret. Of any other URL that contains an @,
    and of an invalid PostgreSQL URL, only the scheme is left. All other text is returned unchanged.
    """
    found = _URL.fullmatch(url)
    if found is None:
        scheme = None if _FILE.match(url) else _ANY_SCHEME.search(url)
        if scheme is not None and "@" in url[scheme.end() :]:
            return f"{scheme[1]}://…"
        return f"{url.partition(':')[0].strip()}://…" if is_postgres_url(url) else url
    user = "" if not found["user"] else f"{found['user']}@"
    items = [item for item in (found["query"] or "").split("&") if _may_be_shown(item)]
    query = f"?{'&'.join(items)}" if items else ""
    return f"{found['scheme'].lower()}{user}{found['hosts']}{found['database'] or ''}{query}"


def place_of(url: str) -> str:
    """Return a store's URL or path as a message names it: without a password, and a file's URL without its options."""
    return url.partition("?")[0] if _FILE.match(url) else without_password(url)


def _may_be_shown(item: str) -> bool:
    key, found, _ = item.partition("=")
    return bool(found) and not any(word in unquote(key).lower() for word in _SECRET)
