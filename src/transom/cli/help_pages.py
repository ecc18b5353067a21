"""The list of commands in groups, and what the figures of a command mean."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Any

from typer.core import TyperGroup

from transom.reports.policy_figures import Figure

HELP_WIDTH = 76

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


class HelpIndex(TyperGroup):
    """The group of all commands, whose --help lists them by COMMAND_GROUPS. A class of typer."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands to the help page, group by group; those of no group come last. Typer calls this."""
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
    """Return a block of --help that is not wrapped again: a title, and below it what each figure means."""
    rows = "\n".join(explained(figure.label, figure.meaning) for figure in figures)
    return f"\b\n{title}:\n{rows}"


def explained(term: str, meaning: str, *, indent: int = 26) -> str:
    """Return a term with its meaning beside it, wrapped to the width of --help. `indent`: the columns of the term."""
    lines = wrap(meaning, HELP_WIDTH - indent)
    return "\n".join(f"  {term if not number else '':<{indent}}{line}" for number, line in enumerate(lines))
