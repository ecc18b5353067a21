"""The command `transom run`: starts an agent behind a proxy of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from transom.cli.commands.programs import Run
from transom.cli.next_commands import command_for
from transom.cli.proxy import needs_proxy, opened_gateway
from transom.cli.streams import one_line, print_notice
from transom.core.message import Head
from transom.errors import InvalidSetting
from transom.stores import Store
from transom.stores.postgres_url import without_password

ANTHROPIC, OPENAI, GEMINI = "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"
"""The environment variables in which SDKs and agents take a base URL."""

UPSTREAMS = {
    ANTHROPIC: "https://api.anthropic.com",
    OPENAI: "https://api.openai.com/v1",
    GEMINI: "https://generativelanguage.googleapis.com",
}
"""For each variable, where requests go if the environment does not say."""


class Agent(NamedTuple):
    """An agent that is known by name. `variable`: the environment variable in which it takes its base URL.
    `arguments`: are put before those of the user; in them, {url} stands for the base URL at our proxy."""

    variable: str
    arguments: tuple[str, ...] = ()


AGENTS = {
    "claude": Agent(ANTHROPIC),
    "codex": Agent(OPENAI, ("-c", 'openai_base_url="{url}"')),
    "gemini": Agent(GEMINI),
}
"""The agents that are known, by the name of their program. Any other program is taken for one that asks OpenAI.

Codex takes the URL as a setting, the others from their variable.
"""


def run(options: Run) -> int:
    """Run the agent behind a proxy until it ends. Return the agent's exit code, or 128 and the number of the signal
    that ended it. Raises InvalidSetting if there is no such program on the PATH."""
    needs_proxy("run")
    from transom.proxy.app import ProxySettings  # noqa: PLC0415 - an extra
    from transom.proxy.serve import serving  # noqa: PLC0415 - an extra

    program = shutil.which(options.agent)
    if program is None:
        raise InvalidSetting(f"run: there is no program {one_line(options.agent)!r} on the PATH")
    name = os.path.basename(options.agent)  # noqa: PTH119 - of a text
    agent = AGENTS.get(name, Agent(OPENAI))
    upstream = options.upstream or os.environ.get(agent.variable) or UPSTREAMS[agent.variable]
    gateway = opened_gateway(options.store, options.budget, options.policy, options.on_error)
    before = {*gateway.store.names()}
    with serving(gateway, ProxySettings(upstream=upstream, by_key=False)) as url:
        environment = with_base_urls(os.environ, url, upstream)
        own = [each.format(url=environment[agent.variable]) for each in agent.arguments]
        code = _waited([program, *own, *(options.arguments or ())], environment)
        _say_where(gateway.store, before, options.store)
    return code


def with_base_urls(environment: Mapping[str, str], url: str, upstream: str) -> dict[str, str]:
    """Return a copy of the environment in which the base URLs of Anthropic, OpenAI and Gemini are that of our proxy.

    `url`: of our proxy, without a path and a slash at its end; requests to it do not go through an HTTP proxy of the
    machine (`no_proxy`). `upstream`: the URL to which our proxy sends the requests. The base URL for OpenAI has the
    path of `upstream` behind `url`, or /v1 if `upstream` has no path or is Anthropic's.
    """
    path = "" if upstream.startswith(UPSTREAMS[ANTHROPIC]) else upstream.partition("://")[2].partition("/")[2]
    openai = f"{url}/{path.strip('/') or 'v1'}"
    others = {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
    known = {key: f"{environment[key]},{value}" if environment.get(key) else value for key, value in others.items()}
    return {**environment, **known, ANTHROPIC: url, OPENAI: openai, GEMINI: url, "OPENAI_API_BASE": openai}


def _waited(line: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a program on this terminal until it ends, and return its exit code. If a signal ended it, that is 128 and the
    number of the signal.

    Ctrl-C reaches the program alone, which decides what happens then.
    """
    with subprocess.Popen(line, env=dict(environment)) as process:  # noqa: S603 - the user's own command
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            code = process.wait()
        finally:
            signal.signal(signal.SIGINT, before)
            with suppress(ProcessLookupError):
                process.kill()
    return 128 - code if code < 0 else code


def _say_where(store: Store, before: set[str], url: str) -> None:
    """Say how many conversations are new in the store, and how to look at the longest one. Say nothing if none is.

    An agent asks for titles and checks beside its work. So if some conversations have tools, the longest of these is
    named, and those without tools are counted apart. `before`: the names that were there before.
    """
    new = [name for name in store.names() if name not in before]
    if not new:
        return
    heads = {name: [entry.body for entry in store.open(name).read() if isinstance(entry.body, Head)] for name in new}
    main = [name for name in new if any(head.tools for head in heads[name])] or new
    longest = max(main, key=lambda name: len(store.open(name)))
    sys.stdout.flush()
    place, beside = without_password(url), len(new) - len(main)
    aside = f", {beside:,} of them without tools" if beside else ""
    print_notice(f"{len(new):,} new in {place}{aside}: {command_for('explain', longest, store=url)}")
