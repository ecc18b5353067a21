"""What a turn costs, and whether that grows with the log.

    python benchmarks/turn_cost.py [--messages 10000] [--budget 60000] [--store memory:|sqlite:///PATH]
                                   [--dialect openai|mistral|responses|deepseek_responses|anthropic|gemini]
                                   [--prepare] [--json]

One synthetic conversation of realistic sizes (medians of real coding agents: a call of 60 tokens, a result of 250 with
a long tail up to 6,000, a user message every 40 calls) grows to `--messages`. Process CPU time, medians and p99.

A turn: append the reply and its tool result, build the window, render it for OpenAI; or, with `--dialect`, all of it in
the words of another API, in which the conversation is then opened: the same texts and calls. With `--prepare`, looking
at names and words is apart (`Conversation.prepare`, between the turns); tokenising new text always is: the counter of
the run looks its counts up, and what a real count costs is measured beside it. Quiet turns and cuts are told apart.
The plain ideal keeps a list and a running sum, counts the new messages, drops the oldest when it must, and
copies the list: no log, no validity, no reasons.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from transom import Budget
from transom.conversation.conversation import Conversation
from transom.policies import policy_named
from transom.stores import open_store
from transom.tokenizer import o200k
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named
from transom.wire.rendering import render, render_messages

SENTENCE = "the parser reads each line of src/engine/loader.py and returns 4821 records with status ok"
WORDS = SENTENCE.split()


class _Counts(dict[str, int]):
    def __missing__(self, text: str) -> int:
        self[text] = tokens = o200k().count(text)
        return tokens


class Known:
    """Counts that were made beforehand; looking one up costs as little as it can."""

    name = "o200k_base"

    def __init__(self) -> None:
        self.count = _Counts().__getitem__


def turns(messages: int) -> list[list[dict[str, Any]]]:
    draw = random.Random(7)
    text = lambda tokens: " ".join(draw.choice(WORDS) for _ in range(int(tokens * 0.75)))  # noqa: E731
    out: list[list[dict[str, Any]]] = []
    made = 0
    while made < messages:
        number = len(out)
        turn: list[dict[str, Any]] = []
        if number % 40 == 0:
            turn.append({"role": "user", "content": text(80)})
        args = json.dumps({"command": text(30)})
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "shell", "arguments": args}}
        turn.append({"role": "assistant", "content": text(25), "tool_calls": [call]})
        size = min(6_000, int(draw.lognormvariate(5.5, 1.0)))
        turn.append({"role": "tool", "tool_call_id": f"call_{number}", "content": text(size)})
        out.append(turn)
        made += len(turn)
    return out


class Words(NamedTuple):
    """How an API says what is in a turn of OpenAI's: a text of the user's, a reply, a result's text, a call's id."""

    user: Callable[[str], Any] = str
    reply: Callable[[dict[str, Any]], Any] = dict
    result: Callable[[str], Any] = str
    label: Callable[[str], str] = str


def nine(label: str) -> str:
    return label.removeprefix("call_").zfill(9)


def mistral(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "tool_calls": [{**call, "id": nine(call["id"])} for call in message["tool_calls"]]}


def responses(message: dict[str, Any]) -> dict[str, Any]:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": message["content"]}]}
    calls = [{"type": "function_call", "call_id": call["id"], **call["function"]} for call in message["tool_calls"]]
    return {"output": [said, *calls]}


def anthropic(message: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": arguments(call)}
        for call in message["tool_calls"]
    ]
    return {"role": "assistant", "content": [{"type": "text", "text": message["content"]}, *calls]}


def gemini(message: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {"functionCall": {"id": call["id"], "name": call["function"]["name"], "args": arguments(call)}}
        for call in message["tool_calls"]
    ]
    return {"role": "model", "parts": [{"text": message["content"]}, *calls]}


def arguments(call: dict[str, Any]) -> Any:
    return json.loads(call["function"]["arguments"])


RESPONSES = Words(user=lambda text: [{"type": "input_text", "text": text}], reply=responses)
WORDS_OF = {
    "openai": Words(),
    "mistral": Words(reply=mistral, label=nine),
    "responses": RESPONSES,
    "deepseek_responses": RESPONSES,
    "anthropic": Words(reply=anthropic, result=lambda text: [{"type": "text", "text": text}]),
    "gemini": Words(user=lambda text: [{"text": text}], reply=gemini),
}
Said = tuple[str, tuple[Any, ...]]
"""A method of the conversation, and what it is given."""


def said(message: dict[str, Any], words: Words) -> Said:
    if message["role"] == "user":
        return "user", (words.user(message["content"]),)
    if message["role"] == "assistant":
        return "observe", (words.reply(message),)
    return "tool_result", (words.label(message["tool_call_id"]), words.result(message["content"]))


def count(all_said: list[list[Said]], dialect: Dialect, counter: Known) -> None:
    """Make the counts of the run beforehand, of the texts as this dialect has them."""
    measure = dialect.format_counter(counter)
    read = {"user": dialect.parse_user, "observe": dialect.parse_reply, "tool_result": dialect.parse_tool_result}
    for turn in all_said:
        for verb, given in turn:
            measure.count_body(read[verb](*given))


def ideal(all_turns: list[list[dict[str, Any]]], counter: Known, budget: int) -> list[float]:
    """Count the new messages, snap to a turn's boundary, copy the list."""
    spent: list[float] = []
    kept: list[dict[str, Any]] = []
    sizes: list[int] = []
    total = 0
    for turn in all_turns:
        start = time.process_time_ns()
        for message in turn:
            size = 4 + counter.count(message["content"])
            for call in message.get("tool_calls", ()):
                size += counter.count(call["id"]) + counter.count(call["function"]["arguments"])
            kept.append(message)
            sizes.append(size)
            total += size
        if total > budget:
            cut = 0
            while total > 0.6 * budget or kept[cut]["role"] == "tool":
                total -= sizes[cut]
                cut += 1
            del kept[:cut], sizes[:cut]
        list(kept)
        spent.append((time.process_time_ns() - start) / 1e3)
    return spent


