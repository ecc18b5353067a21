"""The command `transom inspect`: serves the page that shows the conversations of a store."""

from __future__ import annotations

import os
import sys
import webbrowser
from importlib.util import find_spec

from transom.cli.commands.stored import Inspect
from transom.cli.progress import at_work
from transom.cli.stores import existing_store, find_name, store_url
from transom.cli.streams import one_line
from transom.cli.terminal import print_wrapped, terminal
from transom.errors import InvalidSetting
from transom.extras import install_command
from transom.stores.postgres_url import without_password
from transom.tokenizer import o200k


def run(options: Inspect) -> int:
    """Serve the page until Ctrl-C. Exit code 0."""
    if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
        raise InvalidSetting(f"inspect needs starlette and uvicorn: {install_command('inspect')}")
    with at_work("starting"):
        from transom.inspector.server import Inspector, listen, serve  # noqa: PLC0415 - an extra

        o200k().count("ready")  # loads the tokenizer, so that the first window need not wait for it
    url = store_url(options.store)
    with existing_store(url) as store:
        conversation = None if options.id is None else find_name(store, options.id, url)
        try:
            listening = listen(options.port)
        except OSError as problem:
            raise InvalidSetting(f"--port: {problem.strerror}") from None
        inspector = Inspector(store, place=without_password(url), read_only=options.read_only)

        def ready(link: str) -> None:
            print_wrapped(terminal(), f"{one_line(without_password(url))}: Ctrl-C ends it. The link works once:")
            terminal().print(link, soft_wrap=True)
            sys.stdout.flush()
            if not options.no_open and _has_window():
                webbrowser.open(link)

        serve(inspector, listening, conversation=conversation, ready=ready)
    return 0


def _has_window() -> bool:
    """Whether a browser with a window may be opened: a person looks at a screen, and not from another machine."""
    if not sys.stdout.isatty() or "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in {"darwin", "win32"} or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
