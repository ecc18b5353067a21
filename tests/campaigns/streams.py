"""Random replies, streamed in random pieces: is the turn the one that the whole reply gives?

    python tests/campaigns/streams.py [--count 10000] [--first 0]

Texts, arguments and reasoning are cut anywhere. Pieces of different calls, blocks and items are shuffled among one
another, because the APIs join them by an index; the pieces of each stay in order. Ids are missing, empty, repeated or
another one in each piece, and fields that say nothing are null or left out, as gateways send them.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from transom.wire.dialects import dialect_named

Json = dict[str, Any]
WORDS = 'the "weather" in {Lisbon} is \\ sunny, 汉字 \N{SLIGHTLY SMILING FACE} [1] }'


def cut(draw: random.Random, text: str) -> list[str]:
    """A text in up to six pieces, some of them empty."""
    bounds = sorted(draw.randrange(len(text) + 1) for _ in range(draw.randrange(6)))
    return [text[a:b] for a, b in zip([0, *bounds], [*bounds, len(text)], strict=True)]


def shuffled(draw: random.Random, runs: Iterable[list[Json]]) -> list[Json]:
    """The pieces of several runs as one list, in which each run keeps its order."""
    left = [list(run) for run in runs if run]
    out: list[Json] = []
    while left:
        run = draw.choice(left)
        out.append(run.pop(0))
        left = [each for each in left if each]
    return out


def words(draw: random.Random) -> str:
    return (WORDS * 2)[draw.randrange(20) :][: draw.randrange(1, 40)]


def some_arguments(draw: random.Random) -> Json:
    values: list[Any] = [
        words(draw),
        7,
        -1.5,
        True,
        False,
        None,
        [],
        [1, {"b": words(draw)}],
        {"c": {"d": words(draw)}},
    ]
    return {key: draw.choice(values) for key in draw.sample(["a", "path", "e f", "k'"], draw.randrange(4))}


def label(draw: random.Random, mode: str, own: str, piece: int) -> Json:
    """The id in a piece of a call whose id is `own`."""
    if mode == "missing" or (mode == "first" and piece):
        return {} if draw.random() < 0.5 else {"id": None}
    return {"id": {"empty": "", "changing": own if not piece else f"{own}_{draw.random()}"}.get(mode, own)}


# ---- each API: the whole reply, and its chunks


def chat(draw: random.Random) -> tuple[Json, list[Json]]:
    message, fields = {"role": "assistant", "content": None}, list[list[Json]]()
    for key in draw.sample(["content", "reasoning_content", "reasoning"], draw.randrange(3)):
        message[key] = words(draw)
        fields.append([{key: piece} for piece in cut(draw, message[key])])
    if draw.random() < 0.4:
        message["reasoning_details"], more = details(draw)
        fields.append(more)
    calls, ids = draw.randrange(4), draw.choice(["first", "repeated", "missing", "empty", "changing", "same"])
    named = draw.choice(["first", "repeated"])
    indexes = draw.choice(["own", "own", "zero", "none"])
    listed = [(f"call_{0 if ids == 'same' else at}", f"f{at % 2}", arguments_text(draw)) for at in range(calls)]
    if indexes != "own" and any(not is_json(text) for _, _, text in listed):
        indexes = "own"  # only the index tells where damaged arguments end
    if calls:
        message["tool_calls"] = [
            {"type": "function", "function": {"name": name, "arguments": text}}
            | ({} if ids == "missing" else {"id": "" if ids == "empty" else own})
            for own, name, text in listed
        ]
    runs: list[list[Json]] = []
    for at, (own, name, text) in enumerate(listed):
        run: list[Json] = []
        for piece, part in enumerate(cut(draw, text) if indexes == "own" else [text]):
            call: Json = {} if indexes == "none" else {"index": at if indexes == "own" else 0}
            call |= label(draw, "first" if ids == "same" else ids, own, piece)
            function: Json = {"arguments": part}
            if not piece or named == "repeated":
                function["name"] = name
            elif draw.random() < 0.3:
                function["name"] = None
            run.append({"tool_calls": [{**call, "function": function}]})
        runs.append(run)
    deltas = shuffled(draw, [*fields, *(runs if indexes == "own" else [[each for run in runs for each in run]])])
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]})
    return {"choices": [{"message": without_null_content(message)}]}, chunks


def without_null_content(message: Json) -> Json:
    return message if message["content"] or len(message) > 2 else {**message, "content": None}


def arguments_text(draw: random.Random) -> str:
    """Arguments as the model wrote them; now and then they are cut off."""
    text = json.dumps(some_arguments(draw), ensure_ascii=False)
    return text[: draw.randrange(1, len(text))] if draw.random() < 0.1 else text


def is_json(text: str) -> bool:
    try:
        return bool(json.loads(text) is not None)
    except ValueError:
        return False


def details(draw: random.Random) -> tuple[list[Json], list[Json]]:
    """OpenRouter's `reasoning_details`: the blocks, and deltas with their pieces. A signature may come alone."""
    blocks: list[Json] = []
    runs: list[list[Json]] = []
    for at in range(draw.randrange(1, 4)):
        kind, key = draw.choice([("reasoning.text", "text"), ("reasoning.summary", "summary")])
        block = {"type": kind, "format": "f", "index": at, key: words(draw)}
        run = [{"type": kind, "format": "f", "index": at, key: piece} for piece in cut(draw, block[key])]
        if kind == "reasoning.text" and draw.random() < 0.7:
            block["signature"] = f"sig{at}"
            if draw.random() < 0.6:
                empty = draw.choice([{}, {"text": ""}, {"text": None}])
                run.append({"type": kind, "format": "f", "index": at, **empty, "signature": f"sig{at}"})
            else:
                run[-1]["signature"] = f"sig{at}"
        blocks.append(block)
        runs.append(run)
    at = len(blocks)
    if draw.random() < 0.5:
        blocks.append({"type": "reasoning.encrypted", "data": "eA==", "id": "rs_1", "index": at})
        runs.append([blocks[-1]])
    return blocks, [{"reasoning_details": [piece]} for piece in shuffled(draw, runs)]


