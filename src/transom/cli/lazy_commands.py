"""Parses the command line. Each command is a struct of options; parsing gives a job, which runs afterwards.

Nothing heavy is imported before a job runs, so that `--help` is fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Annotated, Any, TypeVar

import typer
from msgspec import Struct
from typer.main import get_command

from transom.cli.help_pages import HelpIndex

Job = Callable[[], int]
"""A command with its options: call it to run the command. It returns the exit code."""

UsageError = typer.BadParameter.__mro__[1]
ClickException: Any = UsageError.__mro__[1]
"""What typer raises for a command line that it cannot parse; the class has moved between its versions."""

app = typer.Typer(
    name="transom",
    cls=HelpIndex,
    rich_markup_mode=None,  # plain help is there in half the time
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Keep every event of an agent's conversation, and build for each model call the window that the model should "
    "see.\n\n"
    "`transom` alone says what can be done here. Start with `transom demo`. Then `transom replay` a conversation of "
    "your own, and `transom explain` a call that surprises you.",
)

K = TypeVar("K", bound=type[Struct])


def command(module: str, short_help: str, *, example: str, epilog: str | None = None) -> Callable[[K], K]:
    """Make the decorator that registers a struct as a command. The command's name is that of the struct in lower case;
    the fields are the options, the docstring is the help.

    `module`: the module in `transom.cli`, such as "chat.command", whose `run` gets the struct and returns the exit
    code; it is imported when the command runs. `short_help`: what the list of commands says. At the end of --help stand
    `example`, a command line without `transom`, and `epilog`.
    """

    def register(kind: K) -> K:
        def parsed(**options: Any) -> Job:
            return lambda: import_module(f"transom.cli.{module}").run(kind(**options))

        parsed.__doc__ = kind.__doc__
        parsed.__signature__ = signature(kind)  # type: ignore[attr-defined]
        end = "\n\n".join(filter(None, [f"\b\nExample:\n  transom {example}", epilog]))
        app.command(kind.__name__.lower(), short_help=short_help, epilog=end)(parsed)
        return kind

    return register


@app.callback(invoke_without_command=True)
def about(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> Job | None:
    """Answer the options of `transom` itself. Return the job for `transom` without a command, which says what can be
    done next; None if a command follows. A callback of typer."""
    if show_version:
        from importlib.metadata import version  # noqa: PLC0415 - a twentieth of the time of --help

        typer.echo(f"transom {version('transom')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        return lambda: import_module("transom.cli.start").run()
    return None


def command_line(args: Sequence[str] | None) -> Job | int:
    """Parse arguments, and return the job. `args` None: those of the process.

    Return the exit code instead if typer has answered by itself, as for --help and --version. Raises ClickException for
    a command line that cannot be parsed.
    """
    parse = _parser()
    job: Job | int | None = parse(args, prog_name="transom", standalone_mode=False)  # of None it expands `*` on Windows
    return 0 if job is None else job


@cache
def _parser() -> Any:
    """The parser of all commands. Typer itself would make it again for each command line of this process."""
    return get_command(app)
