"""Values of unknown JSON as the types they should have."""

from __future__ import annotations

from typing import cast

from transom.core.message import Raw


def objects_in(value: object) -> list[Raw]:
    """The objects in the value, if it is a list."""
    listed = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Raw", item) for item in listed if isinstance(item, dict)]