def mistral(draw: random.Random) -> tuple[Json, list[Json]]:
    """Magistral: thinking as lists, then text as strings."""
    parts: list[Json] = []
    deltas: list[Json] = [{"role": "assistant", "content": ""}] if draw.random() < 0.7 else []
    for kind in draw.choice([["thinking", "text"], ["thinking"], ["text", "thinking", "text"], ["thinking", "text"]]):
        text = words(draw)
        if kind == "text":
            parts.append({"type": "text", "text": text})
            lists = draw.random() < 0.3 and len(parts) > 1
            deltas += [{"content": [{"type": "text", "text": x}] if lists else x} for x in cut(draw, text)]
        else:
            parts.append({"type": "thinking", "thinking": [{"type": "text", "text": text}]})
            pieces = [[{"type": "text", "text": x}] for x in cut(draw, text)]
            deltas += [{"content": [{"type": "thinking", "thinking": piece}]} for piece in pieces]
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}]})
    return {"choices": [{"message": {"role": "assistant", "content": parts}}]}, chunks


def anthropic(draw: random.Random) -> tuple[Json, list[Json]]:
    blocks: list[Json] = []
    runs: list[list[Json]] = []
    indexes = draw.choice(["own", "own", "zero", "none"])
    for at in range(draw.randrange(1, 6)):
        block, start, deltas = draw.choice([text_block, thinking_block, tool_block, server_block])(draw, at)
        where = {} if indexes == "none" else {"index": at if indexes == "own" else 0}
        opened = [] if block["type"] == "text" and indexes == "own" and draw.random() < 0.2 else [start]
        run = [{"type": "content_block_start", **where, "content_block": each} for each in opened]
        run += [{"type": "content_block_delta", **where, "delta": each} for each in deltas]
        if indexes != "own" or draw.random() < 0.9:
            run.append({"type": "content_block_stop", **where})
        blocks.append(block)
        runs.append(run)
    events = shuffled(draw, runs) if indexes == "own" else [event for run in runs for event in run]
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}}
    first = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}
    usage = {"input_tokens": 5, "output_tokens": 7}
    return {"role": "assistant", "content": blocks, "usage": usage}, [first, *events, end]


Block = tuple[Json, Json, list[Json]]


def text_block(draw: random.Random, _: int) -> Block:
    text = words(draw)
    return {"type": "text", "text": text}, {"type": "text", "text": ""}, delta_list(draw, "text_delta", "text", text)


def thinking_block(draw: random.Random, at: int) -> Block:
    text = words(draw)
    deltas = delta_list(draw, "thinking_delta", "thinking", text)
    signed = {"type": "signature_delta", "signature": f"sig{at}"}
    start = {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "thinking", "thinking": text, "signature": f"sig{at}"}, start, [*deltas, signed]


