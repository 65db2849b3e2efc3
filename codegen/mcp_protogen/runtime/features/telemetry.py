"""OpenTelemetry spans and metrics for servers and clients, by the conventions for MCP.

Names are those of open-telemetry/semantic-conventions-genai, docs/gen-ai/mcp.md. `mcp.session.id`
is left out: without authentication, it gives access to the session. Values that neither messages
nor transports have can be given as `attributes`.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import Any, Final

from ..core.connection_errors import CHOSEN
from ..core.errors import INTERNAL_ERROR, INVALID_PARAMS
from ..core.json import json_text
from ..core.libraries import library
from ..core.middleware import CallNext, MethodCall, Network, SessionEnd, failure
from ..core.models.base import declared_member
from ..core.spec import CALL_TOOL, Role

REQUEST_ID: Final = "jsonrpc.request.id"


def _first_name(call: MethodCall) -> str:
    spec = call.session.TABLE.requests.get(call.method)
    return spec.known_as if spec else call.method


def _name_of(method: str) -> Callable[[MethodCall], str | None]:
    return lambda call: call.target if _first_name(call) == method else None


_NAMES: Final = {
    "gen_ai.tool.name": _name_of(CALL_TOOL),
    "gen_ai.prompt.name": _name_of("prompts/get"),
}

# "Spans", "Client" and "Server": known before the call.
ATTRIBUTES: Final[Mapping[str, Callable[[MethodCall], str | None]]] = {
    "mcp.method.name": lambda call: call.method,
    "mcp.protocol.version": lambda call: call.revision,
    "gen_ai.operation.name": lambda call: (
        "execute_tool" if _first_name(call) == CALL_TOOL else None
    ),
    **_NAMES,
    "mcp.resource.uri": lambda call: declared_member(call.params, "uri"),
    REQUEST_ID: lambda call: None if call.request_id is None else str(call.request_id),
}
"""By name; None is left out."""

# "Metrics": attributes with few values.
_OF_METRICS: Final = ATTRIBUTES.keys() - {"mcp.resource.uri", REQUEST_ID}

# "Recording MCP transport"
NETWORK: Final[Mapping[str, Callable[[Network], str | int | None]]] = {
    "network.transport": lambda network: network.transport,
    "network.protocol.name": lambda network: network.protocol,
    "server.address": lambda network: network.host,
    "server.port": lambda network: network.port,
}

ERROR_TYPE: Final = "error.type"
STATUS_CODE: Final = "rpc.response.status_code"
ARGUMENTS: Final = "gen_ai.tool.call.arguments"
RESULT: Final = "gen_ai.tool.call.result"

METRICS: Final[Mapping[bool | Role, tuple[str, str]]] = {
    False: ("mcp.server.operation.duration", "Time that a message takes which was received"),
    True: ("mcp.client.operation.duration", "Time until a message that was sent is answered"),
    "server": ("mcp.server.session.duration", "Time that a session lasts, on the server"),
    "client": ("mcp.client.session.duration", "Time that a session lasts, on the client"),
}
"""Histograms in seconds: of messages by `MethodCall.is_sent`, of sessions by role."""

# "Metric: `mcp.client.operation.duration`", and the same for sessions.
_BUCKETS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)


class Telemetry:
    """Middleware that records spans and durations of messages, and durations of sessions.

    The span of a sent message travels in the `_meta` of its params and is the parent of the
    receiver's span; an outer span there, such as of HTTP, is linked ("Context propagation").
    Providers default to the global ones. `attributes` are added to everything recorded. Tools'
    `arguments` and `results` may be secret, and are recorded only if enabled.

    Raise `ImportError` if opentelemetry-api is not installed.
    """

    def __init__(
        self,
        *,
        tracer_provider: Any = None,
        meter_provider: Any = None,
        attributes: Mapping[str, str | int] | None = None,
        arguments: bool = False,
        results: bool = False,
    ) -> None:
        self._context, metrics, self._propagate, self._trace = (
            library(f"opentelemetry.{name}", "Telemetry", "opentelemetry-api")
            for name in ("context", "metrics", "propagate", "trace")
        )
        self._tracer = self._trace.get_tracer(__name__, tracer_provider=tracer_provider)
        meter = metrics.get_meter(__name__, meter_provider=meter_provider)
        self._durations = {
            of: meter.create_histogram(
                name, unit="s", description=said, explicit_bucket_boundaries_advisory=_BUCKETS
            )
            for of, (name, said) in METRICS.items()
        }
        self._attributes = dict(attributes or {})
        self._arguments = arguments
        self._results = results

    async def __call__(self, call: MethodCall, next: CallNext, /) -> Any:
        values = {name: value for name, of in ATTRIBUTES.items() if (value := of(call)) is not None}
        extra = {**_network(call.network), **self._attributes}
        start, outcome = monotonic(), None
        with self._span(call, {**values, **extra}) as span:
            try:
                if call.is_sent:
                    carrier: dict[str, str] = {}
                    self._propagate.inject(carrier)
                    call = call.with_meta(carrier) if carrier else call
                outcome = await next(call)
                if self._results and _first_name(call) == CALL_TOOL and not failure(outcome):
                    span.set_attribute(RESULT, json_text(outcome.to_wire()).decode())
                return outcome
            except BaseException as error:
                outcome = error
                raise
            finally:
                failed = self._note(call, span, outcome)
                few = {**_metric_values(values, failed), **failed, **extra}
                self._durations[call.is_sent].record(monotonic() - start, few)

    def on_session_end(self, end: SessionEnd) -> None:
        known = {"mcp.protocol.version": end.revision}
        if end.error is not None:
            known[ERROR_TYPE] = type(end.error).__qualname__
        given = {**known, **_network(end.network), **self._attributes}
        self._durations[end.role].record(end.seconds, given)

    @contextmanager
    def _span(self, call: MethodCall, attributes: dict[str, Any]) -> Generator[Any, None, None]:
        if self._arguments and _first_name(call) == CALL_TOOL:
            attributes[ARGUMENTS] = json_text(call.params.arguments or {}).decode()
        names = [name for of in _NAMES.values() if (name := of(call)) is not None]
        kind, context, links = self._trace.SpanKind.CLIENT, self._context.get_current(), []
        if not call.is_sent:
            kind, context, links = self._trace.SpanKind.SERVER, *self._parent(call)
        token = self._context.attach(context)
        try:
            with self._tracer.start_as_current_span(
                " ".join((call.method, *names)),
                kind=kind,
                attributes=attributes,
                links=links,
                record_exception=False,
                set_status_on_exception=False,
            ) as span:
                yield span
        finally:
            self._context.detach(token)

    def _parent(self, call: MethodCall) -> tuple[Any, list[Any]]:
        trace, around = self._trace, self._context.get_current()
        # Propagators read texts only.
        carrier = {key: value for key, value in call.meta.items() if isinstance(value, str)}
        context = self._propagate.extract(carrier, self._context.Context())
        if not trace.get_current_span(context).get_span_context().is_valid:
            return self._propagate.extract(carrier, around), []
        ambient = trace.get_current_span(around).get_span_context()
        return context, [trace.Link(ambient)] if ambient.is_valid else []

    def _note(self, call: MethodCall, span: Any, outcome: Any) -> dict[str, str]:
        if call.sent_ids:
            # Known only now. One message may have become several requests.
            span.set_attribute(REQUEST_ID, str(call.sent_ids[-1]))
        failed, message = failure(outcome), None
        if failed is None:
            return {}
        attributes = {ERROR_TYPE: failed}
        if isinstance(outcome, CHOSEN):
            # Texts of other exceptions may be secret.
            attributes[STATUS_CODE], message = failed, outcome.message
        elif isinstance(outcome, Exception) and call.is_request and not call.is_sent:
            attributes[STATUS_CODE] = str(INTERNAL_ERROR)
        span.set_status(self._trace.StatusCode.ERROR, message)
        span.set_attributes(attributes)
        return attributes


def _network(network: Network | None) -> dict[str, str | int]:
    if network is None:
        return {}
    return {name: value for name, of in NETWORK.items() if (value := of(network)) is not None}


def _metric_values(known: Mapping[str, str], failed: Mapping[str, str]) -> dict[str, str]:
    names = set(_OF_METRICS)
    if failed.get(STATUS_CODE) == str(INVALID_PARAMS):
        # Unknown names are unlimited, so a client could fill the memory.
        names -= _NAMES.keys()
    return {name: value for name, value in known.items() if name in names}
