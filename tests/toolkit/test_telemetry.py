"""Spans and metrics of OpenTelemetry, with the in-memory exporters of its SDK."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp_protogen.runtime.core.middleware import MethodCall
from mcp_protogen.runtime.server.base import SessionBase
from mcp_revisions import Disconnected, McpError, Telemetry, ToolError
from opentelemetry import baggage, context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, SpanKind, StatusCode
from support.folders import GENERATED
from support.http.serving import serving
from support.json_types import JsonObject
from support.revisions import ERAS, HANDSHAKE, OLD, REVISIONS, STATELESS, WITHOUT_HANDSHAKE
from support.sessions.talking import call_params, client, models, pkg
from support.tables import case
from support.toolkit.kits import kit, prompt, resource, tool

PAIRS = [(own, spoken) for own in (OLD, STATELESS) for spoken in REVISIONS]
ROOTS_CHANGED = "notifications/roots/list_changed"
SERVER, CLIENT = "mcp.server.operation.duration", "mcp.client.operation.duration"
SESSIONS = ("mcp.server.session.duration", "mcp.client.session.duration")


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
    """The recordings of one `Telemetry` for a server and a client."""

    def __init__(self, **options: Any) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.telemetry = Telemetry(
            tracer_provider=self.tracers, meter_provider=MeterProvider([self.reader]), **options
        )

    port = 0
    """The port of the server, over HTTP."""

    def spans(self, kind: SpanKind) -> list[ReadableSpan]:
        found = self.exporter.get_finished_spans()
        skipped = ("notifications/initialized", "server/discover")
        return [span for span in found if span.kind is kind and span.name not in skipped]

    def points(self, metric: str) -> Iterator[Any]:
        data = self.reader.get_metrics_data()
        for source in data.resource_metrics if data else ():
            for scope in source.scope_metrics:
                for recorded_metric in scope.metrics:
                    if recorded_metric.name == metric:
                        assert recorded_metric.unit == "s"
                        yield from recorded_metric.data.data_points


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
    async with serving(ours, pkg.REVISIONS) as site, pkg.connect_http(site.url, mine) as caller:
        recorded.port = site.port
        yield caller, recorded


def attributes(recorded: Any) -> dict[str, Any]:
    return dict(recorded.attributes or {})


def transport_attributes(recorded: Any) -> dict[str, Any]:
    """The attributes that a transport has told."""
    found = attributes(recorded).items()
    return {name: value for name, value in found if name.startswith(("network.", "server."))}


@contextmanager
def user_ada() -> Generator[None, None, None]:
    """Have baggage that names a user."""
    token = context.attach(baggage.set_baggage("user", "ada"))
    try:
        yield
    finally:
        context.detach(token)


def of(span: ReadableSpan) -> SpanContext:
    found = span.get_span_context()
    assert found is not None
    return found


async def say(caller: Any, text: str, name: str = "echo") -> Any:
    return await caller.call_tool(name, {"text": text})


async def test_a_call_has_a_span_on_both_sides_one_below_the_other() -> None:
    for own, spoken in PAIRS:
        with case((own, spoken)):
            async with recording(own, spoken) as (caller, recorded):
                await say(caller, "a")
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
            assert sent.attributes == served.attributes == {**common, "jsonrpc.request.id": "2"}
            assert sent.status.status_code is served.status.status_code is StatusCode.UNSET


async def test_traces_and_baggage_go_over_http_and_the_ambient_span_is_linked() -> None:
    for own, spoken in product(ERAS, ERAS):
        with case((own, spoken)):
            async with recording(own, spoken, http=True) as (caller, recorded):
                with user_ada():
                    assert "a ada" in str(await say(caller, "a"))
            (sent,), (served,) = recorded.spans(SpanKind.CLIENT), recorded.spans(SpanKind.SERVER)
            over = {"network.transport": "tcp", "network.protocol.name": "http"}
            at = {"server.address": "127.0.0.1", "server.port": recorded.port}
            assert transport_attributes(sent) == {**over, **at}
            assert transport_attributes(served) == over
            for metric, expected in ((CLIENT, {**over, **at}), (SERVER, over)):
                for point in recorded.points(metric):
                    assert expected == transport_attributes(point)
            assert served.parent is not None
            assert served.parent.span_id == of(sent).span_id
            assert served.links == ()


async def test_a_span_around_the_server_is_its_parent_or_linked() -> None:
    recorded = Recorded()
    tracer = recorded.tracers.get_tracer("around")
    params = call_params(OLD, "echo")
    call = MethodCall(
        method="tools/call",
        params=params,
        revision=OLD,
        session=SimpleNamespace(TABLE=pkg.load(OLD).Client.TABLE),
        meta={},
        request_id=1,
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
                        await say(caller, text)
                    else:
                        with pytest.raises(McpError, match=said):
                            await say(caller, text, name)
                for kind, metric in ((SpanKind.CLIENT, CLIENT), (SpanKind.SERVER, SERVER)):
                    (span,) = recorded.spans(kind)
                    assert span.status.status_code is StatusCode.ERROR
                    assert (span.status.description or "").startswith(said or "")
                    assert failed.items() <= attributes(span).items()
                    assert span.events == ()
                    (point,) = (
                        point.attributes
                        for point in recorded.points(metric)
                        if point.attributes["mcp.method.name"] == "tools/call"
                    )
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
            await say(caller, "a", "broken")
    (span,) = recorded.spans(SpanKind.SERVER)
    failed = {"error.type": "ValueError", "rpc.response.status_code": "-32603"}
    assert failed.items() <= attributes(span).items()
    assert (span.status.description, span.events) == (None, ())


async def test_targets_of_other_methods() -> None:
    async with recording(OLD, OLD) as (caller, recorded):
        await caller.read_resource("note://one")
        await caller.get_prompt("greet")
        await caller.ping()
        await caller.notify_roots_list_changed()
        await caller.ping()
    for kind, metric in ((SpanKind.CLIENT, CLIENT), (SpanKind.SERVER, SERVER)):
        spans = {span.name: attributes(span) for span in recorded.spans(kind)}
        assert set(spans) == {*("resources/read", "prompts/get greet", "ping"), ROOTS_CHANGED}
        assert spans["resources/read"]["mcp.resource.uri"] == "note://one"
        assert spans["prompts/get greet"]["gen_ai.prompt.name"] == "greet"
        for point in recorded.points(metric):
            assert point.explicit_bounds[0] == 0.01
            assert not {"mcp.resource.uri", "jsonrpc.request.id"} & point.attributes.keys()


async def test_arguments_results_and_more_attributes_only_if_asked_for() -> None:
    more = {"network.transport": "pipe"}
    options: dict[str, Any] = {"arguments": True, "results": True, "attributes": more}
    async with recording(OLD, OLD, **options) as (caller, recorded):
        await say(caller, "a")
        await say(caller, "bad")
    for kind in (SpanKind.CLIENT, SpanKind.SERVER):
        good, bad = (attributes(span) for span in recorded.spans(kind))
        assert good["gen_ai.tool.call.arguments"] == '{"text":"a"}'
        assert "a None" in str(good["gen_ai.tool.call.result"])
        assert "gen_ai.tool.call.result" not in bad
        assert good["network.transport"] == "pipe"


@tool
async def asking(self: object, what: str, session: SessionBase) -> str:
    asked: Any = session
    if what == "roots/list":
        return str(await asked.list_roots())
    if what == "elicitation/create":
        form: Any = {"type": "object", "properties": {"age": {"type": "integer"}}}
        return str(await asked.elicit("?", form))
    return str(await asked.create_message([], 1))


QUESTIONS = ("roots/list", "sampling/createMessage", "elicitation/create")


def answering(spoken: str, **members: Any) -> Any:
    """A client that answers with the baggage that comes with a question."""
    m: Any = models(spoken)

    async def on_list_roots(self: object, params: Any = None) -> Any:
        return m.ListRootsResult(roots=[m.Root(uri=f"file:///{baggage.get_baggage('user')}")])

    async def on_create_message(self: object, params: Any) -> Any:
        text = m.TextContent(text=str(baggage.get_baggage("user")))
        return m.CreateMessageResult(role="assistant", content=text, model="m")

    async def on_elicit(self: object, params: Any) -> Any:
        return m.ElicitResult(action="accept", content={"age": len(str(baggage.get_all()))})

    members |= {"on_list_roots": on_list_roots, "on_create_message": on_create_message}
    if hasattr(m, "ElicitResult"):
        members["on_elicit"] = on_elicit
    return client(spoken, **members)


async def test_server_request_is_span_with_client_span_below() -> None:
    for (own, spoken), what in product(PAIRS, QUESTIONS):
        if what == QUESTIONS[-1] and not hasattr(models(spoken), "ElicitResult"):
            continue
        with case((own, spoken, what)):
            recorded, lost = Recorded(), list[Any]()
            both: Any = {"middleware": (recorded.telemetry,)}
            ours, mine = kit(own, asking=asking, **both)(), answering(spoken, **both)
            options = pkg.Options(on_loss=lost.append)
            opened = pkg.connect_in_memory(mine, ours, revisions=pkg.REVISIONS, options=options)
            async with opened as caller:
                with user_ada():
                    result = await caller.call_tool("asking", {"what": what})
            served = {span.name: span for span in recorded.spans(SpanKind.SERVER)}
            sent = {span.name: span for span in recorded.spans(SpanKind.CLIENT)}
            assert not [loss for loss in lost if loss.pointer == "/params/_meta"]
            if spoken in WITHOUT_HANDSHAKE:
                # The question is in a result, and the answer in the next request.
                assert what in served and what not in sent
                continue
            if what != QUESTIONS[-1]:
                assert "ada" in str(result)
            asked, answered = sent[what], served[what]
            assert asked.parent is not None and answered.parent is not None
            assert asked.parent.span_id == of(served["tools/call asking"]).span_id
            assert answered.parent.span_id == of(asked).span_id
            id = "jsonrpc.request.id"
            assert attributes(asked)[id] == attributes(answered)[id]
            points = recorded.points(CLIENT)
            assert what in [point.attributes["mcp.method.name"] for point in points]


async def test_sessions_are_measured_on_both_sides_where_there_are_any() -> None:
    for http, (own, spoken) in product((False, True), PAIRS):
        with case((own, spoken, http)):
            async with recording(own, spoken, http) as (caller, recorded):
                await say(caller, "a")
                assert [*recorded.points(SESSIONS[0])] == []
            over = {"network.transport": "tcp", "network.protocol.name": "http"} if http else {}
            at: JsonObject = {"server.address": "127.0.0.1", "server.port": recorded.port}
            for metric, place in zip(SESSIONS, ({}, at if http else {}), strict=True):
                points = [
                    (point.count, point.explicit_bounds[-1], {**point.attributes})
                    for point in recorded.points(metric)
                ]
                expected = (1, 300, {"mcp.protocol.version": spoken, **over, **place})
                assert points == ([] if spoken in WITHOUT_HANDSHAKE else [expected])


PROGRAM = """
import os
from mcp_revisions import v2025_11_25 as mcp

