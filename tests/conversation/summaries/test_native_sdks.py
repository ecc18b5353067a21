"""Policy `native` through the official SDKs, against a server on the loopback that answers in the documented shapes."""

from __future__ import annotations

from typing import Any

import pytest
from native_kit import Server, block, bodies, compaction, failures, kept, messages, opened, shown, talk
from test_summary_scheduler import NowPool

import transom
from loopback_server import PostHandler, serving
from transom.core.summary import Summary
from transom.providers.anthropic import Anthropic
from transom.providers.openai import OpenAIResponses

KINDS = {"anthropic": Anthropic, "responses": OpenAIResponses}
PATHS = {"anthropic": ("/v1/messages", "/v1/messages"), "responses": ("/responses", "/responses/compact")}


class Api:
    """What the server has got: paths, the beta header and bodies. It answers and compacts."""

    def __init__(self, dialect: str) -> None:
        self.dialect, self.model = dialect, Server(dialect)
        self.got: list[tuple[str, str, Any]] = []
        self.compacted: list[Any] = []

    def post(self, handler: PostHandler, path: str, body: Any) -> None:
        import json  # noqa: PLC0415 - only here

        self.got.append((path, handler.headers.get("anthropic-beta") or "", body))
        given = {key: value for key, value in body.items() if key not in {"model", "max_tokens", "stream"}}
        if "compaction" in given or path.endswith("/compact"):
            self.compacted.append(body)
            answer = compaction(self.dialect, len(self.compacted))
        else:
            answer = self.model.complete(given)
        handler.reply(200, "application/json", json.dumps(answer).encode())


@pytest.mark.parametrize("dialect", KINDS)
def test_the_sdk_compacts_and_sends_the_block_back(dialect: str) -> None:
    api = Api(dialect)
    with serving(api.post) as url:
        provider = KINDS[dialect]("m1", base_url=url)
        settings = transom.SummarySettings(pool=NowPool())
        with opened(dialect, summarizer=settings) as conv:
            talk(conv, provider, 0, 20)
            assert failures(conv) == []
            assert len(shown(conv)) == 1
            made = bodies(conv, Summary)
        provider.close()
    assert len(api.compacted) == len(made) >= 1
    assert {path for path, _, _ in api.got} == set(PATHS[dialect])
    begins = messages(api.got[-1][2])
    if dialect == "anthropic":
        assert begins[0]["content"][0] == block(1)
        assert api.compacted[0]["compaction"] == {"type": "summarize"}
        with_block = [beta for _, beta, body in api.got if "compaction" in str(body)]
        assert set(with_block) == {"compact-2026-09-04"}
        assert {beta for _, beta, body in api.got if "compaction" not in str(body)} == {""}
    else:
        assert begins[:2] == kept(1)
        assert set(api.compacted[0]) == {"model", "input"} | (set(api.compacted[0]) & {"instructions"})
