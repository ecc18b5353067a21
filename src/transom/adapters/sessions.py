"""What all adapters share: the messages of a framework in, the messages of the window out.

A framework keeps a list of messages, and gives all of it to each model call. For each call an adapter does this:

    call = session.begin(messages, system=system, tools=schemas, model="openai:gpt-5")
    return call.send(ask, reply_of)

`ask` gets the messages of the window: originals, unless the window shows them differently. It is called again with
fewer messages if they were too long. For a stream the adapter does the same with `messages`, `failed_async` and
`observe`.

The framework's list decides what the conversation is. What is new in the list is appended to the log of the session. If
messages are gone from the list (a crash before they were saved, an edited history), the log is forked at the last
message that both have. A list that has nothing in common with the log begins a new log. The first log has the name of
the session, "trip"; a fork is "trip@41", and a new log "trip@new-1". Each of these logs is a branch (`branch.py`).

A result of a tool is logged as soon as the framework has it, before the next model call:

    shorter = session.tool_result(message)      # the clipped text, if the policy clips the result
    return message if shorter is None else with_content(message, shorter)

So the framework's own state, its checkpoints and its traces do not carry what no window shows; the log has the whole.
Such results are found in the list by their calls, in any order: tools that run side by side end in any order. A result
that the log has and the list lacks stays in the log: the tool has run.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from itertools import count
from os import PathLike
from typing import Any, Unpack

from msgspec.structs import replace

from transom.adapters.branch import Branch
from transom.adapters.model_call import ModelCall
from transom.conversation.conversation import Conversation
from transom.conversation.runs.own_tools import LEAST_BUDGET
from transom.conversation.settings import ConversationOptions, Settings, SharedLimits
from transom.core.message import Raw, ToolResult
from transom.core.tool import Tool
from transom.readback import TOOLS
from transom.stores import Store, open_store
from transom.wire.dialects import with_foreign_tools
from transom.wire.frameworks import FrameworkFormat

_logger = logging.getLogger(__name__)

MOST_OPEN_SESSIONS = 100
"""How many sessions stay open. If there are more, those that were used longest ago are closed, unless they wait for a
model. The log of a closed session is read again when it is needed."""

_OF_BRANCH = re.compile(r"(?:@(?:\d+(?: \(\d+\))?|new-\d+))+")
"""What the name of a branch has behind the id of its session: "@41", "@41 (2)", "@new-1". Another session may have an
id that begins in the same way ("ann" and "ann@example.com")."""


class Sessions:
    """The conversations of one adapter, by the session id of the framework.

    `store`, `options`: as for `Conversation.open`; the dialect is that of `framework_format`, whatever `options` says.
    `readback`: whether the model gets the tools that read back what its window leaves out; never if the budget, without
    its reserve, is below 8,000 tokens. Any thread may use it.

    What `Conversation.open` raises for a store that cannot be opened, or for a wrong setting, is raised here, before
    there is a session.
    """

    def __init__(
        self,
        store: str | PathLike[str] | Store,
        framework_format: FrameworkFormat,
        *,
        readback: bool = True,
        **options: Unpack[ConversationOptions],
    ) -> None:
        self.store, self.format = open_store(store), framework_format
        self._owns_store = self.store is not store
        # the framework sends the tools, to a model that only it knows: here they count
        options["dialect"] = with_foreign_tools(framework_format.dialect)
        self._settings = replace(Settings.of(**options), shared_limits=SharedLimits())
        has_room = self._settings.budget.usable >= LEAST_BUDGET
        self.readback_tools: tuple[Tool, ...] = TOOLS if readback and has_room else ()
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._warned: set[str] = set()
        self._lock = threading.Lock()

    def session(self, session_id: str) -> Session:
        """Return the session with this id: the open one, else a new object, which reads the store when it is first
        used. If more than `MOST_OPEN_SESSIONS` (100) are open, those that were used longest ago and wait for no model
        are closed.
        """
        with self._lock:
            found = self._sessions.pop(session_id, None) or Session(session_id, self)
            self._sessions[session_id] = found
            idle = [name for name, session in self._sessions.items() if not session.is_waiting][:-1]
            for name in idle[: max(0, len(self._sessions) - MOST_OPEN_SESSIONS)]:
                self._sessions.pop(name).close()
            return found

    def open(self, name: str) -> Conversation:
        """Open the conversation with this name, with the settings of the adapter. If the store has none of this name, a
        new one begins. Whoever calls this closes it."""
        return Conversation.open(self.store, name, settings=self._settings)

    def warn_unchanged(self, field: str, way_out: str) -> None:
        """Log a warning that requests with this field are sent as they are; a second one about the field is not logged.

        The field says that the server has the messages before them. `way_out`: how the user can avoid it.
        """
        with self._lock:
            if field in self._warned:
                return
            self._warned.add(field)
        text = "requests with `%s` are passed on as they came: the provider keeps their conversation; %s"
        _logger.warning(text, field, way_out)

    def close(self) -> None:
        """Close all conversations, and the store if the adapter opened it."""
        with self._lock:
            while self._sessions:
                self._sessions.popitem()[1].close()
            if self._owns_store:
                self.store.close()


class Session:
    """What one session id of the framework stands for: a conversation, and its branches.

    A branch is added when a list of messages goes on with none of them. Any thread may use it.
    """

    def __init__(self, session_id: str, sessions: Sessions) -> None:
        self.id, self._of = session_id, sessions
        self._lock = threading.RLock()
        self._branches: list[Branch] = []  # the one that was used last is the last

    @property
    def is_waiting(self) -> bool:
        """Whether a model call has begun and is not over."""
        return any(branch.is_waiting for branch in self._branches)

    @property
    def conversation(self) -> Conversation:
        """The conversation that the last model call was a part of; before the first call, the branch that was stored
        last, or a new one."""
        with self._lock:
            return self._opened()[-1].conversation

    def begin(
        self, messages: Sequence[Any], *, system: str | None = None, tools: Sequence[Raw | Tool] = (), model: str = ""
    ) -> ModelCall:
        """Log what is new in the framework's list, and plan the window of the next model call. The call is over, and
        another one may begin, after its `send`, or after `observe` or `failed`.

        `messages`: the whole list. `system`: the system prompt that the framework sends beside the list; None if it
        sends none. `tools`: all tools of the request. `model`: its name ("openai:gpt-5"), for limits and prices; empty
        if not known.

        Raises InvalidMessage for a message that cannot be read, BudgetImpossible if no window fits, ConversationBusy if
        another run has the conversation, and what the store raises.
        """
        with self._lock:
            branch = self._branch_of(messages)
            branch.take(system)
            return ModelCall(branch, tools, model)

    def tool_result(self, message: Any, name: str = "", arguments: object = None) -> str | None:
        """Log the result of a tool whole, and clip it as the policy clips what is new.

        `message`: the framework's message with the result. `name`, `arguments`: of its call, for a framework whose
        calls have no ids.

        Returns the clipped text, for the framework to keep. None if nothing was clipped, if the result has parts that
        are no text, or if no call of the log waits for it: then it is not logged. Of several results in one message
        only the first that a call waits for is taken. Raises InvalidMessage, and what the store raises.
        """
        results = [piece.fact for piece in self._of.format.read([message]) if isinstance(piece.fact, ToolResult)]
        with self._lock:
            for branch, result in ((branch, result) for result in results for branch in reversed(self._opened())):
                if (place := branch.open_call(result, name, arguments)) is not None:
                    return branch.take_result(replace(result, place=place))
        return None

    def readback(self, name: str, arguments: object) -> str:
        """Answer a call of one of the readback tools from `conversation`, that of the last model call. `arguments`: an
        object, or its JSON. If they are wrong, nothing is raised, and the answer says why."""
        return self.conversation.readback(name, arguments)

    def close(self) -> None:
        """Close the conversations of this session. The next use opens them again."""
        with self._lock:
            while self._branches:
                self._branches.pop().conversation.close()

    def _opened(self) -> list[Branch]:
        """The branches. The first use opens those that the store has."""
        if not self._branches:
            found = self._of.store.names(f"{self.id}@")
            names = [self.id, *(name for name in found if _OF_BRANCH.fullmatch(name, len(self.id)))]
            self._branches = [Branch(self._of.open(name), self._of.format) for name in names]
        return self._branches

    def _branch_of(self, messages: Sequence[Any]) -> Branch:
        """The branch that a list goes on with. If there is none: a fork of the branch that has the longest beginning in
        common with the list, or a new branch if none has a message in common with it."""
        branches = self._opened()
        for branch in reversed(branches):
            branch.read(messages)
            if branch.goes_on and branch.has_begun and branch is branches[-1]:
                return branch  # nearly always
        best = max(reversed(branches), key=lambda branch: (branch.goes_on, branch.common))
        if best.goes_on:
            branches.remove(best)
        else:
            best = Branch(best.conversation.fork(at=best.fork_point) if best.common else self._begun(), self._of.format)
            best.read(messages)
        branches.append(best)
        return best

    def _begun(self) -> Conversation:
        """Begin a new conversation in the session: "trip@new-1", or the first such name that is free."""
        taken = set(self._of.store.names(f"{self.id}@"))
        return self._of.open(next(name for at in count(1) if (name := f"{self.id}@new-{at}") not in taken))
