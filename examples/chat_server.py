"""A server with FastAPI: each POST is a message of a conversation, and the answer is streamed as it is written.

Two messages to one conversation at once take turns, also if two processes serve them: the second waits for the first.

The model is scripted, so it runs offline. Without arguments the program asks itself; `fastapi` is needed.

python examples/chat_server.py
python examples/chat_server.py anthropic:claude-sonnet-5-5

To serve it, with uvicorn:  uvicorn chat_server:app --app-dir examples
Then:                       curl -N localhost:8000/chats/trip -d '{"text": "How is the weather in Lisbon?"}' \
                                -H 'content-type: application/json'
"""

import gc
import json
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

import transom
from transom.conversation import events
from transom.providers import Provider
from transom.providers.scripted import Scripted, call
from transom.stores import open_store

STORE = open_store("memory:")  # "sqlite:///chats.db" keeps them
WAIT = 60
"""Seconds that a message waits for the answer to the one before."""
app = FastAPI()
gc.freeze()  # what was imported is not looked through again while the server is at work


class Message(BaseModel):
    """What a user says."""

    text: str


async def weather(city: str) -> dict[str, str]:
    """The weather in a city."""
    return {"city": city, "sky": "clear"}


def provider() -> str | Provider:
    """The model of a request."""
    named = sys.argv[1:] if __name__ == "__main__" else []
    return named[0] if named else Scripted(call("weather", city="Lisbon"), "The sky over Lisbon is clear.")


async def answer(chat: str, text: str) -> AsyncIterator[str]:
    """The answer as server-sent events. If the client goes away, what had arrived is logged."""
    async with await transom.AsyncConversation.open(STORE, chat, budget=32_000, system="Be brief.") as conv:
        try:
            async with aclosing(conv.stream(text, provider=provider(), tools=[weather], wait=WAIT)) as stream:
                async for event in stream:
                    match event:
                        case events.TextDelta(text=piece):
                            yield sent("text", piece)
                        case events.ToolCalled(name=name):
                            yield sent("tool", name)
                        case events.Finished(result=result):
                            yield sent("done", result.usage.total)
                        case _:
                            pass
        except transom.ConversationBusy:
            yield sent("busy", "an answer to an earlier message is still being written: try again later")
        except transom.TransomError as problem:
            yield sent("error", str(problem))


def sent(kind: str, data: object) -> str:
    """One server-sent event."""
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"


@app.post("/chats/{chat}")
async def post(chat: str, message: Message) -> StreamingResponse:
    """Answer a message."""
    return StreamingResponse(answer(chat, message.text), media_type="text/event-stream")


def main() -> None:
    """Ask the server as a client would, without a network."""
    from fastapi.testclient import TestClient  # noqa: PLC0415 - a server does not need it

    client = TestClient(app)
    with client.stream("POST", "/chats/trip", json={"text": "How is the weather in Lisbon?"}) as response:
        for line in response.iter_lines():
            if line.startswith("data: "):
                print(json.loads(line.removeprefix("data: ")), end=" ", flush=True)
    print()


if __name__ == "__main__":
    main()
