"""`CallModel`: the request that a run, or the making of a summary, hands to a driver, which sends it once.

Retries are in `agent_loop.py` and `retry.py` (when, and after how long).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from transom.providers.base import Provider
from transom.wire.stream import Accumulator


class CallModel(Struct, frozen=True, kw_only=True, eq=False):
    """Send a request. With an `accumulator` the reply is streamed into it.

    `compacts`: the request asks for the provider's own compaction. `on_late`: called with a whole reply that came when
    nobody waited for it any more, in another thread.
    """

    provider: Provider
    request: Mapping[str, Any]
    max_tokens: int | None = None
    timeout: float | None = None
    compacts: bool = False
    accumulator: Accumulator | None = None
    on_late: Callable[[object], object] | None = None
