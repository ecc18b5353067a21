"""The programs that the demo's agent writes and runs."""

SMALL = """
from transom import fit

messages = [{"role": "system", "content": "You add numbers."}, {"role": "user", "content": "Add up the columns."}]
for n in range(40):
    call = {"id": f"c{n}", "type": "function", "function": {"name": "column", "arguments": '{"n": %d}' % n}}
    messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
    messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": " ".join(str(n * k) for k in range(60))})
for budget in (100_000, 4_000, 2_000):
    fitted = fit(messages, budget=budget)
    print(budget, len(messages), "->", len(fitted), [m["role"] for m in fitted][:5])
print(fit(messages, budget=2_000)[2]["content"])
"""

OPEN_CALL = """
from transom import fit

call = {"id": "c1", "type": "function", "function": {"name": "deploy", "arguments": "{}"}}
messages = [
    {"role": "user", "content": "Deploy it."},
    {"role": "assistant", "content": None, "tool_calls": [call]},
    {"role": "user", "content": "Are you there?"},
]
for message in fit(messages, budget=4_000):
    print(message)
print("and when the result does come, late:")
late = [*messages, {"role": "assistant", "content": "Yes."}, {"role": "tool", "tool_call_id": "c1", "content": "done"}]
for message in fit(late, budget=4_000):
    print(message)
"""

LONG_RESULT = """
from transom import Conversation

with Conversation.open("memory:", "long", budget=16_000) as conv:
    conv.user("Show me the log.")
    call = {"id": "c1", "type": "function", "function": {"name": "cat", "arguments": "{}"}}
    conv.request()
    conv.observe({"role": "assistant", "content": None, "tool_calls": [call]})
    conv.tool_result("c1", "\\n".join(f"{n:05} GET /page/{n % 97} 200" for n in range(4_000)))
    request = conv.request()
    print(request.window.tokens, "tokens")
    text = request["messages"][-1]["content"]
    middle = text.index("[")
    print(text[:60], "...", text[middle - 40 : middle + 120], "...", text[-40:], sep="\\n")
    for row in conv.explain():
        print(row.entry, row.role, row.state, row.why, row.tokens, "->", row.shown_tokens)
"""

FIRST_STRATEGY = '''
"""Old reasoning is dropped first: the model has acted on it, and its results are in the window."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom.core.edit import Edit, Trim
from transom.core.message import Reasoning, addressed_parts
from transom.core.policy import Target
from transom.core.unit import Unit
from transom.core.view import View


class DropThoughts(Struct, frozen=True, kw_only=True):
    """Drops the reasoning of all but the newest `keep` turns."""

    keep: int = 2

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        turns = [slot for slot in view.slots if isinstance(slot, Unit)]
        for unit in turns[: -self.keep]:
            for address, part in addressed_parts(unit.first_fact):
                if isinstance(part, Reasoning):
                    yield Trim(entry=unit.seqs[0], part=address, why="thoughts")
'''

FIRST_TEST = '''
"""Old reasoning is dropped under pressure. Recent reasoning, and trims that somebody undid, are left alone."""

from __future__ import annotations

from msgspec.structs import replace

from transom.core.budget import Budget
from transom.core.edit import Trim, Undo
from transom.core.message import Assistant
from transom.core.plan import plan
from transom.core.plan_request import PlanRequest, WindowOptions
from transom.core.reducer import build_view
from transom.policies import policy_named
from transom.strategies.thoughts import DropThoughts
from transom.testing import Entries, WordCounter, says, talk

COUNTER = WordCounter()
DEFAULT = policy_named("default")
POLICY = replace(DEFAULT, pressure=(DropThoughts(keep=2), *DEFAULT.pressure))


def thinking(turns):
    items = ["Count the stars."]
    for n in range(turns):
        items += [says(f"star {n}", thought=f"where is star {n}? " * 30), "go on"]
    return talk(*items)


def view_and_plan(log, context):
    view = build_view(Entries(log), COUNTER)
    return view, plan(PlanRequest(view, WindowOptions(), Budget(context=context), POLICY))


def dropped(done):
    return [entry.body.entry for entry in done.entries if isinstance(entry.body, Trim) and entry.body.why == "thoughts"]


def test_nothing_is_dropped_while_there_is_room():
    _, done = view_and_plan(thinking(6), 10_000)
    assert [type(entry.body).__name__ for entry in done.entries] == ["Sent"]


def test_old_thoughts_are_dropped_and_the_newest_two_stay():
    view, done = view_and_plan(thinking(12), 600)
    thoughtful = [seq for seq in range(view.length) if isinstance(view.fetch(seq).body, Assistant)]
    assert dropped(done) == thoughtful[:-2]


def test_a_thought_whose_trim_was_undone_is_left_alone():
    log = talk(Trim(entry=1, part=("reasoning", 0), why="by hand"), Undo(edit=25), after=thinking(12))
    _, done = view_and_plan(log, 600)
    assert 1 not in dropped(done)
    assert dropped(done)
'''

MEASURE = """
from msgspec.structs import replace
from transom import Budget, Conversation
from transom.policies import policy_named
from transom.strategies.thoughts import DropThoughts

default = policy_named("default")
with_thoughts = replace(default, name="thoughts", pressure=(DropThoughts(), *default.pressure))
for policy in (default, with_thoughts):
    conv = Conversation.open("memory:", "x", budget=8_000, policy=policy)
    conv.user("Work through the list of two hundred items, one by one.")
    sent = shared = breaks = 0
    for n in range(200):
        window = conv.request().window
        sent, shared = sent + window.tokens, shared + window.shared_tokens
        breaks += window.breaks is not None
        conv.observe({"role": "assistant", "reasoning_content": f"item {n}: what is known, what is not " * 12,
                      "content": f"item {n} is done"})
        conv.user("next")
    print(f"{policy.name:10} sent {sent:,} cached {shared / sent:.1%} breaks {breaks}")
    conv.close()
"""

REOPENED = """
import tempfile
from pathlib import Path
from msgspec.structs import replace
from transom import Conversation
from transom.policies import policy_named
from transom.strategies.thoughts import DropThoughts

default = policy_named("default")
policy = replace(default, name="thoughts", pressure=(DropThoughts(), *default.pressure))
with tempfile.TemporaryDirectory() as folder:
    url = f"sqlite:///{Path(folder) / 'thoughts.db'}"
    with Conversation.open(url, "x", budget=4_000, policy=policy) as conv:
        conv.user("Think.")
        for n in range(60):
            conv.request()
            conv.observe({"role": "assistant", "reasoning_content": f"thought {n} " * 40, "content": f"done {n}"})
            conv.user("next")
        before = conv.request()
    with Conversation.open(url, "x", budget=4_000, policy=policy) as conv:
        after = conv.request()
        print(before.window.fingerprint == after.window.fingerprint, before == after, after.window.tokens)
        states = [(row.role, row.state, row.why) for row in conv.explain()]
        for state in sorted(set(states)):
            print(states.count(state), *state)
"""
