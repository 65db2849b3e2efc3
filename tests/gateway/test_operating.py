"""Operating a gateway: tokens of clients, health, the access log, spans, and its end."""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from time import time
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.runtime.features.auth.steps import Fetch
from mcp_protogen.runtime.testing import in_memory
from mcp_protogen.servers.bridge.logs import DETAILS
from mcp_protogen.servers.gateway.config import read_settings
from mcp_protogen.servers.gateway.settings.settings import AuthSettings
from mcp_revisions.v2025_11_25 import Session
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from support.auth.guarding import bearing, read_challenges
from support.auth.issuing import Clock, Issuer
from support.gateway.gateways import (
    GATEWAY,
    behind,
    client_of,
    gateway,
    gateway_settings,
    http_side,
    serve_gateway,
    write_config,
)
from support.http.serving import run_app
from support.patience import PATIENCE
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import client, hello, pkg
from support.tables import case
from support.toolkit.mounting import Hearing, app, only, text_of, weather

ACCESS = "mcp_protogen.gateway.access"
AUDIENCE = "http://127.0.0.1/mcp"


async def refuse_to_open() -> Any:
    raise pkg.Disconnected("nothing is there")


def entries_of(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    found = [record for record in caplog.records if record.name == ACCESS]
    return [dict(getattr(record, DETAILS)) for record in found]


async def add_ref(call: pkg.MethodCall, next: pkg.CallNext) -> Any:
    harmless = {"ref": {"type": "ref/prompt", "name": "harmless"}}
    return await next(call.replace(params=call.params.model_copy(update=harmless)))


async def test_access_log_has_each_forwarded_request_and_how_it_ended(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, ACCESS)
    fronts = gateway(behind("here", in_memory(only(weather(OLD)))), behind("gone", refuse_to_open))
    for spoken in (OLD, STATELESS):
        with case(spoken):
            caplog.clear()
            async with client_of(fronts, client(spoken, middleware=(add_ref,))) as one:
                assert await text_of(one, "here_forecast", place="Rome") == "rain in Rome"
                for name in ("here_nothing", "gone_forecast"):
                    with pytest.raises(pkg.McpError):
                        await text_of(one, name)
            entries = entries_of(caplog)
            assert [(entry["item"], entry["outcome"]) for entry in entries] == [
                ("here_forecast", "ok"),
                ("here_nothing", "-32602"),
                ("gone_forecast", "-32603"),
            ]
            first, _, last = entries
            assert first.pop("duration_ms") > 0
            assert first == {
                "client": "Ours",
                "method": "tools/call",
                "server": "here",
                "item": "here_forecast",
                "revision": spoken,
                "server_revision": OLD,
                "outcome": "ok",
            }
            assert last["server"] == "gone" and "server_revision" not in last
            assert "Rome" not in caplog.text


async def test_question_of_a_server_is_no_failure_in_the_access_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, ACCESS)
    for spoken in ERAS:
        for revision in ERAS:
            with case(f"{spoken} to {revision}"):
                caplog.clear()
                fronts = gateway(behind("a", in_memory(only(weather(revision)))))
                async with client_of(fronts, Hearing(spoken).client) as one:
                    assert await text_of(one, "a_age") == "42 years"
                outcomes = [entry["outcome"] for entry in entries_of(caplog)]
                assert outcomes == ["ok"] * (2 if spoken == STATELESS else 1)


async def test_access_log_has_cancelled_requests_and_the_trace_of_the_client(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, ACCESS)
    slow, begun = app(OLD, "slow"), asyncio.Event()

    @slow.tool
    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    trace = "0af7651916cd43dd8448eb211c80319c"

    async def add_trace(call: pkg.MethodCall, next: pkg.CallNext) -> Any:
        return await next(call.with_meta({"traceparent": f"00-{trace}-b7ad6b7169203331-01"}))

    fronts = gateway(behind("slow", in_memory(only(slow))))
    async with client_of(fronts, client(STATELESS, middleware=(add_trace,))) as one:
        call = asyncio.create_task(one.call_tool("slow_wait"))
        await begun.wait()
        call.cancel()
        while not (entries := entries_of(caplog)):
            await asyncio.sleep(0)
    assert [(entry["outcome"], entry["trace_id"]) for entry in entries] == [("cancelled", trace)]