def tool_block(draw: random.Random, at: int) -> Block:
    block = {"type": "tool_use", "id": f"toolu_{at}", "name": "f", "input": some_arguments(draw)}
    if draw.random() < 0.2:  # some gateways give the whole input with the start
        return block, block, []
    text = json.dumps(block["input"])
    return block, {**block, "input": {}}, delta_list(draw, "input_json_delta", "partial_json", text)


def server_block(draw: random.Random, at: int) -> Block:
    del draw
    block = {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{at}", "content": []}
    return block, block, []


def delta_list(draw: random.Random, kind: str, key: str, text: str) -> list[Json]:
    return [{"type": kind, key: piece} for piece in cut(draw, text)]


def responses(draw: random.Random) -> tuple[Json, list[Json]]:
    items: list[Json] = []
    runs: list[list[Json]] = []
    ids = draw.choice(["own", "changing", "missing"])
    indexes = draw.choice(["own", "own", "zero", "none"])
    whole, done = draw.random() < 0.5, draw.random() < 0.8
    for at in range(draw.randrange(1, 5)):
        kind = draw.choice(["message", "function_call", "custom_tool_call", "reasoning"])
        item = response_item(draw, kind, at)
        if kind == "reasoning":  # the item after it is what it led to
            items.append(item)
            runs.append(item_events(draw, item, len(items) - 1, ids, done=True))
            item = response_item(draw, "function_call", at)
        items.append(item)
        runs.append(item_events(draw, item, len(items) - 1, ids, done=done))
    events = shuffled(draw, runs) if indexes == "own" else [event for run in runs for event in run]
    for event in events if indexes != "own" and (done or whole) else []:
        if indexes == "zero":
            event["output_index"] = 0
        else:
            del event["output_index"]
    usage = {"input_tokens": 5, "output_tokens": 7}
    end = {
        "type": "response.completed",
        "response": {"status": "completed", "output": items if whole else [], "usage": usage},
    }
    return {"output": items, "usage": usage}, [*events, end]


def response_item(draw: random.Random, kind: str, at: int) -> Json:
    if kind == "message":
        content = [{"type": "output_text", "text": words(draw)}, {"type": "refusal", "refusal": words(draw)}]
        return {"type": kind, "id": f"msg_{at}", "role": "assistant", "content": content[: draw.randrange(1, 3)]}
    if kind == "reasoning":
        summary = [{"type": "summary_text", "text": words(draw)}]
        return {"type": kind, "id": f"rs_{at}", "summary": summary, "encrypted_content": "eA=="}
    key, text = (
        ("input", words(draw)) if kind == "custom_tool_call" else ("arguments", json.dumps(some_arguments(draw)))
    )
    return {"type": kind, "id": f"fc_{at}", "call_id": f"call_{at}", "name": "f", key: text}


def item_events(draw: random.Random, item: Json, at: int, ids: str, *, done: bool) -> list[Json]:
    """The events of one item. Without `done` its last event is missing."""

    def place() -> Json:
        own = item["id"] if ids == "own" else f"{item['id']}_{draw.random()}"
        return {"output_index": at, **({} if ids == "missing" else {"item_id": own})}

    kind = item["type"]
    empty = {key: "" if isinstance(x, str) and key in ("arguments", "input") else x for key, x in item.items()}
    empty |= {"content": []} if kind == "message" else {}
    run = [{"type": "response.output_item.added", **place(), "item": empty}]
    parts = item["content"] if kind == "message" else []
    name = {"function_call": "function_call_arguments", "custom_tool_call": "custom_tool_call_input"}.get(kind)
    key = "input" if kind == "custom_tool_call" else "arguments"
    texts = [("refusal" if "refusal" in part else "output_text", part.get("refusal") or part["text"]) for part in parts]
    inner: list[list[Json]] = [[] for _ in texts]
    for index, (event, text) in enumerate(texts):
        for piece in cut(draw, text):
            inner[index].append({"type": f"response.{event}.delta", **place(), "content_index": index, "delta": piece})
    if name:
        inner.append([{"type": f"response.{name}.delta", **place(), "delta": piece} for piece in cut(draw, item[key])])
        if draw.random() < 0.5:
            inner[-1].append({"type": f"response.{name}.done", **place(), key: item[key]})
    run += shuffled(draw, inner)
    return [*run, {"type": "response.output_item.done", **place(), "item": item}] if done else run


def gemini(draw: random.Random) -> tuple[Json, list[Json]]:
    parts: list[Json] = []
    pieces: list[Json] = []
    for at in range(draw.randrange(1, 6)):
        kind = draw.choice(["text", "thought", "call", "call"])
        if kind == "call":
            part, more = gemini_call(draw, at)
        else:
            text, beside = words(draw), {"thought": True} if kind == "thought" else {}
            if parts and parts[-1].keys() <= {"text", "thought"} and parts[-1].get("thought") == beside.get("thought"):
                continue  # two texts in a row are one
            part, more = {**beside, "text": text}, [{**beside, "text": piece} for piece in cut(draw, text)]
            if draw.random() < 0.4:
                part["thoughtSignature"] = f"c2ln{at}"
                more.append({**beside, "text": "", "thoughtSignature": f"c2ln{at}"})
        parts.append(part)
        pieces += more
    chunks: list[Json] = []
    while pieces:
        many = draw.randrange(1, 4)
        chunks.append({"candidates": [{"content": {"role": "model", "parts": pieces[:many]}}]})
        pieces = pieces[many:]
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 7}
    ends = {"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}], "usageMetadata": usage}
    return {"candidates": [{"content": {"role": "model", "parts": parts}}], "usageMetadata": usage}, [*chunks, ends]


def gemini_call(draw: random.Random, at: int) -> tuple[Json, list[Json]]:
    """A call, whole or in pieces (Vertex, on request)."""
    named = {"name": f"f{at % 2}", **({"id": f"{at}"} if draw.random() < 0.5 else {})}
    arguments = {"a": words(draw), "b": [{"c d": words(draw)}, True, 7]} if draw.random() < 0.7 else {}
    signed = {"thoughtSignature": f"c2ln{at}"} if draw.random() < 0.5 else {}
    part = {"functionCall": {**named, "args": arguments}, **signed}
    if draw.random() < 0.4:
        return part, [part]
    values: list[Json] = []
    if arguments:
        for path, text in (("$.a", arguments["a"]), ("$.b[0]['c d']", arguments["b"][0]["c d"])):
            values += [{"jsonPath": path, "stringValue": piece, "willContinue": True} for piece in cut(draw, text)]
        values += [{"jsonPath": "$.b[1]", "boolValue": True}, {"jsonPath": "$.b[2]", "numberValue": 7}]
    again = named if draw.random() < 0.3 else {}
    pieces = [{"functionCall": {**again, "partialArgs": [value], "willContinue": True}} for value in values]
    return part, [{"functionCall": {**named, "willContinue": True}, **signed}, *pieces, {"functionCall": {}}]


STREAMS: dict[str, Callable[[random.Random], tuple[Json, list[Json]]]] = {
    "openai": chat,
    "mistral": mistral,
    "responses": responses,
    "anthropic": anthropic,
    "gemini": gemini,
}


def judge(dialect: str, seed: int) -> str:
    """What is wrong with one streamed reply; empty if it is the whole one."""
    spoken = dialect_named(dialect)
    whole, chunks = STREAMS[dialect](random.Random(f"{dialect} {seed}"))
    try:
        streamed, expected = spoken.parse_reply(chunks), spoken.parse_reply(whole)
        accumulator = spoken.accumulator()
        for chunk in chunks:
            accumulator.feed(chunk)
            accumulator.turn()  # may be asked at any time
    except Exception as error:  # noqa: BLE001 - the campaign reports it with its seed
        return f"{dialect} {seed}: {type(error).__name__}: {error}"
    if streamed == expected and streamed.usage == expected.usage:
        return ""
    return f"{dialect} {seed}:\n  streamed {streamed}\n  whole    {expected}"


def campaign(count: int, first: int, report: Callable[[str], None] = print) -> bool:
    """Every dialect; whether nothing is wrong."""
    bad = 0
    with ProcessPoolExecutor(2) as pool:
        for dialect in STREAMS:
            seeds = range(first, first + count)
            problems = [each for each in pool.map(judge, [dialect] * count, seeds, chunksize=200) if each]
            bad += len(problems)
            report(f"{dialect}: {count} replies, {len(problems)} not as they came whole")
            for problem in problems[:3]:
                report(f"  {problem}")
    return not bad


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    sys.exit(not campaign(options.count, options.first))
