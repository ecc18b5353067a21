"""The same agent on an event loop, with its events as they come. It runs offline: the model is scripted.

python examples/agent_async.py
python examples/agent_async.py openai:gpt-5
"""

import asyncio
import sys

import transom
from transom.conversation import events
from transom.providers.scripted import Scripted, call


async def weather(city: str) -> dict[str, str]:
    """The weather in a city."""
    await asyncio.sleep(0.01)
    return {"city": city, "sky": "clear"}


async def main(model: str = "") -> None:
    """Ask, and print the answer while it comes."""
    provider = model or Scripted(call("weather", city="Lisbon"), "The sky over Lisbon is clear.")
    opened = transom.AsyncConversation.open("memory:", "weather", budget=32_000, system="Be brief.")
    async with await opened as conv:
        async for event in conv.stream("How is the weather in Lisbon?", provider=provider, tools=[weather]):
            match event:
                case events.TextDelta(text=text):
                    print(text, end="", flush=True)
                case events.ToolReturned(name=name, content=content):
                    print(f"[{name}: {content}]")
                case events.Finished(result=result):
                    print(f"\n[{result.usage.requests} requests, {result.usage.total} tokens]")
                case _:
                    pass


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
