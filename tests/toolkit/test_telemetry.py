"""Spans and metrics of OpenTelemetry, with the in-memory exporters of its SDK."""

import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp_revisions import McpError, Telemetry, ToolError
from opentelemetry import baggage, context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, SpanKind, StatusCode
from support.http.serving import serving
from support.revisions import HANDSHAKE, OLD, REVISIONS, STATELESS
from support.sessions.talking import client, models, named, pkg, runtime
from support.tables import case
from support.toolkit.kits import kit, prompt, resource, tool

PAIRS = [(own, spoken) for own in (OLD, STATELESS) for spoken in REVISIONS]
ROOTS_CHANGED = "notifications/roots/list_changed"
SERVER, CLIENT = "mcp.server.operation.duration", "mcp.client.operation.duration"


@tool
def echo(self: object, text: str) -> str:
    if text == "bad":
        raise ToolError("bad")
    if text == "worse":
        raise McpError(-32099, "worse")
    return f"{text} {baggage.get_baggage('user')}"


@resource("note://one")
def note(self: object) -> str:
    return "one"


@prompt
def greet(self: object) -> str:
    return "hello"


class Recorded:
    """What is recorded by one `Telemetry`, which a server and a client have together."""

    def __init__(self, **options: Any) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.telemetry = Telemetry(
            tracer_provider=self.tracers, meter_provider=MeterProvider([self.reader]), **options
        )

    def spans(self, kind: SpanKind) -> list[ReadableSpan]:
        found = self.exporter.get_finished_spans()
        skipped = ("notifications/initialized", "server/discover")
        return [span for span in found if span.kind is kind and span.name not in skipped]

    def points(self, metric: str) -> Iterator[Any]:
        data = self.reader.get_metrics_data()
        for source in data.resource_metrics if data else ():
            for scope in source.scope_metrics:
                for one in scope.metrics:
                    if one.name == metric:
                        assert one.unit == "s"
                        yield from one.data.data_points


@asynccontextmanager
async def recording(
    own: str, spoken: str, http: bool = False, **options: Any
) -> AsyncGenerator[tuple[Any, Recorded], None]:
    """A client and a server that record, whatever their revisions."""
    recorded = Recorded(**options)
    both: Any = {"middleware": (recorded.telemetry,)}
    sends = frozenset({ROOTS_CHANGED} if spoken in HANDSHAKE else ())
    ours = kit(own, echo=echo, note=note, greet=greet, **both)()
    mine = client(spoken, SENDS=sends, **both)
    if not http:
        async with pkg.connect_in_memory(mine, ours, revisions=pkg.REVISIONS) as caller:
            yield caller, recorded
        return
    async with (
        serving(ours, pkg.REVISIONS) as site,
        pkg.connect_http(site.url, mine, revisions=pkg.REVISIONS) as caller,
    ):
        yield caller, recorded


def of(span: ReadableSpan) -> SpanContext:
    found = span.get_span_context()
    assert found is not None
    return found


async def say(caller: Any, spoken: str, text: str, name: str = "echo") -> Any:
    return await caller.call_tool(named(spoken, name, arguments={"text": text}))


async def test_a_call_has_a_span_on_both_sides_one_below_the_other() -> None:
    for own, spoken in PAIRS:
        with case((own, spoken)):
            async with recording(own, spoken) as (caller, recorded):
                await say(caller, spoken, "a")
            (sent,), (served,) = recorded.spans(SpanKind.CLIENT), recorded.spans(SpanKind.SERVER)
            assert sent.name == served.name == "tools/call echo"
            assert served.parent is not None
            assert served.parent.span_id == of(sent).span_id
            assert of(served).trace_id == of(sent).trace_id
            common = {
                "mcp.method.name": "tools/call",
                "mcp.protocol.version": spoken,
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "echo",
            }
            assert sent.attributes == common
            assert served.attributes == {**common, "jsonrpc.request.id": "2"}
            assert sent.status.status_code is served.status.status_code is StatusCode.UNSET


async def test_traces_and_baggage_go_over_http_and_the_ambient_span_is_linked() -> None:
    for own, spoken in ((OLD, OLD), (STATELESS, STATELESS), (OLD, STATELESS), (STATELESS, OLD)):
        with case((own, spoken)):
            async with recording(own, spoken, http=True) as (caller, recorded):
                token = context.attach(baggage.set_baggage("user", "ada"))
                try:
                    result = await say(caller, spoken, "a")
                finally:
                    context.detach(token)
                assert "a ada" in str(result)
            (sent,), (served,) = recorded.spans(SpanKind.CLIENT), recorded.spans(SpanKind.SERVER)
            assert served.parent is not None
            assert served.parent.span_id == of(sent).span_id
            assert served.links == ()


