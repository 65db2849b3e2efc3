"""The metrics of a gateway for Prometheus, with the names of OpenTelemetry's conventions for MCP.

Names and labels are those of the conventions, with `_` in place of dots.
"""

from asyncio import Lock, get_running_loop, to_thread
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final, NamedTuple, Protocol

from opentelemetry.metrics import get_meter_provider
from opentelemetry.trace import NoOpTracerProvider
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mcp_protogen.runtime.features.telemetry import ERROR_TYPE, STATUS_CODE
from mcp_protogen.servers.gateway.operating.last_reload import Reload
from mcp_protogen.servers.gateway.operating.tracing import SERVER
from mcp_protogen.servers.gateway.upstreams.upstream import UpstreamServer

TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
"""https://prometheus.io/docs/instrumenting/exposition_formats/"""

# Attributes that are labels.
_NAMES: Final[Mapping[str, str]] = {"gen_ai.tool.name": "tools", "gen_ai.prompt.name": "prompts"}
"""Names of items, with their lists."""
_OF_SESSIONS: Final = ("mcp.protocol.version", "network.transport", ERROR_TYPE)
_OF_MESSAGES: Final = ("mcp.method.name", *_NAMES, *_OF_SESSIONS, STATUS_CODE)

MOST_SERIES: Final = 500
"""The most combinations of labels of a histogram that have names of items and codes of errors."""
_OTHER: Final = "_OTHER"
"""https://opentelemetry.io/docs/specs/semconv/attributes-registry/error/"""

_FRESH: Final = 1.0
"""The seconds in which further scrapes get the same text."""

_Upstreams = Callable[[], Mapping[str, UpstreamServer]]


class Metrics:
    """The metrics of one gateway; `upstreams` returns its servers, by name."""

    def __init__(self, upstreams: _Upstreams, last_reload: Callable[[], Reload]) -> None:
        self._upstreams, self._last_reload = upstreams, last_reload
        self._registry = CollectorRegistry()
        self._state = _State()
        self._registry.register(self._state)
        self._histograms: dict[str, _Histogram] = {}
        self._scraping, self._text, self._scraped = Lock(), b"", -inf

    async def text(self) -> bytes:
        """Return all metrics in the text format, as they were at most a second ago."""
        async with self._scraping:
            now = get_running_loop().time()
            if now - self._scraped >= _FRESH:
                self._state.metrics = [
                    *_metrics_of(self._upstreams()),
                    *_metrics_of_file(self._last_reload()),
                ]
                # Many lines may take longer than requests should wait.
                self._text = await to_thread(generate_latest, self._registry)
                self._scraped = now
            return self._text

    def providers(self, spans: bool) -> Mapping[str, Any]:
        """Return the providers for `Telemetry`: ours, beside the global ones for `spans`."""
        if spans:
            return {"meter_provider": _Meters(self._histogram, get_meter_provider())}
        return {
            "meter_provider": _Meters(self._histogram),
            "tracer_provider": NoOpTracerProvider(),
        }

    def _histogram(self, name: str, about: str, buckets: Sequence[float]) -> "_Histogram":
        if name not in self._histograms:
            self._histograms[name] = _Histogram(
                name, about, buckets, self._registry, self._is_listed
            )
        return self._histograms[name]

    def _is_listed(self, attributes: Mapping[str, Any]) -> bool:
        """Return whether a server has listed the tool or prompt, if there is one."""
        upstreams, server = self._upstreams(), attributes.get(SERVER)
        owners = [upstreams[server]] if server and server in upstreams else upstreams.values()
        for attribute, kind in _NAMES.items():
            if (name := attributes.get(attribute)) is not None:
                # Requests to a server have its own names.
                return any(
                    (owner.names.key(kind, name) if server else name)
                    in owner.last_keys.get(kind, ())
                    for owner in owners
                )
        return True


class _Sink(Protocol):
    def record(self, amount: float, attributes: Mapping[str, Any], /) -> None: ...


