"""The commands that serve, run or begin something, and those for this folder, each as a struct of its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Struct
from typer import Argument, Option

from transom.cli.lazy_commands import command
from transom.cli.options import PLAIN, CleanYes, Json, OnError, Policy, ProxyBudget, ProxyStore, token_count


@command(
    "proxy",
    "Serve as a proxy to a model provider, that logs and compacts.",
    example="proxy --upstream https://api.openai.com --budget 100k",
)
class Proxy(Struct, frozen=True, kw_only=True):
    """Listen as a proxy in front of a model provider: OpenAI Chat Completions and Responses, Anthropic, Gemini.

    Point an agent's base URL at it. Each request for a reply is matched to its conversation by its messages, logged,
    and sent with a window within the budget; one that is refused as too long is sent again with less. A request whose
    conversation the provider keeps (`previous_response_id`) passes as it came, and so do all requests that ask for no
    reply. Each API key has conversations of its own; keys are not stored. /healthz says ok, /metrics is for Prometheus.
    Ctrl-C ends it. Needs `pip install "transom[proxy]"`.
    """

    upstream: Annotated[
        str,
        Option(metavar="URL", help="The provider that requests are sent to, for example https://api.anthropic.com."),
    ]
    store: ProxyStore = ".transom/proxy.db"
    budget: ProxyBudget = None
    policy: Policy = "default"
    on_error: OnError = "pass"
    host: Annotated[
        str, Option(metavar="ADDRESS", help="The address to listen at. Keys come to it: keep it private.")
    ] = "127.0.0.1"
    port: Annotated[int, Option(min=0, max=65_535, metavar="N", help="The port to listen at; 0: any free one.")] = 8787
    max_body: Annotated[
        int, Option("--max-body", min=1, metavar="MIB", help="The largest body of a request, unpacked.")
    ] = 64
    concurrency: Annotated[
        int, Option(min=1, metavar="N", help="The most requests at once; more are answered with 503.")
    ] = 512
    timeout: Annotated[float, Option(min=0.1, metavar="SECONDS", help="How long the provider may be silent.")] = 600.0


@command(
    "run_agent",
    "Run claude, codex or another agent behind a proxy of its own.",
    example='run claude -- -p "Fix the failing test"',
)
class Run(Struct, frozen=True, kw_only=True):
    """Run an agent behind a proxy of its own, on a free port of this machine, until it ends.

    The agent gets the proxy's URL in the environment variables that it knows: `transom run claude -- -p "fix it"`. Its
    conversations stay in the store, for `transom explain` and all other commands. The exit code is the agent's. Needs
    `pip install "transom[proxy]"`.
    """

    agent: Annotated[str, Argument(metavar="AGENT", help="claude, codex, or any program that takes a base URL.")]
    arguments: Annotated[
        list[str] | None, Argument(metavar="-- ARGS", help="The arguments of the agent, behind two dashes.")
    ] = None
    upstream: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="The provider. Default: what the agent's environment variable names, or the agent's own; OpenAI if it "
            "is not claude, codex or gemini.",
        ),
    ] = None
    store: ProxyStore = ".transom/proxy.db"
    budget: ProxyBudget = None
    policy: Policy = "default"
    on_error: OnError = "pass"


@command("demo", "Replay the session that ships with Transom. Start here.", example="demo")
class Demo(Struct, frozen=True, kw_only=True):
    """Replay the session that ships with Transom, and explain one of its windows.

    Its agent is scripted. Its tools really ran, on the source of this project.
    """

    budget: Annotated[int, token_count("The most tokens that a request may have.")] = 16_000
    policy: Policy = "default"
    json: Json = False


@command("doctor", "Say what is installed, which stores are here, and what to do about problems.", example="doctor")
class Doctor(Struct, frozen=True, kw_only=True):
    """Print the version, the extras that are installed, the stores of this folder, whether keys are set, and each
    problem with what to do about it.

    Of keys it says only whether they are set. Exit code 1 if there is a problem. `conversations --full` reads every
    entry of a store; this command reads the beginning and the end of each conversation.
    """

    store: Annotated[
        str | None,
        Option(metavar="URL", help="The store to look at. Default: the stores of this folder and of .transom."),
    ] = None
    json: Json = False


SLASH_COMMANDS = {
    "/compact": "make the context smaller now",
    "/undo [EDIT]": "take back the last compaction, pin or discarded answer, or the edit with this number",
    "/context": "what is in the context",
    "/explain [CALL]": "every entry of the log: what the model sees of it, and why",
    "/pin ENTRY [WHY]": "keep an entry in the context (/explain has the numbers)",
    "/note TEXT": "a note that the model reads with every message",
    "/model [NAME]": "go on with another model, or print which one it is",
    "/mode [MODE]": "chat, agent, or run DIRECTIVE; or print which one it is",
    "/retry": "discard the last answer and ask again; after a failure, go on",
    "/help": "these commands",
    "/quit": "leave; the same id goes on",
}
"""The slash commands of a chat, each with what it does."""


CHAT = (
    "\b\nCommands in a chat:\n"
    + "\n".join(f"  {name:<18} {about}" for name, about in SLASH_COMMANDS.items())
    + "\n\nCtrl-C stops an answer; what had arrived is kept. The tools read and grep work in this folder; write and "
    "shell ask first."
)
"""What can be typed in a chat: the end of its --help."""


@command("chat.command", "Chat with a model, with tools.", example="chat trip --model openai:gpt-5", epilog=CHAT)
class Chat(Struct, frozen=True, kw_only=True):
    """Chat with a model at the terminal. Shows its answers as they come, and how full the context is.

    Everything is logged: the same ID goes on where the last chat ended. What is shortened when the context is full can
    be looked at (`explain`), read back and undone.
    """

    id: Annotated[
        str | None, Argument(metavar="ID", help="The conversation: a new id, or one to go on with. Default: a new one.")
    ] = None
    store: Annotated[
        str | None,
        Option(
            metavar="URL", help="The store of the chat: a URL or a path. Default: .transom/chats.db in this folder."
        ),
    ] = None
    model: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="The model: anthropic:claude-sonnet-5-5, openai:gpt-5, openai:qwen3@http://localhost:8000/v1, local. "
            "Default: what TRANSOM_MODEL says.",
        ),
    ] = None
    budget: Annotated[
        int | None, token_count(f"{PLAIN} Default: the model's context window if it is known, else 128,000.")
    ] = None
    policy: Policy = "default"
    tools: Annotated[
        str, Option(metavar="NAMES", help="The tools, separated by commas: read, write, grep, shell; or none.")
    ] = "read,write,grep,shell"
    system: Annotated[
        str | None, Option(metavar="TEXT", help="The system prompt. Default: a short one, or the one of the log.")
    ] = None


@command("repo_map", "Print a map of a folder of source code.", example='map . --focus "the parser"')
class Map(Struct, frozen=True, kw_only=True):
    """Print the files and symbols of a folder that a reader would need first, within a number of tokens.

    Files are ranked by who mentions whose symbols, and by the words of --focus. If the current folder has a .transom,
    what was parsed is kept there, so that the next map is there at once. Exit code 1 if there is nothing to print.
    Needs `pip install "transom[map]"`.
    """

    folder: Annotated[
        Path, Argument(metavar="FOLDER", show_default=False, help="The folder of source code. Default: this one.")
    ] = Path()
    tokens: Annotated[int, token_count("The most tokens that the map may have: 2000 or 2k.", "--tokens")] = 1_000
    focus: Annotated[
        list[str] | None,
        Option(
            metavar="TEXT", help="What the map is for: a task, a question, a path, a name. May be given several times."
        ),
    ] = None
    json: Json = False


@command("clean", "Remove the replays of this folder.", example="clean")
class Clean(Struct, frozen=True, kw_only=True):
    """Remove what `replay`, `demo` and `map` have stored in .transom of this folder; with --imports, what `import` has
    stored too. Asks first. Exit code 1 if the answer was no."""

    imports: Annotated[bool, Option("--imports", help="Also the conversations that `import` stored in .transom.")] = (
        False
    )
    yes: CleanYes = False
    json: Json = False
