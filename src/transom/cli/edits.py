"""`transom log`, `pin`, `undo` and `window`: their options. As in `app`, nothing heavy is imported here."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer
from msgspec import Struct

from transom.cli.app import AnyStore, Budget, Dialect, Id, Job, Json, Policy, app


class Decided(Struct, frozen=True, kw_only=True):
    """`transom log`, as it was asked for."""

    id: str
    store: str | None = None
    json: bool = False


class Change(Struct, frozen=True, kw_only=True):
    """`transom pin` (of an `entry`) or `transom undo` (of an `edit`), as it was asked for."""

    id: str
    entry: int | None = None
    edit: int | None = None
    why: str = ""
    dry_run: bool = False
    store: str | None = None
    json: bool = False


class Look(Struct, frozen=True, kw_only=True):
    """`transom window`, as it was asked for."""

    id: str
    budget: int
    policy: str = "default"
    dialect: str = "openai"
    store: str | None = None
    json: bool = False


Entry = Annotated[int, typer.Argument(metavar="ENTRY", help="The entry's number (see `show`).", show_default=False)]
Edit = Annotated[
    int | None,
    typer.Argument(
        metavar="EDIT", help="The edit's number (see `log`). Default: the newest live one.", show_default=False
    ),
]
Why = Annotated[str, typer.Option(metavar="TEXT", help="The reason, kept in the log.", show_default=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what it would change.")]


@app.command(short_help="What was decided about a conversation: folds, trims, pins, undos.")
def log(id: Id, store: AnyStore = None, json: Json = False) -> Job:  # noqa: A002 - the word users see
    """What was decided about a conversation, an edit a line: whether it holds still, and the tokens it saves."""
    return _later(Decided(id=id, store=store, json=json))


@app.command(short_help="Keep an entry in every window from now on.")
def pin(
    id: Id,  # noqa: A002 - the word users see
    entry: Entry,
    why: Why = "",
    dry_run: DryRun = False,
    store: AnyStore = None,
    json: Json = False,
) -> Job:
    """Keep an entry, with what belongs to it, in every window from now on. `undo` takes it back."""
    return _later(Change(id=id, entry=entry, why=why, dry_run=dry_run, store=store, json=json))


@app.command(short_help="Take back a fold, a trim or a pin.")
def undo(
    id: Id,  # noqa: A002 - the word users see
    edit: Edit = None,
    why: Why = "",
    dry_run: DryRun = False,
    store: AnyStore = None,
    json: Json = False,
) -> Job:
    """Take back a fold, a trim or a pin: what it hid shows again, and stays so as long as the limit allows."""
    return _later(Change(id=id, edit=edit, why=why, dry_run=dry_run, store=store, json=json))


@app.command(short_help="The window the next call would see; nothing is logged.")
def window(
    id: Id,  # noqa: A002 - the word users see
    budget: Budget,
    policy: Policy = "default",
    dialect: Dialect = "openai",
    store: AnyStore = None,
    json: Json = False,
) -> Job:
    """The window the next call would see under this budget and policy. A dry run: the log stays as it is.

    With --json, what a request of the dialect holds of the conversation.
    """
    return _later(Look(id=id, budget=budget, policy=policy, dialect=dialect, store=store, json=json))


def _later(wanted: Decided | Change | Look) -> Job:
    return lambda: import_module("transom.cli.editing").run(wanted)