class _Histogram:
    """A histogram with few series, whatever clients send and servers answer."""

    def __init__(
        self,
        name: str,
        about: str,
        buckets: Sequence[float],
        registry: CollectorRegistry,
        is_listed: Callable[[Mapping[str, Any]], bool],
    ) -> None:
        of_server = (SERVER,) if ".client." in name else ()
        self._attributes = (_OF_MESSAGES if "operation" in name else _OF_SESSIONS) + of_server
        self._is_listed = is_listed
        self._histogram = Histogram(
            f"{_label(name)}_seconds",
            about,
            [_label(attribute) for attribute in self._attributes],
            registry=registry,
            buckets=buckets,
        )
        self._series: dict[tuple[str, ...], Histogram] = {}

    def record(self, amount: float, attributes: Mapping[str, Any]) -> None:
        values = self._values(attributes)
        series = self._series.get(values) or self._new_series(attributes)
        series.observe(amount)

    def _new_series(self, attributes: Mapping[str, Any]) -> Histogram:
        if not self._is_listed(attributes) and ERROR_TYPE in attributes:
            attributes = _without(attributes, *_NAMES)
        if len(self._series) >= MOST_SERIES:
            attributes = _without(attributes, *_NAMES, STATUS_CODE)
            if ERROR_TYPE in attributes:
                attributes[ERROR_TYPE] = _OTHER
        values = self._values(attributes)
        if values not in self._series:
            self._series[values] = self._histogram.labels(*values)
        return self._series[values]

    def _values(self, attributes: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(str(attributes.get(name, "")) for name in self._attributes)


def _without(attributes: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if name not in names}


def _label(attribute: str) -> str:
    return attribute.replace(".", "_")


class _Meters:
    """What `Telemetry` needs of a meter provider and its meters: histograms."""

    def __init__(self, make: Callable[..., _Histogram], others: Any = None) -> None:
        self._make, self._others = make, others

    def get_meter(self, *given: Any) -> "_Meters":
        others = None if self._others is None else self._others.get_meter(*given)
        return _Meters(self._make, others)

    def create_histogram(self, name: str, **options: Any) -> _Sink:
        buckets = options["explicit_bucket_boundaries_advisory"]
        ours = self._make(name, options["description"], buckets)
        if self._others is None:
            return ours
        return _Both(ours, self._others.create_histogram(name, **options))


class _Both(NamedTuple):
    first: _Sink
    second: _Sink

    def record(self, amount: float, attributes: Mapping[str, Any]) -> None:
        self.first.record(amount, attributes)
        self.second.record(amount, attributes)


# By the metric of each server: its help, and its second label.
_OF_SERVERS: Final[Mapping[str, tuple[str, str]]] = {
    "upstream_up": ("Whether the last attempt to reach the server succeeded", ""),
    "upstream_connections": ("Open connections to the server", "mcp_protocol_version"),
    "circuit_open": ("Whether requests are refused, after failures to connect", ""),
    "lock_violations": ("Items in its last lists that are not accepted", ""),
    "catalogue_items": ("Items in the newest list of the server for a client", "kind"),
    "denied_total": ("Requests that clients may not send", "reason"),
    "questions_total": ("Questions of the server to clients", "mcp_method_name"),
    "losses_total": ("What translation and repairs lose, once for a connection", "what"),
}


def _read(upstream: UpstreamServer) -> Mapping[str, Mapping[str, float]]:
    """Return the present values of all, by those of the second label."""
    health, counts = upstream.health, upstream.counts
    return {
        "upstream_up": {} if health.state == "unknown" else {"": health.state == "up"},
        "upstream_connections": health.connections,
        "circuit_open": {"": upstream.circuit.is_open},
        "lock_violations": {"": upstream.lock.violations},
        "catalogue_items": {name: len(keys) for name, keys in upstream.last_keys.items()},
        "denied_total": counts.denied,
        "questions_total": counts.questions,
        "losses_total": counts.losses,
    }


def _metrics_of(upstreams: Mapping[str, UpstreamServer]) -> Iterator[Metric]:
    found = {server: _read(upstream) for server, upstream in upstreams.items()}
    for name, (about, label) in _OF_SERVERS.items():
        family = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
        labels = ["server", label] if label else ["server"]
        metric = family(f"mcp_gateway_{name}", about, labels=labels)
        for server, values in found.items():
            for value, number in values[name].items():
                metric.add_metric([server, value], number)
        yield metric


def _metrics_of_file(last: Reload) -> Iterator[Metric]:
    name = "mcp_gateway_config_last_reload"
    about = "Whether the file could be applied when it was read last"
    yield GaugeMetricFamily(f"{name}_successful", about, not last.problems)
    about = "When the file was read last"
    yield GaugeMetricFamily(f"{name}_timestamp_seconds", about, last.at.timestamp())


class _State(Collector):
    """The state of all servers at the time of a scrape."""

    metrics: Sequence[Metric] = ()

    def collect(self) -> Sequence[Metric]:
        return self.metrics
