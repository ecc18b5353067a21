"""The commands as structs of their options, each with its help. Options of several commands are in `cli.options`."""

from transom.cli.commands import programs, recorded, stored

__all__ = ["programs", "recorded", "stored"]
