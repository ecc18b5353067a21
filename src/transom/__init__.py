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
    from transom.cache_prices import Prices as Prices
    from transom.conversation.async_conversation import AsyncConversation as AsyncConversation
    from transom.conversation.conversation import Conversation as Conversation
    from transom.conversation.events import RunResult as RunResult
    from transom.conversation.failures import RetryDecision as RetryDecision
    from transom.conversation.fit import fit as fit
    from transom.conversation.forget_user import UserData as UserData
    from transom.conversation.forget_user import forget_user as forget_user
    from transom.conversation.function_tool import FunctionTool as FunctionTool
    from transom.conversation.model_calls.retry import Retry as Retry
    from transom.conversation.planning.modes import Directive as Directive
    from transom.conversation.planning.modes import ModeChange as ModeChange
    from transom.conversation.planning.modes import Profile as Profile
    from transom.conversation.render_window import render as render
    from transom.conversation.runs.run_options import RunOptions as RunOptions
    from transom.conversation.settings import ConversationOptions as ConversationOptions
    from transom.conversation.settings import Settings as Settings
    from transom.conversation.sub_agents import SubAgent as SubAgent
    from transom.conversation.summary_job import SummarySettings as SummarySettings
    from transom.conversation.usage import ConversationUsage as ConversationUsage
    from transom.conversation.usage import WindowUsage as WindowUsage
    from transom.core.budget import Budget as Budget
    from transom.core.edit import Fold as Fold
    from transom.core.edit import Pin as Pin
    from transom.core.edit import Trim as Trim
    from transom.core.edit import Undo as Undo
    from transom.core.entry import Entry as Entry
    from transom.core.entry import Meta as Meta
    from transom.core.message import Fact as Fact
    from transom.core.message import Head as Head
    from transom.core.policy import Policy as Policy
    from transom.core.summary import Summary as Summary
    from transom.core.tokens import TokenCounter as TokenCounter
    from transom.core.tool import Tool as Tool
    from transom.core.usage import TotalUsage as TotalUsage
    from transom.core.view import View as View
    from transom.core.window import Window as Window
    from transom.errors import BudgetImpossible as BudgetImpossible
    from transom.errors import Conflict as Conflict
    from transom.errors import ContextStillTooLarge as ContextStillTooLarge
    from transom.errors import ConversationBusy as ConversationBusy
    from transom.errors import InvalidEdit as InvalidEdit
    from transom.errors import InvalidMessage as InvalidMessage
    from transom.errors import InvalidOutput as InvalidOutput
    from transom.errors import InvalidSetting as InvalidSetting
    from transom.errors import ProviderError as ProviderError
    from transom.errors import RunStopped as RunStopped
    from transom.errors import StoreDamaged as StoreDamaged
    from transom.errors import StoreUnavailable as StoreUnavailable
    from transom.errors import TransomError as TransomError
    from transom.errors import UnknownLog as UnknownLog
    from transom.evaluation.edit_costs import EditCost as EditCost
    from transom.evaluation.explanations import Explanation as Explanation
    from transom.evaluation.explanations import Explanations as Explanations
    from transom.http.wrap import wrap as wrap
    from transom.stores import Store as Store
    from transom.stores import StoredLog as StoredLog
    from transom.stores import open_store as open_store
    from transom.wire.dialect import Dialect as Dialect
    from transom.wire.rendering import Request as Request

__version__: str
"""The version of the installed package, read at first use."""

# Imported at first use: the command line, a part of this package, answers `--version` and `--help` without them.
_public_name, __dir__ = _lazy_exports(
    __name__,
    {
        "cache_prices": "Prices",
        "conversation.async_conversation": "AsyncConversation",
        "conversation.conversation": "Conversation",
        "conversation.events": "RunResult",
        "conversation.failures": "RetryDecision",
        "conversation.fit": "fit",
        "conversation.forget_user": "UserData forget_user",
        "conversation.function_tool": "FunctionTool",
        "conversation.model_calls.retry": "Retry",
        "conversation.planning.modes": "Directive ModeChange Profile",
        "conversation.render_window": "render",
        "conversation.runs.run_options": "RunOptions",
        "conversation.settings": "ConversationOptions Settings",
        "conversation.sub_agents": "SubAgent",
        "conversation.summary_job": "SummarySettings",
        "conversation.usage": "ConversationUsage WindowUsage",
        "core.budget": "Budget",
        "core.edit": "Fold Pin Trim Undo",
        "core.entry": "Entry Meta",
        "core.message": "Fact Head",
        "core.policy": "Policy",
        "core.summary": "Summary",
        "core.tokens": "TokenCounter",
        "core.tool": "Tool",
        "core.usage": "TotalUsage",
        "core.view": "View",
        "core.window": "Window",
        "errors": "BudgetImpossible Conflict ContextStillTooLarge ConversationBusy InvalidEdit InvalidMessage "
        "InvalidOutput InvalidSetting ProviderError RunStopped StoreDamaged StoreUnavailable TransomError UnknownLog",
        "evaluation.edit_costs": "EditCost",
        "evaluation.explanations": "Explanation Explanations",
        "http.wrap": "wrap",
        "stores": "Store StoredLog open_store",
        "wire.dialect": "Dialect",
        "wire.rendering": "Request",
    },
)


def __getattr__(name: str) -> _Any:
    if name == "__version__":
        return _import_module("importlib.metadata").version(__name__)
    if name in globals()["__all__"] or name.startswith("_"):
        return _public_name(name)
    try:  # a module of the package, as in `transom.errors`
        return _import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as missing:
        if missing.name != f"{__name__}.{name}":
            raise
        return _public_name(name)  # raises AttributeError
