"""The words of Gemini's parts. Each comes in two spellings: the API takes both, and says what it was told."""

from __future__ import annotations

from transom.core.message import Raw

NAME = "gemini"
"""The dialect's name, on every fact that came in it."""

CALL = ("functionCall", "function_call")
RESPONSE = ("functionResponse", "function_response")
SIGNATURE = ("thoughtSignature", "thought_signature")
FILES = ("inlineData", "inline_data", "fileData", "file_data")

BESIDE = frozenset(
    {
        *("thought", *SIGNATURE, "videoMetadata", "video_metadata", "partMetadata", "part_metadata"),
        *("mediaResolution", "media_resolution"),
    }
)
"""What stands beside what a part is."""

KINDS = (
    *("text", *CALL, *RESPONSE, *FILES, "executableCode", "executable_code", "codeExecutionResult"),
    *("code_execution_result", "toolCall", "tool_call", "toolResponse", "tool_response"),
)
"""What a part can be: just one of them."""

ESCAPE = "skip_thought_signature_validator"
"""The signature of a call that another model made, for models which take none without."""

# Our own words in `extra`; what came from the wire is below them, so that no key of it can be taken for one of ours.
CONTENT = "content"
"""What else a content held beside role and parts."""
ROLELESS = "roleless"
"""A content that came without a role."""
CONTENTS = "contents"
"""Of a turn that came in several contents, or in one that held more: how many items each had, and what else."""
PART = "part"
"""The part a result came in, without what was taken out."""
UNDER = "under"
"""The one key of a response which is a text under a key; null: the text is the response, as JSON."""
LABEL = "label"
"""The id a result came with, where it is not its call's."""


def kinds_of(raw: Raw) -> list[str]:
    """What a part is: one thing, if it is as the API takes it; perhaps one we do not know, which is an object."""
    known = [key for key in KINDS if raw.get(key) is not None]
    return known or [key for key, value in raw.items() if isinstance(value, dict) and key not in BESIDE][:1]


def spelt(raw: Raw, keys: tuple[str, ...]) -> str | None:
    """Which of these keys a part has, if any."""
    return next((key for key in keys if raw.get(key) is not None), None)
