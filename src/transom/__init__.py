"""Transom keeps every event of an agent's conversation in one log, and builds for every model call the window it needs.

import transom

messages = transom.fit(messages, context=32_000)          # a list in, a valid list within the budget out

with transom.Conversation.open("sqlite:///agent.db", "trip", budget=32_000, system="You book trips.") as conv:
    conv.user("Find me a flight to Lisbon")
    window = conv.window()                                # valid, in budget, logged
    conv.observe(client.chat.completions.create(model=model, messages=window.openai()))
"""

from transom.conversation.conversation import Conversation, WindowUsage
from transom.conversation.fit import fit
from transom.conversation.window import Window
from transom.core.budget import Budget
from transom.core.policy import Policy
from transom.core.prices import Prices
from transom.core.tokens import TokenCounter
from transom.core.tool import Tool
from transom.errors import (
    BudgetImpossible,
    Conflict,
    InvalidEdit,
    InvalidMessage,
    InvalidSetting,
    StoreDamaged,
    StoreUnavailable,
    TransomError,
    UnknownLog,
)

__all__ = [
    "Budget",
    "BudgetImpossible",
    "Conflict",
    "Conversation",
    "InvalidEdit",
    "InvalidMessage",
    "InvalidSetting",
    "Policy",
    "Prices",
    "StoreDamaged",
    "StoreUnavailable",
    "TokenCounter",
    "Tool",
    "TransomError",
    "UnknownLog",
    "Window",
    "WindowUsage",
    "fit",
]
