"""The command `transom mcp`: serves the conversations of a store to an MCP client."""

from __future__ import annotations

import os
import secrets
from itertools import islice

from transom.cli.commands.stored import Mcp
from transom.cli.stores import existing_store, store_url
from transom.cli.streams import print_notice
from transom.errors import InvalidSetting, listed
from transom.extras import install_command
from transom.stores.conversation_list import conversations_in

HOST = "127.0.0.1"
TOKEN_VARIABLE = "TRANSOM_MCP_TOKEN"  # noqa: S105 - the name of a variable
MOST_OWNERS = 1_000
"""Of how many conversations the owner is read before the server starts."""
MOST_NAMED = 5
"""How many users the notice names."""


def run(options: Mcp) -> int:
    """Serve over stdio until the client goes away, or over HTTP until Ctrl-C: on this machine only, and only for who
    has the token, which is printed on stderr if TRANSOM_MCP_TOKEN does not give it. Exit code 0."""
    try:
        from transom.mcp.server import make_server, with_token  # noqa: PLC0415 - two seconds
    except ImportError as missing:
        raise InvalidSetting(f"transom mcp needs the package mcp: {install_command('mcp')}") from missing
    with existing_store(store_url(options.store)) as store:
        if options.user is None:
            users = {one.user_id for one in islice(conversations_in(store), MOST_OWNERS) if not one.damaged}
            if users and "" not in users:
                named = listed(sorted(users), MOST_NAMED)
                print_notice(
                    f"every conversation belongs to a user, so that none is served: give --user, one of {named}"
                )
        server = make_server(store, user_id=options.user, write=options.write)
        if options.port is None:
            server.run("stdio")
            return 0
        import uvicorn  # noqa: PLC0415

        token = os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(24)
        app = with_token(server.streamable_http_app(host=HOST), token)
        shown = f"the token in {TOKEN_VARIABLE}" if os.environ.get(TOKEN_VARIABLE) else f"the token {token}"
        print_notice(f"http://{HOST}:{options.port}/mcp, with {shown}")
        uvicorn.run(app, host=HOST, port=options.port, log_level="warning")
    return 0
