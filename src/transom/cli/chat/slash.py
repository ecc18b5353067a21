"""The slash commands of a chat: lines that begin with a slash are not sent to the model."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import cast

from typer import BadParameter

from transom import texts
from transom.cli.chat.session import ChatSession
from transom.cli.commands.programs import SLASH_COMMANDS
from transom.cli.explain import explained, print_explained
from transom.cli.options import entry_number
from transom.cli.streams import counted, error_text, one_line
from transom.conversation.planning.modes import MODES, Directive, Mode
from transom.core.edit import Fold, Pin, Undo
from transom.core.message import Assistant, Note
from transom.core.view import View
from transom.errors import InvalidEdit, InvalidSetting, TransomError

DISCARDED = "[answer discarded by the user]"
NAMES = {usage.partition(" ")[0]: usage for usage in SLASH_COMMANDS}
"""The commands, each with its line in the help. A method of `SlashCommands` runs each but /quit."""


class SlashCommands:
    """Runs the slash commands of one chat."""

    def __init__(self, chat: ChatSession) -> None:
        self._chat = chat

    def run(self, line: str) -> bool:
        """Run a slash command. Return False if it ends the chat, otherwise True. An error is printed as one line."""
        name, _, rest = line.partition(" ")
        rest = rest.strip()
        if name in {"/quit", "/exit"} and not rest:
            return False
        print_line = self._chat.screen.print
        if name not in NAMES:
            self._chat.has_failed = True
            print_line(f"there is no command {one_line(name)}; /help lists them", "red")
            return True
        try:
            if rest and NAMES[name] == name:
                raise InvalidSetting(f"{name} takes nothing behind it")
            getattr(self, f"_{name[1:]}")(rest)
        except TransomError as problem:
            self._chat.has_failed = True
            print_line(error_text(problem), "red")
        return True

    def _compact(self, _rest: str) -> None:
        done = self._chat.conv.compact()
        if done.edits:
            self._chat.show_compacted(done)
        else:
            self._chat.screen.print("there is nothing to make smaller")
        self._chat.show_gauge()

    def _undo(self, rest: str) -> None:
        conv = self._chat.conv
        edit = (
            _number(rest, "undo: the number of an edit, or nothing for the last compaction or edit") if rest else None
        )
        undone = [conv.log[seq].body for seq in conv.undo(edit, why="asked for in the chat")]
        pins = [conv.log[body.edit].body for body in undone if isinstance(body, Undo)]
        unpinned = ", ".join(
            f"entry {body.entry} need not stay in the context" for body in pins if isinstance(body, Pin)
        )
        self._chat.screen.print(f"{counted(len(undone), 'edit')} undone{unpinned and ': '}{unpinned}")
        self._chat.show_gauge()

    def _context(self, _rest: str) -> None:
        conv, write = self._chat.conv, self._chat.screen.print
        view, shown = conv.view, dict[str, list[int]]()
        for row in conv.explain():
            shown.setdefault(row.role if row.state in {"kept", "shortened"} else row.state, []).append(
                row.tokens if row.state in {"folded", "dropped"} else row.shown_tokens
            )
        entries = counted(view.length, "entry", "entries")
        write(f"{self._chat.model_name}, policy {conv.policy.name}, {entries} in the log")
        write(f"{'system prompt and tools':<24}{view.head_size.tokens:>9,} tokens")
        for role, tokens in shown.items():
            hidden = " in the log, not in the context" if role in {"folded", "dropped"} else ""
            write(f"{f'{role}, {len(tokens):,}':<24}{sum(tokens):>9,} tokens{hidden}")
        write(f"{'in the context':<24}{conv.window_usage.used:>9,} tokens")
        self._chat.show_gauge()

    def _explain(self, rest: str) -> None:
        if rest and not re.fullmatch(r"-?\d{1,15}", rest, re.ASCII):
            raise InvalidSetting("explain: the number of a call, or nothing")
        result = explained(self._chat.conv.log, int(rest) if rest else None)
        print_explained(self._chat.screen.console, result)

    def _pin(self, rest: str) -> None:
        words = rest.removeprefix("entry").split(maxsplit=1)
        entry = _number(words[0] if words else "", "pin: which entry? /pin 12, or /pin 12 because")
        entries = len(self._chat.conv.log)
        self._chat.conv.pin(entry, words[1] if len(words) > 1 else "")
        again = "; it was pinned already" if len(self._chat.conv.log) == entries else "; /undo takes the pin back"
        self._chat.screen.print(f"entry {entry} stays in the context{again}")

    def _note(self, rest: str) -> None:
        if not rest:
            raise InvalidSetting("note: what is it?")
        conv = self._chat.conv
        entry = conv.append(Note(key="", text=texts.state_note("note of the user", rest)))
        conv.pin(entry, "note")
        self._chat.screen.print(f"noted as entry {entry}; the model reads it from the next message on")

    def _model(self, rest: str) -> None:
        if rest:
            self._chat.use_model(rest)
        self._chat.screen.print(self._chat.model_name)

    def _mode(self, rest: str) -> None:
        conv = self._chat.conv
        mode, _, text = rest.partition(" ")
        if mode not in {"", *MODES}:
            raise InvalidSetting(f"mode: {', '.join(MODES)} DIRECTIVE")
        if mode == "run" and not text.strip():
            raise InvalidSetting("mode: what must the run do? /mode run DIRECTIVE")
        if not mode:
            self._chat.screen.print(conv.mode or "no mode")
            return
        directive = Directive(run_id=f"run {conv.view.length}", text=text.strip()) if mode == "run" else None
        change = conv.set_mode(cast("Mode", mode), directive=directive)
        cost = (
            f"{change.tokens_read_again:,} tokens are read again"
            if change.tokens_read_again
            else "nothing is read again"
        )
        self._chat.screen.print(f"{mode} mode from the next message on; {cost}")

    def _retry(self, _rest: str) -> None:
        conv = self._chat.conv
        if (first := _last_answer(conv.view)) is not None:
            with suppress(InvalidEdit):  # an answer of a few words, which is shorter than any text in its place
                conv.edit(Fold(first=first, last=first, text=DISCARDED, why="discarded"))
        self._chat.answer(None)

    def _help(self, _rest: str) -> None:
        for name, about in SLASH_COMMANDS.items():
            self._chat.screen.print(f"{name:<18} {about}")


def _number(reference: str, problem: str) -> int:
    """Parse the number of an entry ("12", "entry 12"). For any other text, raise InvalidSetting with `problem`."""
    try:
        return entry_number(reference)
    except BadParameter:
        raise InvalidSetting(problem) from None


def _last_answer(view: View) -> int | None:
    """Return the key of the newest unit, notes aside, if it is an answer of the model without calls; otherwise None."""
    for unit in reversed([*view.visible_units()]):
        fact = unit.first_fact
        if not isinstance(fact, Note):
            return unit.key if isinstance(fact, Assistant) and not fact.calls else None
    return None
