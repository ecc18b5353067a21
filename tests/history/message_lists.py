"""Lists of messages for tests: short ways to write them, and random ones that may be damaged."""

from __future__ import annotations

from hypothesis import strategies as st


def assistant_call(*ids, text=None, args="{}"):
    """An assistant message with a call for each id."""
    calls = [{"id": label, "type": "function", "function": {"name": "sh", "arguments": args}} for label in ids]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def tool_result(label, text="done"):
    return {"role": "tool", "tool_call_id": label, "content": text}


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


SYSTEM = {"role": "system", "content": "Be brief."}


def history(turns, size=40, system=True):
    """A task, turns of one call and its result (every fifth turn has two), and a last reply."""
    messages = [SYSTEM] if system else []
    messages.append(user("Find the bug in src/app.py."))
    for n in range(turns):
        ids = (f"c{n}", f"d{n}") if n % 5 == 4 else (f"c{n}",)
        messages.append(assistant_call(*ids, text=f"step {n}"))
        messages.extend(tool_result(label, f"{label} line {n}\n" * size) for label in ids)
    return [*messages, assistant("Fixed.")]


_TEXTS = st.sampled_from(
    ["", " ", "ok", "look at src/app.py " * 8, "汉字 👩‍👩‍👧 " * 20, "half \ud83d " * 9, "line\n" * 60]
)
_IDS = st.sampled_from(["a", "a", "b", "c", ""])
_CONTENT = st.one_of(
    _TEXTS,
    st.none(),
    st.lists(
        st.one_of(
            st.builds(lambda text: {"type": "text", "text": text}, _TEXTS),
            st.just({"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400}}),
            st.just({"type": "odd", "words": ["one " * 30]}),
        ),
        max_size=3,
    ),
)
_ARGS = st.sampled_from(["{}", '{"cmd": "cat src/app.py | head -200 | sort | uniq"}', '{"cmd": ', ""])


def _turn(ids, content, args, reasoning):
    message = {**assistant_call(*ids, args=args), "content": content}
    if not ids:
        del message["tool_calls"]
    return message | ({"reasoning_content": reasoning} if reasoning else {})


_LEGACY = {"role": "assistant", "content": None, "function_call": {"name": "sh", "arguments": "{}"}}
_MESSAGE = st.one_of(
    st.builds(user, _TEXTS),
    st.builds(lambda content: {"role": "user", "content": content}, _CONTENT),
    st.builds(_turn, st.lists(_IDS, max_size=3), _CONTENT, _ARGS, st.sampled_from(["", "", "think " * 20])),
    st.builds(lambda label, content: {**tool_result(label), "content": content}, _IDS, _CONTENT),
    st.builds(tool_result, _IDS, _TEXTS),
    st.just(_LEGACY),
    st.builds(lambda text: {"role": "function", "name": "sh", "content": text}, _TEXTS),
    st.builds(lambda text: {"role": "developer", "content": text}, _TEXTS),
)
DAMAGED = st.tuples(st.sampled_from([[], [SYSTEM]]), st.lists(_MESSAGE, max_size=14)).map(
    lambda both: both[0] + both[1]
)
"""Any messages in any order: results without calls, repeated ids, missing results, empty messages."""
