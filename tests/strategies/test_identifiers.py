"""What is a name, and what only looks like one: the number of a line that a reader prints, and a key of JSON."""

from __future__ import annotations

import pytest

from transom.strategies.text.identifiers import names_in


def found(text: str) -> list[str]:
    return [name for _, names in names_in(text) for name in names]


@pytest.mark.parametrize(
    "text", ["1302\tload_all", "  1302→load_all", "x\n1302:load_all", "1302|load_all", "x\n1302- load_all"]
)
def test_the_number_of_a_line_is_no_name(text: str):
    assert found(text) == ["load_all"]


@pytest.mark.parametrize("text", ["port 1302: open", "1302 rows", "order\n1302", "a 1302|x", "x" * 30 + " 1302\ty"])
def test_any_other_number_is(text: str):
    assert "1302" in found(text)


@pytest.mark.parametrize(
    "text", ['{"user_id": "mia"}', '{"user_id":"mia","n":1}', '{\\"user_id\\": 1}', '"user_id" : 1', '"max output": 12']
)
def test_a_key_of_json_is_no_name(text: str):
    assert not {"user_id", "max output"}.intersection(found(text))


@pytest.mark.parametrize("text", ['{"id": "user_id"}', '["user_id", "x"]', "user_id: 1", '"user_id"::text'])
def test_what_is_no_key_of_json_is_a_name(text: str):
    assert "user_id" in found(text)