def measure(
    all_turns: list[list[dict[str, Any]]], counter: Known, budget: int, url: str, *, dialect: str, prepare: bool
) -> dict[str, Any]:
    spoken = dialect_named(dialect)
    all_said = [[said(message, WORDS_OF[dialect]) for message in turn] for turn in all_turns]
    count(all_said, spoken, counter)
    store = open_store(url)
    log = store.open("turn_cost")
    conv = Conversation(
        log,
        budget=Budget(context=budget),
        policy=policy_named("default"),
        counter=counter,
        dialect=spoken,
        clock=lambda: 0.0,
    )
    quiet: list[tuple[int, float]] = []
    cuts: list[float] = []
    preparing: list[float] = []
    for number, turn in enumerate(all_said):
        start = time.process_time_ns()
        for verb, given in turn:
            getattr(conv, verb)(*given)
        window = conv.plan_request()
        render(window, spoken, conv.indexes)
        micro = (time.process_time_ns() - start) / 1e3
        if window.breaks is None:
            quiet.append((number, micro))
        else:
            cuts.append(micro)
        start = time.process_time_ns()
        if prepare:  # while the model is answering
            conv.prepare()
        preparing.append((time.process_time_ns() - start) / 1e3)
    entries = len(log)
    store.close()
    early = [micro for number, micro in quiet if 100 <= number < 300]
    late = [micro for number, micro in quiet if number >= len(all_turns) - 200]
    times = sorted(micro for _, micro in quiet)
    return {
        "store": url.split(":", maxsplit=1)[0],
        "turns": len(all_turns),
        "entries": entries,
        "quiet_median_us": statistics.median(times),
        "quiet_p99_us": times[int(len(times) * 0.99)],
        "around_turn_200_us": statistics.median(early),
        "last_turns_us": statistics.median(late),
        "growth": statistics.median(late) / statistics.median(early),
        "preparing_mean_us": statistics.fmean(preparing),
        "cuts": len(cuts),
        "cut_median_ms": statistics.median(cuts) / 1e3 if cuts else None,
        "cut_max_ms": max(cuts) / 1e3 if cuts else None,
        "window_messages": len(render_messages(window.view, spoken)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--budget", type=int, default=60_000)
    parser.add_argument("--store", action="append")
    parser.add_argument("--dialect", choices=WORDS_OF, default="openai")
    parser.add_argument("--prepare", action="store_true", help="look at names and words between the turns")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    all_turns = turns(options.messages)
    counter = Known()
    start = time.process_time_ns()
    texts = 0
    for turn in all_turns:
        for message in turn:
            counter.count(message["content"])
            texts += 1
    tokenising = (time.process_time_ns() - start) / 1e3 / texts
    ideal(all_turns, counter, options.budget)
    gc.collect()
    plain = sorted(ideal(all_turns, counter, options.budget))
    results: dict[str, Any] = {
        **({} if options.dialect == "openai" else {"dialect": options.dialect}),
        "ideal_median_us": statistics.median(plain),
        "ideal_p99_us": plain[int(len(plain) * 0.99)],
        "tokenising_a_message_us": tokenising,
        "runs": [
            measure(all_turns, counter, options.budget, url, dialect=options.dialect, prepare=options.prepare)
            for url in options.store or ["memory:"]
        ],
    }
    results["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if options.json:
        print(json.dumps(results, indent=1))
        return
    if "dialect" in results:
        print(f"in the words of {options.dialect}")
    print(f"plain ideal        median {results['ideal_median_us']:7.1f} us   p99 {results['ideal_p99_us']:7.1f} us")
    print(f"tokenising a new message {tokenising:.1f} us (apart)")
    for run in results["runs"]:
        print(f"{run['store']:8} {run['turns']:,} turns, {run['entries']:,} entries", end=", ")
        print(f"the last window has {run['window_messages']} messages")
        print(f"  preparing        mean   {run['preparing_mean_us']:7.1f} us a turn (apart)")
        print(f"  quiet turn       median {run['quiet_median_us']:7.1f} us   p99 {run['quiet_p99_us']:7.1f} us")
        print(f"  growth           {run['around_turn_200_us']:.1f} us at turn 200,", end=" ")
        print(f"{run['last_turns_us']:.1f} us at the end: {run['growth']:.2f} times")
        print(
            f"  cuts             {run['cuts']}, median {run['cut_median_ms']:.2f} ms, most {run['cut_max_ms']:.2f} ms"
        )


if __name__ == "__main__":
    main()
