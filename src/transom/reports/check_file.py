"""A file of checks: what must be true of the windows of recorded conversations, under one policy and budget."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from transom.cache_prices import Prices
from transom.core.budget import parse_token_count
from transom.core.ranges import Share
from transom.errors import InvalidSetting, quote, shorten
from transom.policies import policy_named
from transom.providers.model_prices import TokenPrices, listed_prices
from transom.readback.patterns import Pattern, compile_pattern
from transom.wire.dialects import dialect_named

SUFFIX = ".check.toml"
"""How the names of files of checks end."""

CONDITIONS = ("contains", "matches", "max_tokens", "max_cost", "min_cached_share")
"""What a check may demand: exactly one of these."""


class Check(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that must be true of the windows. It demands exactly one of `contains`, `matches`, `max_tokens`,
    `max_cost` and `min_cached_share`. A call for which no window fits fails each check that looks at it.

    - `name`: how reports call it; by default made of what it demands.
    - `contains`: a text that the windows must contain. Blanks and line ends in a row count as one blank.
    - `matches`: a regular expression (RE2) that must match within a line of the windows.
    - `at`: for these two, the numbers of the calls to look at, from 1, or from the last one if negative. By default all
      calls after the text was said. A call in `at` before that fails. A conversation in which the text never was said
      is passed over, unless `conversation` names it.
    - `max_tokens`: the most tokens of a window, as a number or a text ("32k"). `max_cost`: the most that the input of
      all calls of a conversation may cost, in US dollars. `min_cached_share`: the least share (0 to 1) of the tokens of
      a conversation's calls that is read from the prompt cache.
    - `conversation`: the id of the only conversation to look at; by default all are looked at.

    Only `read_check_file` checks these rules.
    """

    name: str = ""
    contains: str | None = None
    matches: str | None = None
    at: int | tuple[int, ...] = ()
    max_tokens: int | str | None = None
    max_cost: Annotated[float, Meta(ge=0)] | None = None
    min_cached_share: Share | None = None
    conversation: str = ""

    @property
    def calls(self) -> tuple[int, ...]:
        """The numbers of calls in `at`, as a tuple; empty if `at` is not given."""
        return (self.at,) if isinstance(self.at, int) else self.at

    @property
    def pattern(self) -> Pattern | None:
        """The compiled pattern of `matches`; None if the check has no `matches`. Raises InvalidSetting if RE2 does not
        take the pattern."""
        return None if self.matches is None else compile_pattern(self.matches)


class CheckFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"checks": "check"}):
    """The recorded conversations of a file of checks, the settings of their windows, and the checks.

    - `files`: files or folders with conversations; paths are relative to the file of checks.
    - `budget`, `policy`, `prices`, `dialect`, `format`: as the options of `transom replay`.
    - `priced_by`: the model whose prices `max_cost` counts with, "provider:model", or the prices themselves, in US
      dollars for a million tokens. A check with `max_cost` needs it.
    - `checks`: what must be true; in the file each is a table `[[check]]`. `path`: of the file.
    """

    files: Annotated[tuple[str, ...], Meta(min_length=1)]
    budget: int | str
    policy: str = "default"
    prices: str | None = None
    dialect: str | None = None
    format: str | None = None
    priced_by: str | TokenPrices | None = None
    checks: Annotated[tuple[Check, ...], Meta(min_length=1)]
    path: Path = Path()

    @property
    def budget_tokens(self) -> int:
        """The budget as a number of tokens. Raises InvalidSetting if it is none ("32k" is one)."""
        return parse_token_count(str(self.budget), "budget")

    def inputs(self) -> list[Path]:
        """Return the paths of `files`, from the folder of the file of checks; an absolute path stays. They may be
        folders."""
        return [self.path.parent / name for name in self.files]

    def token_prices(self) -> TokenPrices:
        """Return the prices that `max_cost` counts with: those in `priced_by`, or those of the model that it names.
        Raises InvalidSetting if `priced_by` is not given, or the prices of the model are not known."""
        if isinstance(self.priced_by, TokenPrices):
            return self.priced_by
        if self.priced_by is None:
            raise InvalidSetting("max_cost needs priced_by, a model or the prices of its tokens")
        try:
            return listed_prices(self.priced_by)
        except InvalidSetting as why:
            itself = "or give {input = …, output = …}, dollars for a million tokens"
            raise InvalidSetting(f"priced_by: {why}; {itself}") from None


