"""The provider APIs by the names callers know them by."""

from __future__ import annotations

from transom.errors import InvalidSetting
from transom.wire.dialect import Dialect
from transom.wire.openai_chat import OPENAI_CHAT

DIALECTS: dict[str, Dialect] = {each.name: each for each in (OPENAI_CHAT,)}


def dialect_named(dialect: str | Dialect) -> Dialect:
    """The dialect with this name, or the dialect itself. Raises InvalidSetting."""
    if not isinstance(dialect, str):
        return dialect
    if dialect not in DIALECTS:
        raise InvalidSetting(f"unknown dialect {dialect!r}: there are {', '.join(DIALECTS)}")
    return DIALECTS[dialect]