async def test_a_span_around_the_server_is_its_parent_or_linked() -> None:
    recorded = Recorded()
    tracer = recorded.tracers.get_tracer("around")
    core = runtime("core.middleware")
    params = named(OLD, "echo")
    call = core.MethodCall(
        method="tools/call", params=params, revision=OLD, session=None, meta={}, request_id=1
    )
    remote = f"00-{1:032x}-{2:016x}-01"

    async def answer(call: Any) -> Any:
        return models(OLD).CallToolResult(content=[])

    with tracer.start_as_current_span("POST /mcp") as ambient:
        await recorded.telemetry(call, answer)
        await recorded.telemetry(call.with_meta({"traceparent": remote, "number": 1}), answer)
    below, linked = recorded.spans(SpanKind.SERVER)
    around = ambient.get_span_context()
    assert below.parent is not None and below.parent.span_id == around.span_id
    assert linked.parent is not None and linked.parent.span_id == 2
    assert [link.context.span_id for link in linked.links] == [around.span_id]


FAILURES: list[tuple[str, str, str | None, dict[str, str]]] = [
    ("bad", "echo", None, {"error.type": "tool_error"}),
    ("worse", "echo", "worse", {"error.type": "-32099", "rpc.response.status_code": "-32099"}),
    ("a", "none", "Unknown", {"error.type": "-32602", "rpc.response.status_code": "-32602"}),
]


async def test_failures_have_a_type_and_a_status_and_metrics_no_made_up_names() -> None:
    for own, spoken in PAIRS:
        for text, name, said, failed in FAILURES:
            with case((own, spoken, text, name)):
                async with recording(own, spoken) as (caller, recorded):
                    if said is None:
                        await say(caller, spoken, text)
                    else:
                        with pytest.raises(McpError, match=said):
                            await say(caller, spoken, text, name)
                for kind, metric in ((SpanKind.CLIENT, CLIENT), (SpanKind.SERVER, SERVER)):
                    (span,) = recorded.spans(kind)
                    assert span.status.status_code is StatusCode.ERROR
                    assert (span.status.description or "").startswith(said or "")
                    assert failed.items() <= dict(span.attributes or {}).items()
                    assert span.events == ()
                    points = [dict(point.attributes) for point in recorded.points(metric)]
                    (point,) = [one for one in points if one["mcp.method.name"] == "tools/call"]
                    assert failed.items() <= point.items()
                    assert point.get("gen_ai.tool.name") == (None if name == "none" else "echo")


async def test_faults_of_handlers_keep_their_texts() -> None:
    @tool(thread=False)
    def broken(self: object, text: str) -> str:
        return text

    async def fault(call: Any, next: Any) -> Any:
        if call.method == "tools/call":
            raise ValueError("a secret")
        return await next(call)

    recorded = Recorded()
    ours = kit(OLD, echo=broken, middleware=(recorded.telemetry, fault))()
    async with pkg.connect_in_memory(client(OLD), ours) as caller:
        with pytest.raises(McpError):
            await say(caller, OLD, "a", "broken")
    (span,) = recorded.spans(SpanKind.SERVER)
    failed = {"error.type": "ValueError", "rpc.response.status_code": "-32603"}
    assert failed.items() <= dict(span.attributes or {}).items()
    assert (span.status.description, span.events) == (None, ())


async def test_targets_of_other_methods() -> None:
    m: Any = models(OLD)
    async with recording(OLD, OLD) as (caller, recorded):
        await caller.read_resource(m.ReadResourceRequestParams(uri="note://one"))
        await caller.get_prompt(m.GetPromptRequestParams(name="greet"))
        await caller.ping()
        await caller.notify_roots_list_changed()
        await caller.ping()
    for kind, metric in ((SpanKind.CLIENT, CLIENT), (SpanKind.SERVER, SERVER)):
        spans = {span.name: dict(span.attributes or {}) for span in recorded.spans(kind)}
        assert set(spans) == {
            *("resources/read", "prompts/get greet", "ping"),
            ROOTS_CHANGED,
        }
        assert spans["resources/read"]["mcp.resource.uri"] == "note://one"
        assert spans["prompts/get greet"]["gen_ai.prompt.name"] == "greet"
        for point in recorded.points(metric):
            assert point.explicit_bounds[0] == 0.01
            assert not {"mcp.resource.uri", "jsonrpc.request.id"} & point.attributes.keys()


async def test_arguments_results_and_more_attributes_only_if_asked_for() -> None:
    more = {"network.transport": "pipe"}
    options: dict[str, Any] = {"arguments": True, "results": True, "attributes": more}
    async with recording(OLD, OLD, **options) as (caller, recorded):
        await say(caller, OLD, "a")
        await say(caller, OLD, "bad")
    for kind in (SpanKind.CLIENT, SpanKind.SERVER):
        good, bad = (dict(span.attributes or {}) for span in recorded.spans(kind))
        assert good["gen_ai.tool.call.arguments"] == '{"text":"a"}'
        assert "a None" in str(good["gen_ai.tool.call.result"])
        assert "gen_ai.tool.call.result" not in bad
        assert good["network.transport"] == "pipe"


def test_without_the_api_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "opentelemetry"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ImportError, match="pip install opentelemetry-api"):
        Telemetry()
