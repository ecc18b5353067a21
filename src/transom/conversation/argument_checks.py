"""Checks what callers pass in before anything is made of it: one clear line instead of a trace from deep inside."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from math import isfinite
from typing import Any, TypeVar, cast

from msgspec import ValidationError, convert, to_builtins
from msgspec.structs import replace

from transom.clock import Clock, system_clock
from transom.core.budget import UNLIMITED, Budget, parse_token_count
from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.entry import Meta
from transom.core.log import Owner
from transom.core.message import Fact, Instruction, Raw
from transom.core.tokens import TokenCounter
from transom.core.tool import Tool, tool_names
from transom.core.view import View
from transom.errors import InvalidEdit, InvalidMessage, InvalidSetting, quote, shorten
from transom.stores.postgres_url import without_password
from transom.wire.dialect import Dialect
from transom.wire.fields import json_copy

Content = str | Sequence[Raw]
"""A text, or a list of content parts in the form of the dialect."""

LONGEST = 1e9
"""The longest timeout, in seconds: about 31 years. Waiting on a thread fails beyond some 292 years."""

_STORE_URL = re.compile(r"(?i)memory:$|sqlite:///|jsonl:///|postgres(ql)?://")
"""What an id is not: with it, the arguments of `open` were swapped."""

AnEdit = TypeVar("AnEdit", bound=Edit)


def names(store: object, id: object) -> None:  # noqa: A002 - as in `Conversation.open`
    """Check the store and the id that a conversation is opened with. Raises InvalidSetting for an empty text, an id of
    another type, an id that Transom keeps for its own logs, and an id that is the URL of a store, if the store is no
    object: the two were swapped."""
    if isinstance(store, str | os.PathLike) and not os.fspath(cast("str", store)):
        raise InvalidSetting("store: must be a URL, a path or a store, not an empty text")
    if not isinstance(id, str) or not id:
        raise InvalidSetting(f"id: must be a text of at least one character, not {kind_of(id)}")
    if isinstance(store, str | os.PathLike) and _STORE_URL.match(id):
        raise InvalidSetting(f"id: {quote(without_password(id))} names a store: give the store first, then the id")
    if id.startswith("."):
        from transom.search.indexed_store import check_name  # noqa: PLC0415 - search is loaded at first use

        check_name("id", id)


def instructions(system: object, dialect: Dialect) -> tuple[Instruction, ...]:
    """Return a system prompt as instructions. A list or tuple of `Instruction`s stays as it is, and an empty one is no
    system prompt; the dialect reads anything else: a text, or what its API takes for a system prompt. Raises
    InvalidMessage for what the dialect refuses: a single `Instruction`, and None in all dialects but Responses."""
    if isinstance(system, (list, tuple)) and all(isinstance(one, Instruction) for one in cast("list[object]", system)):
        return tuple(cast("Sequence[Instruction]", system))
    return tuple(dialect.parse_system(str.__str__(system) if isinstance(system, str) else cast("object", system)))


def model(name: object) -> str:
    """Return the name of a model. Raises InvalidSetting unless it is a text."""
    if isinstance(name, str):
        return str.__str__(name)
    raise InvalidSetting(f"model: must be a text like 'openai:gpt-5', not {quote(name)}")


def limits(budget: object, other_limits: Budget | None = None) -> Budget:
    """Return the Budget that was given; of a number, or a text such as "128k", the budget with that context window and
    the limits of `other_limits`, or the defaults. Raises InvalidSetting for anything else."""
    if isinstance(budget, Budget):
        return budget
    if isinstance(budget, str):
        budget = parse_token_count(budget, "budget")
    if type(budget) is not int:
        raise InvalidSetting(f"budget: must be a Budget or a whole number of tokens, not {quote(budget)}")
    return Budget(context=budget) if other_limits is None else replace(other_limits, context=budget)


def token_counter(given: object) -> TokenCounter:
    """Return the counter. Two texts are counted, to find a mistake early. Raises InvalidSetting for a counter without
    name or `count`, and for a count that is no whole number of 0 or more."""
    name, count = getattr(given, "name", None), getattr(given, "count", None)
    if not isinstance(name, str) or not name or not callable(count):
        raise InvalidSetting(f"counter: must have a name, a text, and a method count(text), not {quote(given)}")
    for text in ("", "text"):
        tokens = count(text)
        if type(tokens) is not int or tokens < 0:
            raise InvalidSetting(
                f"counter: {quote(name)} must count {quote(text)} as a whole number of at least 0, not {quote(tokens)}"
            )
    return cast("TokenCounter", given)


def clock(value: object) -> Clock:
    """Return the clock, wrapped so that each time is checked: a log with another value could not be read again.

    Raises InvalidSetting if it is not a function. The clock that is returned raises it for a value that is no number.
    """
    if not callable(value):
        raise InvalidSetting(f"clock: must be a function that gives seconds since 1970, not {quote(value)}")
    if value is system_clock:
        return system_clock

    def checked() -> float:
        at = value()
        if not isinstance(at, int | float) or isinstance(at, bool) or not isfinite(at):
            raise InvalidSetting(f"clock: must give seconds since 1970, a number, not {quote(at)}")
        return at

    return checked


def number(name: str, entry: object) -> int:
    """Return the number of an entry as it is. Raises InvalidEdit if it is no whole number, or larger than any log can
    be. Whether the log has such an entry is not checked, so a negative number passes."""
    if not isinstance(entry, int) or isinstance(entry, bool):
        raise InvalidEdit(f"{name}: the number of an entry is needed, not {kind_of(entry)}")
    if abs(entry) >= UNLIMITED:
        raise InvalidEdit(f"{name}: there is no entry {quote(entry)}")
    return entry


def reason(name: str, why: object) -> str:
    """Return the reason of an edit as a plain text. Raises InvalidEdit if it is no text."""
    if not isinstance(why, str):
        raise InvalidEdit(f"{name}: why must be a text, not {kind_of(why)}")
    return str.__str__(why)


MOST_CHARACTERS = 20_000
"""The longest focus of a summary, and the longest of its notes, all of one call together."""


def focus(value: object) -> str:
    """Return the focus of a summary as a plain text. Raises InvalidSetting if it is no text, or has more than 20,000
    characters."""
    if not isinstance(value, str):
        raise InvalidSetting(f"focus: must be a text, not {kind_of(value)}")
    _must_be_short("focus", len(value))
    return str.__str__(value)


def notes(value: object) -> tuple[str, ...]:
    """Return the notes for a summary, given as one text or a list of texts, without blank ones. Raises InvalidSetting
    for anything else, or if together they have more than 20,000 characters."""
    given = (value,) if isinstance(value, str) else value
    if not isinstance(given, (list, tuple)) or not all(isinstance(one, str) for one in cast("list[object]", given)):
        raise InvalidSetting(f"notes: must be a text, or a list of texts, not {kind_of(value)}")
    found = tuple(str.__str__(one) for one in cast("list[str]", given) if one.strip())
    _must_be_short("notes", sum(map(len, found)))
    return found


def _must_be_short(name: str, characters: int) -> None:
    if characters > MOST_CHARACTERS:
        raise InvalidSetting(
            f"{name}: may have {MOST_CHARACTERS:,} characters, not {characters:,}; add what is longer as a message"
        )


def edit(value: object) -> Edit:
    """Return a copy of an edit whose texts are plain `str`. Raises InvalidEdit for a wrong type of the edit or of a
    field. Whether the edit applies to a view is not checked here."""
    if not isinstance(value, (Fold, Trim, Pin, Undo)):
        raise InvalidEdit(f"a Fold, Trim, Pin or Undo is needed, not {kind_of(value)}")
    name, why = type(value).__name__.lower(), reason(type(value).__name__.lower(), value.why)
    if isinstance(value, Fold):
        number(name, value.first)
        number(name, value.last)
        return _with_valid_fields(name, replace(value, text=_plain_text(name, value.text), why=why))
    if isinstance(value, Trim):
        number(name, value.entry)
        return _with_valid_fields(name, replace(value, note=_plain_text(name, value.note), why=why))
    number(name, value.edit if isinstance(value, Undo) else value.entry)
    return _with_valid_fields(name, replace(value, why=why))


def _with_valid_fields(name: str, value: AnEdit) -> AnEdit:
    """Check that the fields of an edit have the types that a store reads back, and return the edit."""
    try:
        return convert(to_builtins(value), type(value), strict=True)
    except (ValidationError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidEdit(f"{name}: {quote(str(error))}") from error


def _plain_text(name: str, text: object) -> str:
    if not isinstance(text, str):
        raise InvalidEdit(f"{name}: a text is needed, not {kind_of(text)}")
    return str.__str__(text)


def fact(value: object, meta: object) -> Fact:
    """Check a fact and the `Meta` to log with it (None: none), and return the fact. Raises InvalidMessage if either has
    another type."""
    if not isinstance(value, Fact):
        raise InvalidMessage("append", f"a fact is needed, not {kind_of(value)}")
    if meta is not None and not isinstance(meta, Meta):
        raise InvalidMessage("append", f"meta must be a Meta or None, not {kind_of(meta)}")
    return value


def tags(value: object) -> Meta:
    """Return the `Meta` that every new fact gets. Raises InvalidSetting for anything else."""
    if not isinstance(value, Meta):
        raise InvalidSetting(f"tags: must be a Meta, not {quote(value)}")
    return value


def owner(user_id: object, session_id: object) -> Owner | None:
    """Return the owner of a conversation; None if neither id is given. If one is None, it is an empty text in the
    owner. Raises InvalidSetting for an id that is empty or no text."""
    for name, value in (("user_id", user_id), ("session_id", session_id)):
        if value is not None and (not isinstance(value, str) or not value):
            raise InvalidSetting(f"{name}: must be a text of at least one character, not {kind_of(value)}")
    if user_id is None and session_id is None:
        return None
    return Owner(cast("str", user_id or ""), cast("str", session_id or ""))


def call_id(value: object) -> str:
    """Return the id of a tool call as a plain text; it may be empty. Raises InvalidMessage if it is no text."""
    if not isinstance(value, str):
        raise InvalidMessage("tool_result", f"call_id must be a string, not {kind_of(value)}")
    return str.__str__(value)


def view(where: str, value: object) -> View:
    """Return a view. Raises InvalidSetting for any other value."""
    if not isinstance(value, View):
        raise InvalidSetting(f"{where}: must be a View, not {kind_of(value)}")
    return value


def schemas(tools: object, known: Sequence[Raw]) -> Sequence[Raw]:
    """Return the schemas of tools as JSON: `known` itself if they are the same in any order, else a copy. `tools`: a
    list or tuple of `Tool`s and of schemas in the form of an API; of functions the caller has made `Tool`s. `known`:
    the schemas of the request before.

    In the copy the known tools come first, in their known order: another order would break the cached prefix. Raises
    InvalidMessage if `tools` is no list or tuple, for a tool that is neither, is not JSON or has no name, and for two
    of one name.
    """
    if not isinstance(tools, (list, tuple)):
        raise InvalidMessage("request", f"tools must be a list of functions, Tools or objects, not {kind_of(tools)}")
    given = cast("Sequence[object]", tools)
    wanted = [tool.schema() if isinstance(tool, Tool) else tool for tool in given]
    for at, tool in enumerate(wanted):
        if not isinstance(tool, dict):
            raise InvalidMessage("request", f"tools[{at}] must be a function, a Tool or an object, not {kind_of(tool)}")
    if wanted == list(known):
        return known
    ordered = _in_known_order(cast("list[Raw]", wanted), known)
    if ordered == list(known):
        return known
    copies: tuple[Raw, ...] = tuple(json_copy({"tools": ordered}, "request")["tools"])
    _must_have_own_names(copies)
    return copies


def _in_known_order(tools: list[Raw], known: Sequence[Raw]) -> list[Raw]:
    """The tools whose names are known, in their known order, then the others."""
    places = {_identity(tool): place for place, tool in enumerate(known)}
    ordered = sorted(tools, key=lambda tool: places.get(_identity(tool), len(places)))
    same = [known[places[name]] if (name := _identity(tool)) in places else tool for tool in ordered]
    return [
        old if old == new or _unordered(old) == _unordered(new) else new for old, new in zip(same, ordered, strict=True)
    ]


_SETS = frozenset({"required", "functionDeclarations", "function_declarations"})
"""The keys of lists whose order means nothing."""


def _unordered(value: object, key: str = "") -> object:
    """A schema with the lists under `_SETS` in one order, whatever order they had."""
    if isinstance(value, dict):
        return {name: _unordered(item, name) for name, item in cast("Raw", value).items()}
    if not isinstance(value, (list, tuple)):
        return value
    items = [_unordered(item) for item in cast("Sequence[object]", value)]
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True, default=str)) if key in _SETS else items


def _identity(tool: Raw) -> tuple[str, ...]:
    """The names of the tools in a schema; of a provider's own tool its type, and the label of an MCP server."""
    label = str(tool.get("server_label") or "")
    return tuple(sorted(tool_names(tool))) or ("", str(tool.get("type") or sorted(map(str, tool))), label)