@asynccontextmanager
async def serving_issuer(issuer: Issuer) -> AsyncGenerator[None, None]:
    """Serve the metadata and keys of an issuer, whose URL is set."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        asked = Fetch(url=f"{issuer.url}{scope['path']}")
        fetched = await issuer.fetch(asked)
        fields = [(b"content-type", b"application/json")]
        start = {"type": "http.response.start", "status": fetched.status, "headers": fields}
        await send(start)
        await send({"type": "http.response.body", "body": fetched.body})

    async with run_app(answer, lifespan="off") as port:
        issuer.url = f"http://127.0.0.1:{port}"
        yield


async def test_client_needs_a_token_for_the_audience_and_no_server_sees_it() -> None:
    issuer, upstream, seen = Issuer(clock=Clock(time())), app(OLD, "upstream"), list[str]()

    @upstream.tool
    async def say(session: Session) -> str:
        asked = session.http_request
        assert asked is not None
        seen.extend(f"{name}: {value}" for name, value in asked.headers.items())
        return "said"

    inner = upstream.http()
    async with serving_issuer(issuer), run_app(inner) as port:
        auth = AuthSettings(issuer=issuer.url, audience=AUDIENCE, scopes=frozenset({"use"}))
        opener = pkg.open_http(f"http://127.0.0.1:{port}/mcp")
        settings = gateway_settings(behind("up", opener), auth=auth)
        token = partial(issuer.token, aud=AUDIENCE)
        async with serve_gateway(settings) as site:
            for bearer, status in (
                (None, 401),
                (token(aud="https://other.example/mcp", scope="use"), 401),
                (token(scope="read"), 403),
                (token(scope="use"), 200),
            ):
                with case(status):
                    fields = {} if bearer is None else bearing(bearer)
                    response = await site.post(hello(OLD), fields)
                    assert response.status_code == status
                    if status != 200:
                        (challenge,) = read_challenges(response)
                        assert "http://127.0.0.1/.well-known/oauth-protected-resource" in challenge
            for path in ("/health", "/ready", "/.well-known/oauth-protected-resource/mcp"):
                assert (await site.http.get(path)).status_code == 200
            secret = token(scope="use")
            for spoken in (OLD, STATELESS):
                opened = pkg.connect_http(site.url, client(spoken), headers=bearing(secret))
                async with opened as one:
                    assert await text_of(one, "up_say") == "said"
        await inner.close()
    assert seen and secret not in "\n".join(seen)
    assert not any(line.startswith("authorization") for line in seen)


def test_gateway_without_tokens_serves_this_machine_only(tmp_path: Path) -> None:
    file = write_config(tmp_path, {"a": {"command": "a"}})
    for host in ("127.0.0.1", "::1", "localhost"):
        assert read_settings(file, http_side(host)).auth is None
    for host in ("0.0.0.0", "::", "192.0.2.1", "mcp.example.com"):
        with case(host), pytest.raises(ProblemError) as raised:
            read_settings(file, http_side(host))
        (problem,) = raised.value.problems
        assert (problem.code, problem.place) == ("wrong-usage", str(file))
        assert host in problem.message and "auth of the gateway" in problem.hint


@pytest.mark.skips_time
async def test_gateway_is_ready_once_all_required_servers_are_reached() -> None:
    open_door, reached = in_memory(only(weather(OLD))), asyncio.Event()

    async def open_later() -> Any:
        if not reached.is_set():
            raise pkg.Disconnected("the secret reason")
        return await open_door()

    settings = gateway_settings(
        behind("first", open_later, required=True),
        behind("second", open_door, required=True),
        behind("third", refuse_to_open),
    )
    async with serve_gateway(settings) as site:
        while "second" in (ready := (await site.http.get("/ready")).text):
            await asyncio.sleep(0)
        assert json.loads(ready) == {"status": "waiting for first"}
        assert (await site.http.get("/ready")).status_code == 503
        assert (await site.http.get("/health")).json() == {"status": "ok"}
        # Clients of the others need not wait.
        async with pkg.connect_http(site.url, client(STATELESS)) as one:
            assert await text_of(one, "second_forecast", place="Rome") == "rain in Rome"
        reached.set()
        while (await site.http.get("/ready")).status_code == 503:
            await asyncio.sleep(0.1)
        assert (await site.http.get("/ready")).json() == {"status": "ready"}


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """The spans of the gateway; the servers record none."""
    exporter, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(pkg, "Telemetry", partial(pkg.Telemetry, tracer_provider=tracers))
    yield exporter
    tracers.shutdown()


async def test_telemetry_has_a_span_for_a_request_and_below_it_one_for_the_server(
    spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, ACCESS)
    for upstream, spoken in ((OLD, STATELESS), (STATELESS, OLD), (OLD, OLD)):
        with case((upstream, spoken)):
            received: list[Any] = []

            async def see(
                call: pkg.MethodCall, next: pkg.CallNext, seen: list[Any] = received
            ) -> Any:
                seen.append(call.meta.get("traceparent"))
                return await next(call)

            server = only(weather(upstream))
            server.middleware = (see,)
            fronts = gateway(
                behind("up", in_memory(server)), behind("gone", refuse_to_open), telemetry=True
            )
            spans.clear()
            caplog.clear()
            async with client_of(fronts, client(spoken)) as one:
                await text_of(one, "up_forecast", place="Rome")
            found = [span for span in spans.get_finished_spans() if "forecast" in span.name]
            sent, handled = found
            assert (sent.kind, handled.kind) == (SpanKind.CLIENT, SpanKind.SERVER)
            assert (sent.name, handled.name) == ("tools/call forecast", "tools/call up_forecast")
            assert sent.parent is not None and handled.context is not None
            assert sent.context is not None and sent.parent.span_id == handled.context.span_id
            seen = dict(sent.attributes or {})
            assert (seen["peer.service"], seen["mcp.protocol.version"]) == ("up", upstream)
            parent = f"00-{sent.context.trace_id:032x}-{sent.context.span_id:016x}-"
            assert received[-1].startswith(parent)
            (entry,) = entries_of(caplog)
            assert entry["trace_id"] == f"{sent.context.trace_id:032x}"


PROGRAM = """
import os
from pathlib import Path
from mcp_revisions import v2025_11_25 as mcp

