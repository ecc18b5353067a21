"""The command line itself. A command is a struct: what may be asked for. It gives a job, run when all has been read.

Nothing heavy is imported before a job runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from inspect import signature
from typing import Annotated, Any, TypeVar

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

K = TypeVar("K", bound=type[Struct])


def command(module: str, short_help: str, name: str = "") -> Callable[[K], K]:
    """Makes a struct a command: fields are options, the docstring is the help; `module` has the `run` it goes to."""

    def register(kind: K) -> K:
        def asked(**options: Any) -> Job:
            return lambda: import_module(f"transom.cli.{module}").run(kind(**options))

        asked.__doc__ = kind.__doc__
        asked.__signature__ = signature(kind)  # type: ignore[attr-defined]
        app.command(name or kind.__name__.lower(), short_help=short_help)(asked)
        return kind

    return register


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


def command_line(args: Sequence[str] | None) -> Job | int:
    """The job these arguments ask for, or the exit code if typer has answered by itself (--help, --version)."""
    asked: Job | int | None = app(args, prog_name="transom", standalone_mode=False)
    return 0 if asked is None else asked
