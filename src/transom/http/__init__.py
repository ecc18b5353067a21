"""Transom below the clients that people already have: `transom.wrap`, and the transports that it is made of.

    import httpx2
    from openai import OpenAI
    from transom.http import Gateway, Transport

    gateway = Gateway("sqlite:///agent.db", budget=100_000)
    client = OpenAI(http_client=httpx2.Client(transport=Transport(gateway)))

A client sends whole conversations. Each request is matched to a log by its longest known beginning
(`conversation_matcher`), what is new is logged, and the window of the log is sent in the place of the messages
(`exchange`). docs/wrap.md is the guide.
"""

from transom.http.gateway import Gateway
from transom.http.transport import AsyncTransport, Transport
from transom.http.wrap import wrap

__all__ = ["AsyncTransport", "Gateway", "Transport", "wrap"]
