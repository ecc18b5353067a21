"""An agent with one tool. It runs offline: the model is scripted.

python examples/agent.py
python examples/agent.py anthropic:claude-sonnet-5-5        # or any other model, with its key in the environment
"""

import sys

import transom
from transom.providers.scripted import Scripted, call


def weather(city: str) -> dict[str, str]:
    """The weather in a city."""
    return {"city": city, "sky": "clear"}


def main(model: str = "") -> None:
    """Ask, and print the answer."""
    provider = model or Scripted(call("weather", city="Lisbon"), "The sky over Lisbon is clear.")
    with transom.Conversation.open("memory:", "weather", budget=32_000, system="Be brief.") as conv:
        result = conv.run("How is the weather in Lisbon?", provider=provider, tools=[weather])
        print(result.text)


if __name__ == "__main__":
    main(*sys.argv[1:])
