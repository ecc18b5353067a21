"""Contents of the Agent Development Kit: those of google-genai, which are the Gemini API's."""

from __future__ import annotations

from typing import Any

import msgspec

from transom.core.message import Assistant
from transom.core.view import View
from transom.errors import InvalidMessage
from transom.wire.fields import as_dict, objects_in
from transom.wire.frameworks.framework_format import FrameworkFormat, Sources
from transom.wire.rendering import render_messages

_OWN_IDS = "adk-"
"""How the ids begin that ADK makes for calls without one. Requests do not have them."""


class GoogleADKFormat(FrameworkFormat):
    """The contents of an `LlmRequest`. Elsewhere such contents are messages of the dialect "gemini". `write` makes new
    contents, also of what is shown unchanged."""

    name = "google_adk"
    api = "gemini"

    def read_reply(self, reply: Any) -> Assistant:
        """The turn in an `LlmResponse`, with its usage if it has one. Ids of calls that ADK itself made are left out.
        Raises InvalidMessage if the response has no content."""
        from transom.wire.gemini.parse import plain  # noqa: PLC0415 - the package brings no second dialect

        if getattr(reply, "content", None) is None:
            raise InvalidMessage("reply", f"the model said nothing: {getattr(reply, 'error_message', None)!s:.100}")
        held = plain(reply.content)
        content = as_dict(held)
        if content is not held:
            raise InvalidMessage("reply", f"an LlmResponse is needed, not {type(reply).__name__}")
        for part in objects_in(content.get("parts")):
            if (call := as_dict(part.get("functionCall"))) and is_own_id(call.get("id")):
                del call["id"]
        response = {"candidates": [{"content": content}], "usageMetadata": plain(reply.usage_metadata)}
        return self.dialect.parse_reply(response)

    def write(self, view: View, sources: Sources) -> list[Any]:  # noqa: ARG002 - the request has copies of its own
        from google.genai import types  # noqa: PLC0415 - only who has its contents

        messages = render_messages(view, self.dialect)
        return [types.Content.model_validate_json(msgspec.json.encode(each)) for each in messages]


def is_own_id(call: object) -> bool:
    """Whether the id of a call is one that ADK has made, because the model gave none."""
    return isinstance(call, str) and call.startswith(_OWN_IDS)


GOOGLE_ADK = GoogleADKFormat()
