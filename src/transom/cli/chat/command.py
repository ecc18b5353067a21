"""The command `transom chat`: open the conversation, and chat until the user leaves."""

from __future__ import annotations

import os
import warnings
from datetime import datetime
from pathlib import Path

from transom.cli.chat.session import ChatSession
from transom.cli.chat.slash import SlashCommands
from transom.cli.chat.tools import ChatTools
from transom.cli.commands.programs import Chat
from transom.cli.stores import store_to_fill
from transom.cli.transom_folder import CHATS
from transom.conversation.conversation import Conversation
from transom.errors import InvalidSetting
from transom.providers import provider_named
from transom.stores.postgres_url import without_password

MODEL_VARIABLE = "TRANSOM_MODEL"
SYSTEM = "You help a user at a terminal. Answer briefly, in Markdown."
SYSTEM_WITH_TOOLS = f"{SYSTEM} Use your tools to look at the files of the working folder and to change them."


def run(options: Chat) -> int:
    """Chat until the user leaves. Returns the exit code: 0; but 1 if an answer or a command failed and the input was no
    terminal, so that nobody read the error. Raises InvalidSetting if no model is named, by --model or TRANSOM_MODEL, or
    if it cannot be used here."""
    provider = provider_named(options.model or _model_of_environment())
    tools = ChatTools(Path.cwd())
    functions = tools.named(options.tools)
    name = options.id or f"chat {datetime.now().astimezone():%Y-%m-%d %H:%M:%S}"
    with store_to_fill(options.store, CHATS) as store:
        is_new = name not in store.names()
        default = SYSTEM_WITH_TOOLS if functions else SYSTEM
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # without a budget: the run takes the model's, where known
            conv = Conversation.open(
                store,
                name,
                budget=options.budget,
                policy=options.policy,
                dialect=provider.dialect,
                system=options.system if options.system is not None else default if is_new else None,
            )
        with conv:
            session = ChatSession(conv, provider, tools, functions, _options_to_go_on(options))
            session.run(SlashCommands(session).run)
    return int(session.has_failed and not session.screen.is_interactive)


def _options_to_go_on(options: Chat) -> dict[str, str]:
    """Return the options that were given and that the log does not hold, by name."""
    usual = Chat()
    given = {name: getattr(options, name) for name in ("store", "model", "budget", "policy", "tools")}
    if options.store is not None:
        given["store"] = without_password(options.store)
    return {f"--{name}": str(value) for name, value in given.items() if value != getattr(usual, name)}


def _model_of_environment() -> str:
    """Read the model's name from TRANSOM_MODEL. Raises InvalidSetting if it is not set."""
    if model := os.environ.get(MODEL_VARIABLE):
        return model
    raise InvalidSetting(
        "chat: which model? For example --model anthropic:claude-sonnet-5-5, or --model local, which needs no network; "
        f"{MODEL_VARIABLE} sets the default"
    )