def _must_have_own_names(tools: Sequence[Raw]) -> None:
    seen: set[str] = set()
    for at, tool in enumerate(tools):
        for name in tool_names(tool):
            if not name:
                raise InvalidMessage("request", f"tools[{at}] has no name")
            if name in seen:
                raise InvalidMessage("request", f"tools[{at}]: there is already a tool named {quote(name)}")
            seen.add(name)


def positive(name: str, value: Any, most: float) -> Any:
    """Return a number above 0 and up to `most`, a whole number if `most` is one. None is returned as it is. Raises
    InvalidSetting for anything else."""
    if value is None:
        return None
    whole = type(most) is int
    fits = type(value) is int if whole else isinstance(value, (int, float)) and not isinstance(value, bool)
    if not fits or not 0 < value <= most:
        kind = "whole number" if whole else "number"
        raise InvalidSetting(f"{name}: must be a {kind} above 0 and at most {most:,.0f}, not {quote(value)}")
    return value


def seconds(name: str, value: Any) -> float:
    """Return a number of seconds, from 0 to `LONGEST`. Raises InvalidSetting for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LONGEST:
        raise InvalidSetting(f"{name}: must be seconds, at least 0 and at most {LONGEST:,.0f}, not {quote(value)}")
    return value


def kind_of(value: object) -> str:
    """How errors name a value: by its type, or as None or an empty text."""
    if isinstance(value, str) and not value:
        return "an empty text"
    return "None" if value is None else shorten(type(value).__name__)
