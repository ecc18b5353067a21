"""Says in plain words what is wrong with a value on the command line, whatever parser typer uses."""

from __future__ import annotations

from typing import Any, cast

from transom.errors import quote

_WANTED = (
    ("int", "must be a whole number"),
    ("float", "must be a number"),
    ("datetime", "must be a time, as in 2026-11-23 or 2026-11-23T18:00:00"),
    ("greater_than_equal", "must be at least {ge}"),
    ("less_than_equal", "must be at most {le}"),
)
"""For the beginning of an error type of pydantic, what the value must be, with what the error knows of the limit."""


def option_error(problem: Any) -> str:
    """Return the message of an exception that typer raised for a command line, with the wrong value."""
    message: str = problem.format_message()
    errors = getattr(cast("object", problem.__cause__), "errors", None)
    found = errors() if callable(errors) else None
    if not isinstance(found, list) or not found:
        return message
    first = cast("dict[str, Any]", found[0])
    option = message.removesuffix(problem.message)
    known: dict[str, Any] = first.get("ctx") or {}
    wanted = next((text for kind, text in _WANTED if str(first.get("type")).startswith(kind)), None)
    if wanted is not None:
        return f"{option}{wanted.format_map(known)}, not {quote(first.get('input'))}"
    return f"{option}{known['error']}" if "error" in known else message