app = mcp.App("process")
Path(os.environ["PID"]).write_text(str(os.getpid()))

@app.tool
def number() -> str:
    return str(os.getpid())

app.run()
"""


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.long
@pytest.mark.parametrize("ending", ["client", signal.SIGTERM, signal.SIGINT])
async def test_gateway_over_stdio_ends_together_with_its_servers(
    tmp_path: Path, ending: str | signal.Signals
) -> None:
    file, pid = tmp_path / "number.py", tmp_path / "pid"
    file.write_text(PROGRAM)
    server = {"command": sys.executable, "args": [str(file)], "env": {"PID": str(pid)}}
    config = write_config(tmp_path, {"a": server, "gone": {"command": "/nowhere/server"}})
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *GATEWAY, str(config), stdin=pipe, stdout=pipe, stderr=pipe
    )
    assert process.stdin is not None and process.stdout is not None
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "a_number"}}
    for message in (hello(OLD), initialized, call):
        process.stdin.write(json.dumps(message).encode() + b"\n")
    try:
        async with asyncio.timeout(PATIENCE):
            first, second = [json.loads(await process.stdout.readline()) for _ in range(2)]
            assert first["result"]["protocolVersion"] == OLD
            assert second["result"]["content"][0]["text"] == pid.read_text()
            if isinstance(ending, signal.Signals):
                process.send_signal(ending)
            else:
                process.stdin.close()
            rest, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert (process.returncode, rest) == (0, b""), errors.decode()
    assert not is_alive(int(pid.read_text()))
