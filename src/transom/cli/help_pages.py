"""The help of a command: what it does, one example, its options in groups, and what its figures mean."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Any

from typer.core import TyperCommand, TyperGroup

from transom.reports.policy_figures import Figure

HELP_WIDTH = 76

OPTION_GROUPS = {
    "Windows": ("budget", "policy", "policies", "prices", "dialect", "model", "system", "tools", "focus", "note"),
    "Which conversations": ("conversation", "user", "role", "tool", "file", "since", "until", "format"),
    "Store": ("store",),
    "Output": ("json", "out", "html", "form", "full", "limit", "context", "lines", "no_open"),
}
"""The groups of options by the names of their parameters, in the order of a help page. All others come first."""

MOST_UNGROUPED = 6
"""A help page with more options than this shows them in groups."""

COMMAND_GROUPS = {
    "Begin": ("demo", "chat", "replay", "import", "doctor"),
    "Look": ("inspect", "explain", "window", "log", "conversations", "usage"),
    "Find": ("search", "grep", "read", "memory", "map"),
    "Compare and check": ("compare", "check", "shadow", "audit"),
    "Change": ("compact", "undo", "pin", "fork"),
    "Serve": ("run", "proxy", "mcp"),
    "Take away": ("export", "forget", "clean"),
}
"""The commands in the order of `transom --help`, by what they are for. All others come last."""


class HelpPage(TyperCommand):
    """A command whose help has its options in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then each group of options."""
        arguments = [one for one in self.get_params(ctx) if one.param_type_name == "argument"]
        options = [one for one in self.get_params(ctx) if one.param_type_name == "option"]
        groups = {"Arguments": arguments, "Options": options}
        if len(options) > MOST_UNGROUPED + 1:  # --help is one of them
            by_name = {name: title for title, names in OPTION_GROUPS.items() for name in names}
            groups["Options"] = [one for one in options if one.name not in by_name]
            for title in OPTION_GROUPS:
                groups[title] = [one for one in options if by_name.get(one.name) == title]
        for title, params in groups.items():
            if rows := [row for one in params if (row := _help_row(one, ctx)) is not None]:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _help_row(parameter: Any, ctx: Any) -> tuple[str, str] | None:
    """Return the row of a parameter: its name and its help; None for a hidden one.

    An argument has its name alone, without a type, as in the first line of the page.
    """
    row: tuple[str, str] | None = parameter.get_help_record(ctx)
    if row is None or parameter.param_type_name != "argument" or not parameter.metavar:
        return row
    return parameter.metavar, row[1]


class HelpIndex(TyperGroup):
    """The list of commands, in groups."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each group of commands."""
        width = formatter.width - 6 - max(map(len, self.commands))
        placed = {name for names in COMMAND_GROUPS.values() for name in names}
        others = tuple(name for name in self.list_commands(ctx) if name not in placed)
        for title, names in {**COMMAND_GROUPS, "Others": others}.items():
            rows = [(name, self.commands[name].get_short_help_str(width)) for name in names if name in self.commands]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def help_text(figures: Iterable[Figure], *more: str) -> str:
    """Return a text for the end of --help, which says what the figures mean. `more`: paragraphs that follow."""
    return "\n\n".join([block_text("Figures", figures), *more])


def block_text(title: str, figures: Iterable[Figure]) -> str:
    """Return a title, and below it what each figure means."""
    rows = "\n".join(explained(figure.label, figure.meaning) for figure in figures)
    return f"\b\n{title}:\n{rows}"


def explained(term: str, meaning: str, *, indent: int = 26) -> str:
    """Return a term with its meaning beside it, wrapped to the width of --help. `indent`: the columns of the term."""
    lines = wrap(meaning, HELP_WIDTH - indent)
    return "\n".join(f"  {term if not number else '':<{indent}}{line}" for number, line in enumerate(lines))
