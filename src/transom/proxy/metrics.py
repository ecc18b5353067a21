"""The metrics of the proxy, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from transom.http.exchange import Figures


class Metrics:
    """The metrics of one proxy. No label names a conversation, a user or a key."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "transom_requests", "Requests, by kind and status.", ("kind", "status"), registry=self.registry
        )
        self._passed = Counter(
            "transom_passed", "Requests sent as they came, by why.", ("why",), registry=self.registry
        )
        self._overflows = Counter(
            "transom_overflows", "Requests that were too long and sent again.", registry=self.registry
        )
        self._tokens = Counter("transom_tokens", "Tokens by the provider's count.", ("kind",), registry=self.registry)
        self.in_flight = Gauge("transom_in_flight", "Requests being answered.", registry=self.registry)
        self._seconds = Histogram(
            "transom_seconds", "From the request to the end of its reply.", registry=self.registry
        )

    def count(self, kind: str, status: int, seconds: float, figures: Figures | None = None) -> None:
        """Count a request that is over. `kind`: "model" for one that asks a model, else "other". `status`: of the
        answer. `seconds`: from its arrival to the end of the answer. `figures`: what became of a request to a model;
        None for others."""
        self._requests.labels(kind, str(status)).inc()
        self._seconds.observe(seconds)
        if figures is None:
            return
        if figures.passed:
            self._passed.labels(figures.passed).inc()
        self._overflows.inc(figures.overflows)
        if (usage := figures.usage) is not None:
            for name, tokens in (("prompt", usage.prompt), ("cached", usage.cached), ("output", usage.output)):
                self._tokens.labels(name).inc(tokens)

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)
