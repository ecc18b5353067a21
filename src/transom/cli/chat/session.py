"""Runs a chat: the user's lines go to `Conversation.stream`, and its events are shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from transom.cli.chat.screen import MarkdownStream, Screen
from transom.cli.chat.tools import NEEDS_CONSENT, ChatTools
from transom.cli.next_commands import command_for
from transom.cli.streams import counted, error_text, one_line
from transom.conversation import events
from transom.conversation.conversation import Conversation
from transom.core.message import Assistant, Text, User, said_in
from transom.errors import InvalidMessage, RunStopped, TransomError
from transom.providers import Provider, provider_named
from transom.texts import tool_failed
from transom.wire.arguments import read_object

CONTINUE = "/retry or a message goes on"
"""What every stopped answer says."""
RESULT_CHARACTERS = 200
"""The most characters of a tool's result that are shown to the user."""


class ChatSession:
    """A sitting at the terminal with one conversation.

    `has_failed`: whether an answer or a slash command has failed. An answer that the user stopped has not failed.
    `options`: options of the command line by name. The command that is printed at the end, with which the user can go
    on later, has them.
    """

    def __init__(
        self,
        conv: Conversation,
        provider: Provider,
        tools: ChatTools,
        functions: list[Callable[..., Any]],
        options: Mapping[str, str],
    ) -> None:
        self.conv, self.provider = conv, provider
        self._options = dict(options)
        self.screen = Screen()
        self._tools = tools
        self._functions: list[Any] = [*functions]
        self._markdown = MarkdownStream(self.screen.console)
        self._is_thinking = False
        self.has_failed = False

    def run(self, slash_command: Callable[[str], bool]) -> None:
        """Read and answer lines until the end of the input, /quit, or Ctrl-C twice.

        `slash_command`: runs a line that begins with a slash, and returns False if that ends the chat.
        """
        self._greet()
        interrupted = False
        while True:
            try:
                line = self.screen.ask("\n› ")
            except EOFError:
                break
            except KeyboardInterrupt:
                if interrupted:
                    break
                interrupted = True
                self.screen.print("\n/quit or Ctrl-C again to leave", "dim")
                continue
            interrupted = False
            if line.startswith("/"):
                if not slash_command(line):
                    break
            elif line:
                self.answer(line)
        given = [word for option in self._options.items() for word in option]
        self.screen.print(f"\nto go on: {command_for('chat', self.conv.log.name, store=None, options=given)}", "dim")

    def answer(self, text: str | None) -> None:
        """Send the user's text and show the model's answer. `text` None: go on without a new message.

        A TransomError is printed, and sets `has_failed`; it is not raised. Ctrl-C stops the answer, and the part that
        had arrived is in the log.
        """
        result: events.RunResult | None = None
        try:
            with closing(
                self.conv.stream(text, provider=self.provider, tools=self._functions, approve=self._approve)
            ) as stream:
                for event in stream:
                    self._show(event)
                    if isinstance(event, events.Finished):
                        result = event.result
        except KeyboardInterrupt:
            self._tools.stop()
            self._markdown.end()
            self.screen.print(f"stopped; what had arrived is kept. {CONTINUE}", "yellow")
        except RunStopped as stopped:
            self.has_failed = True
            self._markdown.end()
            self.screen.print(f"{stopped}. {CONTINUE}", "yellow")
        except TransomError as problem:
            self.has_failed = True
            self._markdown.end()
            self.screen.print(f"{error_text(problem)}. {CONTINUE}", "red")
        finally:
            self._markdown.end()
            self._is_thinking = False
        self.show_gauge(result)

    def use_model(self, name: str) -> None:
        """Ask another model from the next message on. `name`: as --model takes it. Raises InvalidSetting if there is no
        such provider, or if it cannot be used here; then the model stays."""
        self.provider = provider_named(name)
        self._options["--model"] = name

    def show_gauge(self, result: events.RunResult | None = None) -> None:
        """Print how full the window is, as a share of the budget. `result`: a run, whose requests, tokens and cost are
        printed too."""
        usage = self.conv.window_usage
        words = f"{usage.percent}% of {usage.budget:,} tokens"
        if result is not None:
            cost = f", ${result.cost:.4f}" if result.cost else ""
            requests = counted(result.usage.requests, "request")
            words += f" · {requests}, {result.usage.total:,} tokens{cost}"
        self.screen.gauge(usage.percent, usage.status, words)

    # ---- what is shown

    def _greet(self) -> None:
        name, length = one_line(self.conv.log.name), self.conv.view.length
        state = counted(length, "entry", "entries") if length else "new"
        self.screen.print(f"{name} ({state}) with {self.model_name}; /help lists the commands", "bold")
        last: dict[type, str] = {}
        for entry in self.conv.log.read(max(0, length - 50)):
            if isinstance(entry.body, (User, Assistant)):
                said = "".join(part.text for part in entry.body.parts if isinstance(part, Text))
                text = said_in(entry.body) if isinstance(entry.body, Assistant) else said
                last[type(entry.body)] = text or last.get(type(entry.body), "")
        if User in last:
            self.screen.print(f"› {one_line(last[User])[:RESULT_CHARACTERS]}", "dim")
        if Assistant in last:
            self.screen.print_markdown(last[Assistant])

    @property
    def model_name(self) -> str:
        """The provider and the model, in the form that --model takes."""
        return f"{self.provider.name}:{self.provider.model}"

    def _show(self, event: events.Event) -> None:
        match event:
            case events.TextDelta():
                self._markdown.add(event.text)
            case events.ReasoningDelta():
                if not self._is_thinking:
                    self.screen.print("thinking …", "dim")
                self._is_thinking = True
            case events.Replied():
                self._is_thinking = False
                self._markdown.end()
                if event.stop == "length":
                    self.screen.print(f"the answer is as long as it may be. {CONTINUE}", "yellow")
            case events.ToolCalled():
                self._markdown.end()
                if event.name not in NEEDS_CONSENT:  # the question shows the others
                    self.screen.print(f"→ {event.name} {_arguments(event)}", "cyan")
            case events.ToolReturned():
                self._show_result(event)
            case events.Compacted():
                self.show_compacted(event)
            case events.RequestFailed():
                self._markdown.end()
                self.screen.print(f"the request failed ({event.kind}): {one_line(event.error)}", "red")
            case events.Retrying():
                self.screen.print(f"trying again in {event.wait:g} s with {event.model}", "dim")
            case _:
                pass

    def show_compacted(self, event: events.Compacted) -> None:
        """Print what a compaction did, and why the window has no new summary, if one was asked for."""
        change = f"{event.tokens_before:,} → {event.tokens_after:,} tokens"
        self.screen.print(f"compacted: {change}. /undo takes it back", "dim")
        if event.failure:
            self.screen.print(f"no summary in the window: {one_line(event.failure)}", "yellow")

    def _show_result(self, event: events.ToolReturned) -> None:
        text = event.content if isinstance(event.content, str) else json.dumps(event.content, ensure_ascii=False)
        text = tool_failed(text) if event.failed else text
        lines = text.strip().splitlines() or [""]
        more = f" (and {counted(len(lines) - 1, 'line')} more)" if len(lines) > 1 else ""
        self.screen.print(f"← {one_line(lines[0])[:RESULT_CHARACTERS]}{more}", "red" if event.failed else "dim")

    def _approve(self, call: events.ToolCalled) -> bool | str:
        """Ask the user before a tool changes something. Return whether it may run; for an answer that is neither yes
        nor no, return a text for the model with that answer."""
        if call.name not in NEEDS_CONSENT:
            return True
        self.screen.print(f"→ {self._tools.preview(call.name, _parsed(call))}", "yellow")
        try:
            answer = self.screen.ask("run it? [y/n, or what to do instead] ", fresh=True)
        except EOFError:
            return False
        if answer.lower() in {"y", "yes"}:
            return True
        if answer.lower() in {"", "n", "no"}:
            return False
        return f"[not run: the user refused it and said: {answer}]"


def _arguments(call: events.ToolCalled) -> str:
    """Format the arguments of a call on one line."""
    return ", ".join(f"{name}={one_line(str(value))[:RESULT_CHARACTERS]}" for name, value in _parsed(call).items())


def _parsed(call: events.ToolCalled) -> dict[str, Any]:
    try:
        return read_object(call.arguments)
    except InvalidMessage:
        return {}
