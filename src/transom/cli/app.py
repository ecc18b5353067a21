"""The commands and their options. Each gives a job: what was asked for, to be run when all of it has been read.

Nothing heavy is imported before a job runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct

Job = Callable[[], int]

UsageError = typer.BadParameter.__mro__[1]
ClickException: Any = UsageError.__mro__[1]
"""What typer raises for a command line it cannot read; the class itself has moved between its versions."""

app = typer.Typer(
    name="transom",
    add_completion=False,
    rich_markup_mode=None,  # plain help is there in half the time
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Keep every event of an agent's conversation; build for each model call the window the model should see.\n\n"
    "Start with `transom demo`, then `transom replay` a conversation of your own and ask `transom explain` about "
    "the call that surprises you.",
)


class Replay(Struct, frozen=True, kw_only=True):
    """`transom replay`, as it was asked for."""

    files: tuple[Path, ...]
    budget: int
    policy: str = "default"
    dialect: str = "openai"
    store: str | None = None
    questions: bool = False
    out: Path | None = None
    json: bool = False
    chart: str | None = None


class Show(Struct, frozen=True, kw_only=True):
    """`transom show`, as it was asked for."""

    id: str
    store: str | None = None
    json: bool = False


class Explain(Struct, frozen=True, kw_only=True):
    """`transom explain`, as it was asked for."""

    id: str
    at: int | None = None
    store: str | None = None
    every: bool = False
    json: bool = False


class Demo(Struct, frozen=True, kw_only=True):
    """`transom demo`, as it was asked for."""

    budget: int
    policy: str = "default"
    json: bool = False


Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES",
        help='JSON Lines (plain or .gz), each line {"id", "messages": [OpenAI chat messages]}; or a .json file '
        "with one such object or just the list of messages.",
        show_default=False,
    ),
]
Id = Annotated[
    str, typer.Argument(metavar="ID", help="The conversation's id, or an unambiguous part of it.", show_default=False)
]
Budget = Annotated[
    int, typer.Option(metavar="N", help="Tokens a whole request may have (o200k_base).", show_default=False)
]
Policy = Annotated[
    str, typer.Option(metavar="NAME", help="How a full window is made smaller: default, sliding or passthrough.")
]
Dialect = Annotated[
    str,
    typer.Option(metavar="NAME", help="The provider API that windows are for: openai, responses, anthropic, gemini."),
]
ReplayStore = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Where the logs go: sqlite:///path, jsonl:///folder or memory:. The same store again continues an "
        "interrupted replay. Default: a fresh SQLite file .transom/replay-N.db, written without waiting for the "
        "disk at each call, since a replay can be repeated.",
        show_default=False,
    ),
]
AnyStore = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Where the log is. Default: the store of the last replay here.", show_default=False
    ),
]
Questions = Annotated[bool, typer.Option("--questions", help="Also build the window of each labelled question.")]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write every window, one JSON line a call; gzip if it ends in .gz. Until all are there the file is "
        "called .FILE.part; what a killed run left of that is written anew. With - the lines go to stdout, and what "
        "else is printed to stderr.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, for programs.")]
Chart = Annotated[
    str | None,
    typer.Option(metavar="ID", help="The conversation to draw. Default: the longest.", show_default=False),
]
At = Annotated[
    int | None,
    typer.Option(
        metavar="CALL",
        help="Which call: counted from 1, or from the last with -1, -2, … Default: the window as it stands now.",
        show_default=False,
    ),
]
Every = Annotated[bool, typer.Option("--all", help="A line for every entry, folded or not.")]


@app.callback(invoke_without_command=True)
def about(
    context: typer.Context,
    shown: Annotated[bool, typer.Option("--version", help="Say which version this is.", is_eager=True)] = False,
) -> None:
    """The options of `transom` itself."""
    if shown:
        typer.echo(f"transom {version('transom')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


@app.command(short_help="Play recorded conversations again, judge every window.")
def replay(
    files: Files,
    budget: Budget,
    policy: Policy = "default",
    dialect: Dialect = "openai",
    store: ReplayStore = None,
    questions: Questions = False,
    out: Out = None,
    json: Json = False,
    chart: Chart = None,
) -> Job:
    """Play recorded conversations again, with a window before each model call.

    Prints for each file what the windows cost and whether all are valid and within the budget, then a chart of window
    size over the calls. Exit code 1 if a window is invalid or over the budget, or if every call was refused.
    """
    return _later(
        "replaying",
        Replay(
            files=tuple(files),
            budget=budget,
            policy=policy,
            dialect=dialect,
            store=store,
            questions=questions,
            out=out,
            json=json,
            chart=chart,
        ),
    )


@app.command(short_help="The log of a conversation, an entry a line.")
def show(id: Id, store: AnyStore = None, json: Json = False) -> Job:  # noqa: A002 - the word users see
    """The log of a conversation, an entry a line: what happened, what was decided, what was sent."""
    return _later("showing", Show(id=id, store=store, json=json))


@app.command(short_help="Why a call saw what it saw.")
def explain(
    id: Id,  # noqa: A002 - the word users see
    at: At = None,
    store: AnyStore = None,
    every: Every = False,
    json: Json = False,
) -> Job:
    """Why a call saw what it saw: what was kept, shortened, folded or dropped, and the reason."""
    return _later("explaining", Explain(id=id, at=at, store=store, every=every, json=json))


@app.command(short_help="Replay an agent session whose tools really ran; start here.")
def demo(
    budget: Annotated[int, typer.Option(metavar="N", help="Tokens a whole request may have.")] = 16_000,
    policy: Policy = "default",
    json: Json = False,
) -> Job:
    """Replay the session that ships with Transom, and look at one of its windows.

    Its agent is scripted; its tools really ran, on the project's own source.
    """
    return _later("demonstrating", Demo(budget=budget, policy=policy, json=json))


def command_line(args: Sequence[str] | None) -> Job | int:
    """The job these arguments ask for, or the exit code if typer has answered by itself (--help, --version)."""
    asked: Job | int | None = app(args, prog_name="transom", standalone_mode=False)
    return 0 if asked is None else asked


def _later(module: str, wanted: Replay | Show | Explain | Demo) -> Job:
    return lambda: import_module(f"transom.cli.{module}").run(wanted)