def read_check_file(path: Path, *, budget: int | None = None) -> CheckFile:
    """Read a file of checks, and make sure that its settings have a meaning and that its `files` exist. Every check
    gets a name, which no other check in the file has, and `max_tokens` becomes a number. `budget`: tokens, in place of
    the budget in the file, which then needs none.

    Raises OSError if the file cannot be read; InvalidSetting, with the path, for anything that is wrong in it.
    """
    try:
        fields: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise InvalidSetting(f"{path}: this is no TOML: it is not UTF-8") from None
    except tomllib.TOMLDecodeError as wrong:
        raise InvalidSetting(f"{path}: this is no TOML: {wrong}") from None
    if budget is not None:
        fields["budget"] = budget
    try:
        found = replace(_converted(fields), path=path)
        _check_settings(found)
        return replace(found, checks=_named(found.checks))
    except InvalidSetting as wrong:
        raise InvalidSetting(f"{path}: {wrong}") from None


def _converted(fields: dict[str, Any]) -> CheckFile:
    """Convert the tables of a file. Raises InvalidSetting for a missing or unknown key, and for a value of a wrong
    type."""
    try:
        return msgspec.convert(fields, CheckFile)
    except msgspec.ValidationError as wrong:
        what, _, where = str(wrong).partition(" - at `$.")
        raise InvalidSetting(f"{where.rstrip('`')}: {what}" if where else what) from None


def _check_settings(file: CheckFile) -> None:
    """Raises InvalidSetting if the files are not there, or a setting has no meaning."""
    for place in file.inputs():
        if not place.exists():
            raise InvalidSetting(f"files: there is no file {place}")
    parse_token_count(str(file.budget), "budget")
    policy_named(file.policy)
    Prices.named(file.prices)
    if file.dialect is not None:
        dialect_named(file.dialect)
    if any(check.max_cost is not None for check in file.checks):
        file.token_prices()


def _named(checks: Sequence[Check]) -> tuple[Check, ...]:
    """Return the checks, each with a name. Raises InvalidSetting if two have the same name, or if one of them is wrong
    (see `_checked`)."""
    named = tuple(map(_checked, checks))
    names = [check.name for check in named]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InvalidSetting(f"two checks are named {quote(twice)}")
    return named


def check_files_in(paths: Sequence[Path]) -> list[Path]:
    """Return the paths in their order, with each folder replaced by the files in it and in the folders below it whose
    names end in `.check.toml`, sorted. Other paths are returned as they are, also if no file is there.

    Raises InvalidSetting if a folder has none.
    """
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
        if not inside:
            raise InvalidSetting(f"{path}: no file in this folder has a name that ends in {SUFFIX}")
        found += inside
    return found


def _checked(check: Check) -> Check:
    """Return a check with a name, and with `max_tokens` as a number. Raises InvalidSetting if it does not demand
    exactly one thing, or if what it demands has no meaning."""
    demands = [name for name in CONDITIONS if getattr(check, name) is not None]
    if len(demands) != 1:
        seen = f"not {' and '.join(demands)}" if demands else "it has none"
        raise InvalidSetting(f"a check needs one of {', '.join(CONDITIONS)}: {seen}")
    demand = demands[0]
    value = getattr(check, demand)
    name = check.name or f"{demand} {' '.join(shorten(value).split()) if isinstance(value, str) else value}"
    if check.calls and demand not in ("contains", "matches"):
        raise InvalidSetting(f"{name}: at is only for contains and matches")
    if 0 in check.calls:
        raise InvalidSetting(f"{name}: at: calls are counted from 1, or from -1 for the last one")
    if demand in ("contains", "matches") and not value.strip():
        raise InvalidSetting(f"{name}: {demand} must not be empty")
    if check.matches is not None:
        try:
            compile_pattern(check.matches)
        except InvalidSetting as wrong:
            raise InvalidSetting(f"{name}: matches: {wrong}") from None
    if check.max_tokens is not None:
        check = replace(check, max_tokens=parse_token_count(str(check.max_tokens), f"{name}: max_tokens"))
    return replace(check, name=name)