app = mcp.App("ends")

@app.tool
async def end() -> None:
    os._exit(1)

app.run()
"""


async def test_a_session_whose_server_has_gone_failed(tmp_path: Path) -> None:
    program, recorded = tmp_path / "ends.py", Recorded()
    program.write_text(PROGRAM)
    opener = pkg.stdio_client([sys.executable, str(program)], env={"PYTHONPATH": str(GENERATED)})
    async with pkg.connect(opener, client(OLD, middleware=(recorded.telemetry,))) as caller:
        with pytest.raises(Disconnected):
            await caller.call_tool("end")
    (span,) = recorded.spans(SpanKind.CLIENT)
    assert transport_attributes(span) == {"network.transport": "pipe"}
    (point,) = recorded.points(SESSIONS[1])
    assert point.attributes == {
        "mcp.protocol.version": OLD,
        "error.type": "Disconnected",
        "network.transport": "pipe",
    }


async def test_socket_transport_is_recorded(tmp_path: Path) -> None:
    async def over(family: str, server: Any, connect: Callable[[Any], Any]) -> None:
        recorded = Recorded()
        ours = kit(OLD, echo=echo, middleware=(recorded.telemetry,))()
        found: list[Any] = []

        def accept() -> Any:
            found.append(pkg.LineProtocol())
            return found[-1]

        listening = await server(accept)
        _, lines = await connect(listening)
        ends: list[asyncio.Task[None]] = []

        async def open_pair() -> Any:
            while not found:
                await asyncio.sleep(0)
            ends.append(asyncio.create_task(pkg.serve(ours, pkg.LineTransport(found[0]))))
            return pkg.LineTransport(lines)

        async with pkg.connect(open_pair, client(OLD)) as caller:
            await say(caller, "a")
        await asyncio.gather(*ends)
        listening.close()
        (span,) = recorded.spans(SpanKind.SERVER)
        assert transport_attributes(span) == {"network.transport": family}

    loop, path = asyncio.get_running_loop(), str(tmp_path / "socket")
    local = partial(loop.create_unix_connection, pkg.LineProtocol, path)
    await over("unix", partial(loop.create_unix_server, path=path), lambda server: local())

    def remote(server: Any) -> Any:
        host, port = server.sockets[0].getsockname()
        return loop.create_connection(pkg.LineProtocol, host, port)

    await over("tcp", partial(loop.create_server, host="127.0.0.1", port=0), remote)


def test_without_the_api_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "opentelemetry"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ImportError, match="pip install opentelemetry-api"):
        Telemetry()
