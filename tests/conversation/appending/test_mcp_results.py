"""What an MCP tool returns is read as what it is: images, resources, structured content, failures."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

import transom
from mcp import types as mcp
from transom.conversation.appending.mcp_results import read_mcp
from transom.providers.scripted import Scripted, call

URI: Any = "file:///a.bin"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8).decode()
SHOT = mcp.CallToolResult(
    content=[mcp.TextContent(type="text", text="shot"), mcp.ImageContent(type="image", data=PNG, mimeType="image/png")]
)
FAILED = mcp.CallToolResult(content=[mcp.TextContent(type="text", text="no such page")], isError=True)


@dataclass
class FastMcpResult:
    """As fastmcp's client gives it."""

    content: list[Any]
    structured_content: dict[str, Any] | None = None
    data: Any = None
    is_error: bool = False
    meta: dict[str, Any] = field(default_factory=dict)


SHOTS = {
    "mcp's object": SHOT,
    "fastmcp's object": FastMcpResult(SHOT.content),
    "JSON of the protocol": SHOT.model_dump(mode="json", by_alias=True),
    "its blocks": SHOT.content,
    "JSON without isError": {"content": SHOT.model_dump(mode="json", by_alias=True, exclude_none=True)["content"]},
    "as the objects dump themselves": SHOT.model_dump(mode="json"),
    "its blocks, dumped": [block.model_dump(mode="json") for block in SHOT.content],
    "blocks and structured content": (SHOT.content, None),
}
IMAGES = {
    "openai": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    "responses": {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
    "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    "gemini": {"inlineData": {"mimeType": "image/png", "data": PNG}},
}


def contains(value: object, part: object) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value == part or any(contains(each, part) for each in inner)


def after(dialect: str, result: object) -> dict[str, Any]:
    """The request behind a run in which a tool returned this."""

    def shot() -> object:
        "A screenshot."
        return result

    with transom.Conversation.open("memory:", "x", budget=60_000, dialect=dialect) as conv:
        provider = Scripted(call("shot"), "I see.", dialect=dialect)
        assert conv.run("Look.", provider=provider, tools=[shot]).text == "I see."
        return provider.requests[-1]


@pytest.mark.parametrize("dialect", IMAGES)
@pytest.mark.parametrize("form", SHOTS)
def test_an_image_is_an_image_in_every_api(dialect, form):
    request = after(dialect, SHOTS[form])
    assert contains(request, IMAGES[dialect])
    assert str(request).count(PNG) == 1
    assert "shot" in str(request)


@pytest.mark.parametrize(
    "result", [FAILED, FAILED.model_dump(by_alias=True), FastMcpResult(FAILED.content, is_error=True)]
)
def test_an_error_makes_a_failed_result(result):
    (block,) = after("anthropic", result)["messages"][-1]["content"]
    assert (block["is_error"], block["content"]) == (True, [{"type": "text", "text": "no such page"}])


def test_the_result_of_a_loop_of_ones_own():
    with transom.Conversation.open("memory:", "x", budget=60_000, dialect="anthropic") as conv:
        conv.user("Look.")
        use = [{"type": "tool_use", "id": name, "name": "shot", "input": {}} for name in ("a", "b")]
        conv.observe({"role": "assistant", "content": use})
        conv.tool_result("a", SHOT)
        conv.tool_result("b", FAILED)
        first, second = conv.request()["messages"][-1]["content"]
        assert first["content"] == [{"type": "text", "text": "shot"}, IMAGES["anthropic"]]
        assert second["is_error"]


def texts_of(result: object) -> list[str]:
    (block,) = after("anthropic", result)["messages"][-1]["content"]
    return [part["text"] for part in block["content"]]


def test_structured_content_is_kept_and_not_said_twice():
    said = mcp.TextContent(type="text", text='{"a": [1]}')
    assert texts_of(mcp.CallToolResult(content=[said], structuredContent={"a": [1]})) == ['{"a": [1]}']
    assert texts_of(mcp.CallToolResult(content=[], structuredContent={"a": [1]})) == ['{"a":[1]}']
    note = mcp.TextContent(type="text", text="Done.")
    assert texts_of(mcp.CallToolResult(content=[note], structuredContent={"a": [1]})) == ["Done.", '{"a":[1]}']


def test_resources_and_sound():
    uri: Any = "file:///a.txt"
    inner = mcp.TextResourceContents(uri=uri, mimeType="text/plain", text="what it holds")
    link = mcp.ResourceLink(type="resource_link", name="b", uri=uri)
    sound = mcp.AudioContent(type="audio", data="AAAA", mimeType="audio/wav")
    found = texts_of(mcp.CallToolResult(content=[mcp.EmbeddedResource(type="resource", resource=inner), link, sound]))
    assert found == ["what it holds", '{"name":"b","uri":"file:///a.txt","type":"resource_link"}', "[file left out]"]


def test_data_whose_type_nobody_knows_is_no_image():
    """MCP lets a server leave the type out: only an image may be taken for one."""
    data = mcp.BlobResourceContents(uri=URI, blob="AAAA")
    blob = {"isError": False, "content": [mcp.EmbeddedResource(type="resource", resource=data)]}
    assert read_mcp(blob) == ([{"type": "text", "text": '[file left out] ["","file:///a.bin"]'}], False)
    sound = {"isError": False, "content": [{"type": "audio", "data": "AAAA"}]}
    assert read_mcp(sound) == ([{"type": "text", "text": '[file left out] ["","audio"]'}], False)
    image = {"isError": False, "content": [{"type": "image", "data": "AAAA"}]}
    url = {"url": "data:image/png;base64,AAAA"}
    assert read_mcp(image) == ([{"type": "image_url", "image_url": url}], False)


def test_an_object_that_only_has_a_content_is_no_result():
    assert contains(after("openai", {"content": [1], "more": 2}), '{"content":[1],"more":2}')


def test_parts_of_another_api_are_translated():
    """A tool may be written for another provider."""
    for dialect, image in IMAGES.items():
        for part in IMAGES.values():
            assert contains(after(dialect, [part]), image)


@pytest.mark.parametrize("block", [SHOT.content[1], SHOT.content[1].model_dump(mode="json", by_alias=True)])
def test_a_block_alone(block):
    request = after("anthropic", block)
    assert contains(request, IMAGES["anthropic"])
    assert str(request).count(PNG) == 1


def test_the_type_of_an_image_that_mcp_2_has_dumped():
    photo = mcp.ImageContent(type="image", data=PNG, mimeType="image/jpeg").model_dump(mode="json")
    assert contains(after("anthropic", [photo]), {"type": "base64", "media_type": "image/jpeg", "data": PNG})


def test_texts_alone_are_sent_without_nulls():
    words = [mcp.TextContent(type="text", text="one"), mcp.TextContent(type="text", text="two")]
    (block,) = after("anthropic", words)["messages"][-1]["content"]
    assert block["content"] == [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]


def test_structured_content_beside_the_blocks():
    found = read_mcp(([mcp.TextContent(type="text", text="shot")], {"width": 8}))
    assert found is not None
    assert [part["text"] for part in found.parts] == ["shot", '{"width":8}']


@pytest.mark.parametrize("value", [([], {}), ([1], {}), {"content": [{"type": "text", "text": "x"}]}, mcp.TextContent])
def test_what_is_no_result_of_mcp(value):
    assert read_mcp(value) is None


@pytest.mark.parametrize(
    "value",
    [
        {"type": ["string", "null"]},
        [{"type": ["string", "null"]}],
        {"content": [{"type": {}}]},
        {"content": SHOTS["its blocks, dumped"], "page": 3},
    ],
)
def test_data_that_resembles_a_result_is_sent_whole(value):
    """A schema whose `type` is a list, or an object of the tool's own."""
    assert read_mcp(value) is None
    (result,) = (each for each in after("openai", value)["messages"] if each["role"] == "tool")
    assert json.loads(result["content"]) == value
