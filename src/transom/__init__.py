"""Transom keeps every event of an agent's conversation in one log, and builds for every model call the window it needs.

import transom

messages = transom.fit(messages, budget=32_000)           # a list in, a valid list within the budget out

with transom.Conversation.open("sqlite:///agent.db", "trip", budget=32_000, system="You book trips.") as conv:
    conv.user("Find me a flight to Lisbon")
    reply = client.chat.completions.create(model=model, **conv.request())     # valid, in budget, logged
    conv.observe(reply)
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from transom.lazy_exports import lazy_exports as _lazy_exports

if _TYPE_CHECKING:
    from transom.cache_prices import Prices
    from transom.conversation.async_conversation import AsyncConversation
    from transom.conversation.conversation import Conversation
    from transom.conversation.events import RunResult
    from transom.conversation.failures import RetryDecision
    from transom.conversation.fit import fit
    from transom.conversation.forget_user import UserData, forget_user
    from transom.conversation.function_tool import FunctionTool
    from transom.conversation.model_calls.retry import Retry
    from transom.conversation.planning.modes import Directive, ModeChange, Profile
    from transom.conversation.request import Request, render
    from transom.conversation.runs.run_options import RunOptions
    from transom.conversation.settings import ConversationOptions, Settings
    from transom.conversation.sub_agents import SubAgent
    from transom.conversation.summary_job import SummarySettings
    from transom.conversation.usage import ConversationUsage, WindowUsage
    from transom.core.budget import Budget
    from transom.core.edit import Fold, Pin, Trim, Undo
    from transom.core.entry import Entry, Meta
    from transom.core.message import Fact, Head
    from transom.core.policy import Policy
    from transom.core.summary import Summary
    from transom.core.tokens import TokenCounter
    from transom.core.tool import Tool
    from transom.core.usage import TotalUsage
    from transom.core.view import View
    from transom.core.window import Window
    from transom.errors import (
        BudgetImpossible,
        Conflict,
        ContextStillTooLarge,
        ConversationBusy,
        InvalidEdit,
        InvalidMessage,
        InvalidOutput,
        InvalidSetting,
        ProviderError,
        RunStopped,
        StoreDamaged,
        StoreUnavailable,
        TransomError,
        UnknownLog,
    )
    from transom.evaluation.edit_costs import EditCost
    from transom.evaluation.explanations import Explanation, Explanations
    from transom.http.wrap import wrap
    from transom.stores import Store, StoredLog, open_store
    from transom.wire.dialect import Dialect

__all__ = [
    "AsyncConversation",
    "Budget",
    "BudgetImpossible",
    "Conflict",
    "ContextStillTooLarge",
    "Conversation",
    "ConversationBusy",
    "ConversationOptions",
    "ConversationUsage",
    "Dialect",
    "Directive",
    "EditCost",
    "Entry",
    "Explanation",
    "Explanations",
    "Fact",
    "Fold",
    "FunctionTool",
    "Head",
    "InvalidEdit",
    "InvalidMessage",
    "InvalidOutput",
    "InvalidSetting",
    "Meta",
    "ModeChange",
    "Pin",
    "Policy",
    "Prices",
    "Profile",
    "ProviderError",
    "Request",
    "Retry",
    "RetryDecision",
    "RunOptions",
    "RunResult",
    "RunStopped",
    "Settings",
    "Store",
    "StoreDamaged",
    "StoreUnavailable",
    "StoredLog",
    "SubAgent",
    "Summary",
    "SummarySettings",
    "TokenCounter",
    "Tool",
    "TotalUsage",
    "TransomError",
    "Trim",
    "Undo",
    "UnknownLog",
    "UserData",
    "View",
    "Window",
    "WindowUsage",
    "fit",
    "forget_user",
    "open_store",
    "render",
    "wrap",
]

__version__: str
"""The version of the installed package, read at first use."""

# Imported at first use: the command line, a part of this package, answers `--version` and `--help` without them.
_public_name, __dir__ = _lazy_exports(
    __name__,
    {
        "cache_prices": ("Prices",),
        "conversation.async_conversation": ("AsyncConversation",),
        "conversation.conversation": ("Conversation",),
        "conversation.events": ("RunResult",),
        "conversation.failures": ("RetryDecision",),
        "conversation.fit": ("fit",),
        "conversation.forget_user": ("UserData", "forget_user"),
        "conversation.function_tool": ("FunctionTool",),
        "conversation.model_calls.retry": ("Retry",),
        "conversation.planning.modes": ("Directive", "ModeChange", "Profile"),
        "conversation.request": ("Request", "render"),
        "conversation.runs.run_options": ("RunOptions",),
        "conversation.settings": ("ConversationOptions", "Settings"),
        "conversation.sub_agents": ("SubAgent",),
        "conversation.summary_job": ("SummarySettings",),
        "conversation.usage": ("ConversationUsage", "WindowUsage"),
        "core.budget": ("Budget",),
        "core.edit": ("Fold", "Pin", "Trim", "Undo"),
        "core.entry": ("Entry", "Meta"),
        "core.message": ("Fact", "Head"),
        "core.policy": ("Policy",),
        "core.summary": ("Summary",),
        "core.tokens": ("TokenCounter",),
        "core.tool": ("Tool",),
        "core.usage": ("TotalUsage",),
        "core.view": ("View",),
        "core.window": ("Window",),
        "errors": (
            "BudgetImpossible",
            "Conflict",
            "ContextStillTooLarge",
            "ConversationBusy",
            "InvalidEdit",
            "InvalidMessage",
            "InvalidOutput",
            "InvalidSetting",
            "ProviderError",
            "RunStopped",
            "StoreDamaged",
            "StoreUnavailable",
            "TransomError",
            "UnknownLog",
        ),
        "evaluation.edit_costs": ("EditCost",),
        "evaluation.explanations": ("Explanation", "Explanations"),
        "http.wrap": ("wrap",),
        "stores": ("Store", "StoredLog", "open_store"),
        "wire.dialect": ("Dialect",),
    },
)


def __getattr__(name: str) -> _Any:
    if name == "__version__":
        return _import_module("importlib.metadata").version(__name__)
    if name in __all__ or name.startswith("_"):
        return _public_name(name)
    try:  # a module of the package, as in `transom.errors`
        return _import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as missing:
        if missing.name != f"{__name__}.{name}":
            raise
        return _public_name(name)  # raises AttributeError
