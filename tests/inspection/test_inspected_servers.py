"""Real servers inspected: ours without a finding, a faulty one, hostile ones, a foreign one."""

import asyncio
import gzip
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.runtime.core.errors import ParseError
from mcp_protogen.runtime.transports.base import Transport
from mcp_protogen.servers.connect.authorization import Bearer
from mcp_protogen.servers.connect.named_server import NamedServer
from mcp_protogen.servers.inspect import conversation, http_tap, inspecting, profile, recording
from mcp_protogen.servers.inspect.http_transport import HttpProbing, open_http
from mcp_protogen.servers.inspect.intake import BYTES, LONGEST, MESSAGES, StepIntake
from mcp_protogen.servers.inspect.rules import judge
from mcp_protogen.servers.inspect.server import Server, server_of
from mcp_protogen.servers.inspect.steps import PlanClient, Probe, awaiting
from mcp_protogen.servers.inspect.stream_transport import StreamProbing
from mcp_protogen.servers.inspect.transcript import KILLED, TIMEOUT, Transcript
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28.ext.server_card import ServerCardServer
from mcp_revisions.v2026_07_28.ext.server_card import models as c
from support import folders
from support.examples.ported import load_server, source
from support.http.serving import run_app, serving
from support.inspection import faulty_server
from support.inspection.transcripts import HTTP, SSE
from support.peers.places import PROGRAMS, python_with
from support.revisions import REVISIONS
from support.tables import case

FAULTY = Path(faulty_server.__file__)
PATHS = {"PYTHONPATH": folders.environment()["PYTHONPATH"]}
QUICK = conversation.InspectOptions(timeout=1.0)
AGREED: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "serverInfo": {"name": "made up", "version": "1"},
    },
}
PATIENT = conversation.InspectOptions(timeout=20.0)


def program(*words: str | Path) -> Server:
    return Server(words=(sys.executable, *map(str, words)), env=PATHS)


def find_codes(transcripts: tuple[Transcript, ...]) -> set[tuple[str, str]]:
    return {(judgement.rule.code, judgement.example.item) for judgement in judge(transcripts)}


def transcript_content(transcript: Transcript) -> list[object]:
    """Return the content of a session, in any spelling."""
    return [
        (exchange.probe, exchange.sent_values, exchange.values, exchange.outcome)
        for exchange in transcript.exchanges
    ]


def test_our_example_server_breaks_no_rule(tmp_path: Path) -> None:
    file = tmp_path / "time_server.py"
    file.write_text(source("time_server"), encoding="utf-8")
    revisions = "2025-03-26", "2026-07-28"
    transcripts = inspecting.inspect(program(file), PATIENT, revisions)
    assert find_codes(transcripts) == set()
    seen = profile.profile_of(transcripts)
    assert [attempt.outcome for attempt in seen.spoken] == ["spoken", "spoken"]
    assert (seen.name, len(dict(seen.offers)["tool"])) == ("time", 2)
    recorded = tmp_path / "time.jsonl"
    recorded.write_text("".join(recording.format_lines(transcripts, {"target": "time"})), "utf-8")
    about, read = recording.read(recorded)
    assert about == {"target": "time"}
    assert list(map(transcript_content, read)) == list(map(transcript_content, transcripts))


def test_the_faults_of_a_server_are_found_and_no_others() -> None:
    transcripts = inspecting.inspect(program(FAULTY), PATIENT, ("2025-11-25",))
    assert find_codes(transcripts) == {
        ("not-a-message", "stdio"),
        ("unknown-revision-agreed", "protocolVersion"),
        ("unknown-id", "id 70007"),
        ("answered-notification", "notifications/cancelled"),
        ("answered-notification", "ping"),
        ("invalid-envelope", "JSONRPCResultResponse.id"),
        ("log-undeclared", "notifications/message"),
        ("served-undeclared", "prompts/list"),
        ("served-undeclared", "resources/list"),
        ("tool-name", "Tool.name"),
        ("tool-schema-invalid", "Tool.inputSchema"),
        ("wrong-cursor-code", "tools/list"),
        ("invalid-message", "ListToolsResult.tools.annotations.readOnlyHint"),
        ("invalid-message", "ListToolsResult.tools.inputSchema.required"),
        ("invalid-message", "LoggingMessageNotification.params"),
        ("no-jsonrpc-accepted", "jsonrpc"),
    }


def test_hostile_servers_cost_neither_time_nor_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspecting, "GRACE", 0.2)
    rows = {
        "flood": {"too-much", "unknown-method-sent"},
        "long-line": {"too-much"},
        "pages": {"pages-without-end"},
        "deaf": {"no-answer"},
    }
    for kind, codes in rows.items():
        with case(kind):
            transcripts = inspecting.inspect(program(FAULTY, kind), QUICK, ("2025-11-25",))
            violations = judge(transcripts)
            assert codes & {violation.rule.code for violation in violations}
            steps = [exchange for transcript in transcripts for exchange in transcript.exchanges]
            assert all(len(step.messages) <= MESSAGES + 1 for step in steps)
            # After the beginning, two requests without an answer are enough.
            assert sum(step.outcome == TIMEOUT for step in steps) <= 3


def test_usage_in_place_of_messages_is_a_finding_with_a_quotation() -> None:
    code = "import sys; print('usage: server --stdio', flush=True); sys.stdin.read()"
    written = Server(words=(sys.executable, "-c", code))
    transcripts = inspecting.inspect(written, conversation.InspectOptions(timeout=1.0))
    (found,) = judge(transcripts)
    assert (found.rule.code, found.example.got) == ("not-a-message", "usage: server --stdio")


class SlowProcess:
    """The transport of a process that takes `seconds` to end."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def send(self, messages: Sequence[bytes]) -> None:
        """Take messages."""

    async def receive(self) -> Sequence[bytes]:
        return [b'{"jsonrpc":"2.0","id":1,"result":{}}']

    async def close(self) -> None:
        await asyncio.sleep(self._seconds)


@pytest.mark.skips_time
async def test_process_that_takes_seconds_to_end_is_not_stubborn() -> None:
    ping = Probe(name="ping", make=PlanClient.begin)
    for seconds, outcome in ((6.0, ""), (60.0, KILLED)):
        with case(str(seconds)):

            async def start(seconds: float = seconds) -> Transport:
                return SlowProcess(seconds)

            clock: Any = asyncio.get_running_loop().time
            probing = StreamProbing(start, StepIntake(clock))
            step = awaiting({"jsonrpc": "2.0", "id": 1, "method": "ping"})
            await probing.exchange(ping, step, 1.0)
            ended = await probing.close()
            assert ended is not None and ended.outcome == outcome


def test_a_server_that_says_nothing_is_no_server() -> None:
    with pytest.raises(ProblemError) as caught:
        inspecting.inspect(program(FAULTY, "silent"), conversation.InspectOptions(timeout=0.3))
    assert [problem.code for problem in caught.value.problems] == ["request-timeout"]


def test_server_whose_answers_cannot_be_read_speaks_no_revision() -> None:
    revisions = "2025-11-25", "2026-07-28"
    transcripts = inspecting.inspect(program(FAULTY, "utf-16"), PATIENT, revisions)
    assert find_codes(transcripts) == {("not-utf-8", "stdio")}
    spoken = profile.profile_of(transcripts).spoken
    assert {(row.spoken, row.outcome) for row in spoken} == {
        (False, "not readable: UTF-16; messages must be UTF-8")
    }


def test_the_python_sdk_does_not_serve_batches() -> None:
    words = (str(python_with("mcp-1")), str(PROGRAMS / "mcp1_server.py"))
    transcripts = inspecting.inspect(Server(words=words, env=PATHS), PATIENT, ("2025-03-26",))
    assert ("batch-not-served", "batch") in find_codes(transcripts)
    assert transcripts[-1].is_spoken


async def inspect_app(path: str, app: Any, **chosen: Any) -> tuple[Transcript, ...]:
    """Serve an app over HTTP, and inspect it from another thread."""
    async with serving(app, **chosen) as site:
        server = Server(url=f"http://127.0.0.1:{site.port}{path}")
        return await asyncio.to_thread(inspecting.inspect, server, PATIENT)


@asynccontextmanager
async def answering(respond: Callable[[bytes], bytes]) -> AsyncGenerator[str]:
    """Serve responses to the head of each request; yield the URL."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, _, body = respond(await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n\r\n")
        length = b"\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        writer.write(b"HTTP/1.1 " + head + length + body)
        # A client need not read all of it.
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"


async def quickly(server: Server, revision: str) -> tuple[Transcript, ...]:
    return await asyncio.to_thread(inspecting.inspect, server, QUICK, (revision,))


def always(response: bytes) -> Callable[[bytes], bytes]:
    return lambda asked: response


def answer_to_post(response: bytes) -> Callable[[bytes], bytes]:
    """Answer each POST with a response; refuse to resume streams."""
    return lambda asked: b"405 No" if asked.startswith(b"GET") else response


def strangers(
    seen: list[bytes], challenge: bytes = b'resource_metadata="http://["'
) -> Callable[[bytes], bytes]:
    """Refuse every client with awkward responses.

    HOST in the challenge stands for the host of the request.
    """

    def refuse_request(asked: bytes) -> bytes:
        seen.append(asked)
        host = asked.lower().partition(b"host: ")[2].partition(b"\r\n")[0]
        named = challenge.replace(b"HOST", host)
        return b"401 No\r\nwww-authenticate: Bearer %b\r\nmcp-session-id: \xc3\xa4" % named

    return refuse_request


async def test_requests_are_authorized_and_the_record_does_not_say_how() -> None:
    seen: list[bytes] = []
    async with answering(strangers(seen)) as url:
        server = server_of(NamedServer(name=url, auth=Bearer("s3cret")))
        transcripts = await quickly(server, "2025-11-25")
    assert {finding.rule.code for finding in judge(transcripts)} >= {"resource-metadata"}
    assert len(seen) > 3 and all(b"authorization: Bearer s3cret" in request for request in seen)
    assert "s3cret" not in "".join(recording.format_lines(transcripts, {})) + repr(server)


def test_server_of_a_configuration_is_described_with_its_transport(tmp_path: Path) -> None:
    program, site = {"command": "x", "args": ["y"]}, {"url": "http://127.0.0.1:9/mcp"}
    entries = {"a": program, "b": {**program, "type": "stdio"}, "c": {**site, "type": "sse"}}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {**entries, "d": {**site, "type": "stdio"}}}))
    described = {name: server_of(NamedServer(name=name, config=config)) for name in entries}
    assert described == {
        "a": Server(words=("x", "y")),
        "b": Server(words=("x", "y"), transport="stdio"),
        "c": Server(url=site["url"], transport="sse"),
    }
    with pytest.raises(ProblemError, match="d/type: the type of d must be http or "):
        server_of(NamedServer(name="d", config=config))


class OtherwiseCarded(ServerCardServer, mcp.App):
    """Has a card of another version, at another place."""

    def server_card(self, remote: c.Remote) -> c.ServerCard:
        elsewhere = remote.model_copy(update={"url": "https://elsewhere.example/mcp"})
        return super().server_card(elsewhere).model_copy(update={"version": "2"})


async def test_server_is_held_to_its_card() -> None:
    app = OtherwiseCarded("com.example/x", description="Answers.")
    async with run_app(app.http()) as port:
        transcripts = await quickly(Server(url=f"http://127.0.0.1:{port}/mcp"), "2025-11-25")
    assert {finding.rule.code for finding in judge(transcripts)} == {
        "card-differs",
        "card-endpoint",
    }


async def test_metadata_are_looked_for_where_the_challenge_says() -> None:
    seen: list[bytes] = []
    challenge = b'error="no", Resource_Metadata = "http://HOST/named"'
    async with answering(strangers(seen, challenge)) as url:
        await quickly(Server(url=url), "2025-11-25")
    assert any(request.lower().startswith(b"get /named ") for request in seen)


async def test_a_body_that_is_compressed_twice_is_not_unpacked() -> None:
    packed = gzip.compress(gzip.compress(b"x" * 1_000_000))

    def zip_response(asked: bytes) -> bytes:
        media = b"text/event-stream" if asked.startswith(b"GET") else b"application/json"
        head = b"200 OK\r\ncontent-encoding: gzip, gzip\r\ncontent-type: %b\r\n\r\n" % media
        return head + packed

    async with answering(zip_response) as url:
        transcripts = await quickly(Server(url=url), "2024-11-05")
    assert {transcript.transport for transcript in transcripts} == {HTTP, SSE}
    assert all(
        "compressed more than once" in transcript.exchanges[0].detail for transcript in transcripts
    )


async def test_the_first_event_of_a_stream_shows_whether_it_can_be_resumed_from_there() -> None:
    agreed: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}
    answer = b"data: %b\n\n" % json.dumps({"id": 1, "result": agreed}).encode()
    alone = b"id: a\ndata:\n\n"
    rows = (
        (alone, False),
        (b"retry: 1000\n\n" + alone, False),
        (b"", True),
    )
    for primer, broken in rows:
        with case(str(primer)):
            body = (
                b"200 OK\r\ncontent-type: text/event-stream\r\n\r\n%bretry: 1\nid: b\n" % primer
                + answer
            )
            async with answering(answer_to_post(body)) as url:
                transcripts = await quickly(Server(url=url), "2025-11-25")
            assert ("stream-not-primed" in {code for code, _ in find_codes(transcripts)}) is broken


async def test_client_follows_redirect_to_same_origin_only() -> None:
    moved: list[bytes] = []

    def redirecting(place: bytes) -> Callable[[bytes], bytes]:
        def respond(asked: bytes) -> bytes:
            if asked.startswith(b"POST /mcp "):
                return b"307 Moved\r\nlocation: %b" % place
            moved.append(asked)
            return b"401 No\r\nwww-authenticate: Bearer"

        return respond

    for place, status in ((b"/there", 401), (b"http://127.0.0.1:1/there", 307)):
        with case(place.decode()):
            async with answering(redirecting(place)) as url:
                transcripts = await quickly(Server(url=url), "2025-11-25")
            assert {transcript.beginning.status for transcript in transcripts} == {status}
            assert any(head.startswith(b"POST /there ") for head in moved) is (status == 401)
            moved.clear()


async def test_session_over_streamable_http_does_not_go_on_over_sse() -> None:
    seen: list[bytes] = []

    def respond(asked: bytes) -> bytes:
        seen.append(asked)
        return b"405 No"

    async with answering(respond) as url:
        transcript, *_ = await quickly(Server(url=url), "2025-11-25")
    assert (transcript.beginning.status, transcript.is_spoken) == (405, False)
    assert seen and not any(head.startswith(b"GET") for head in seen)


async def test_body_over_http_is_read_as_clients_read_it() -> None:
    agreed = json.dumps(AGREED)
    rows = (
        (agreed.encode("utf-8-sig"), "byte-order-mark", True),
        (agreed.replace("made up", "\\ud83d").encode(), "lone-surrogate", True),
        (agreed.encode("utf-16"), "not-utf-8", False),
        (agreed.replace('"1"', "NaN").encode(), "not-strict-json", False),
    )
    for body, code, spoken in rows:
        with case(code):
            head = b"200 OK\r\ncontent-type: application/json\r\n\r\n"
            async with answering(always(head + body)) as url:
                transcripts = await quickly(Server(url=url), "2025-11-25")
            assert code in {finding.rule.code for finding in judge(transcripts)}
            assert any(row.spoken for row in profile.profile_of(transcripts).spoken) is spoken


async def test_message_over_http_that_cannot_be_read_ends_the_wait_for_its_id() -> None:
    clock: Any = asyncio.get_running_loop().time
    intake, about = StepIntake(clock), Transcript(revision="2025-11-25", transport=HTTP)
    opener = partial(open_http, Server(url="http://127.0.0.1:1/mcp"))
    probing: Any = HttpProbing(opener, about, intake, 1.0)
    intake.begin(awaiting({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
    async with asyncio.timeout(None) as limit:
        await probing._take(ParseError("not JSON", id=1), limit)
    assert intake.is_complete
    await probing.close()


async def test_body_in_answer_to_end_of_handshake_is_found() -> None:

    def respond(asked: bytes) -> bytes:
        # Later requests carry the header field of the revision, and have no answers of their own.
        status = b"202 Accepted" if b"mcp-protocol-version" in asked.lower() else b"200 OK"
        return status + b"\r\ncontent-type: application/json\r\n\r\n" + json.dumps(AGREED).encode()

    async with answering(respond) as url:
        transcripts = await quickly(Server(url=url), "2025-11-25")
    assert ("notification-body", "notifications/initialized") in find_codes(transcripts)


async def test_answer_over_http_without_end_is_too_much() -> None:
    event = b'data: {"jsonrpc": "2.0", "method": "notifications/none"}\n\n'
    rows = (
        (b"application/json", b" " * (LONGEST + 1)),
        (b"text/event-stream", event * (MESSAGES + 1)),
        (b"text/event-stream", b"data: " + b"x" * LONGEST),
        (b"text/event-stream", (b":" * 1000 + b"\n") * (BYTES // 1000)),
    )
    for media, body in rows:
        with case(f"{media!r} {body[:20]!r}"):
            head = b"200 OK\r\ncontent-type: %b\r\n\r\n" % media
            async with answering(always(head + body)) as url:
                transcripts = await asyncio.to_thread(
                    inspecting.inspect, Server(url=url), PATIENT, ("2025-11-25",)
                )
            assert ("too-much", "open") in find_codes(transcripts)


async def test_answer_over_http_may_be_as_long_as_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = json.dumps(AGREED).encode()
    respond = always(b"200 OK\r\ncontent-type: application/json\r\n\r\n" + body)
    for longest, is_too_much in ((len(body), False), (len(body) - 1, True)):
        monkeypatch.setattr(http_tap, "LONGEST", longest)
        with case(longest):
            async with answering(respond) as url:
                transcripts = await quickly(Server(url=url), "2025-11-25")
            assert (("too-much", "open") in find_codes(transcripts)) is is_too_much


async def test_transports_log_nothing_beside_the_report() -> None:
    head = b"200 OK\r\ncontent-type: application/json\r\n\r\n"
    async with answering(always(head + json.dumps(AGREED).encode("utf-8-sig"))) as url:
        words = "-c", "from mcp_protogen.cli import main; main()", "inspect", url, "--timeout", "1"
        process = await asyncio.create_subprocess_exec(
            sys.executable, *words, stdout=PIPE, stderr=PIPE, env={**os.environ, **PATHS}
        )
        out, err = await process.communicate()
    assert (b"byte-order-mark" in out, err) == (True, b"")


async def test_bytes_in_stream_that_are_not_utf_8_are_found() -> None:
    for text, codes in ((b"caf\xe9", {"not-utf-8"}), ("café".encode(), set[str]())):
        with case(str(text)):
            event = b"data: %b\n\n" % json.dumps(AGREED).encode().replace(b"made up", text)
            head = b"200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
            async with answering(answer_to_post(head + event)) as url:
                transcripts = await quickly(Server(url=url), "2025-11-25")
            assert {code for code, _ in find_codes(transcripts)} & {"not-utf-8"} == codes
            assert transcripts[-1].is_spoken


async def test_messages_on_stream_of_server_are_judged() -> None:
    pushed = b'data: {"jsonrpc": "2.0", "method": "notifications/made-up"}\n\n'
    asked_for = {"jsonrpc": "2.0", "id": 9, "method": "roots/list"}
    stream = pushed + b"data: %b\n\n" % json.dumps(asked_for).encode()

    def respond(asked: bytes) -> bytes:
        if asked.startswith(b"GET"):
            return b"200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + stream
        return b"200 OK\r\ncontent-type: application/json\r\n\r\n" + json.dumps(AGREED).encode()

    async with answering(respond) as url:
        transcripts = await quickly(Server(url=url), "2025-11-25")
    assert ("client-capability-assumed", "roots/list") in find_codes(transcripts)
    first, *_ = (transcript for transcript in transcripts if transcript.is_spoken)
    assert [exchange.status for exchange in first.all("GET")] == [200]


def test_our_example_server_breaks_no_rule_over_http() -> None:
    app = load_server("time_server").app
    transcripts = asyncio.run(inspect_app("/mcp", app))
    assert find_codes(transcripts) == set()
    seen = profile.profile_of(transcripts)
    assert {attempt.revision for attempt in seen.spoken if attempt.spoken} == set(REVISIONS)
    assert seen.unknown == "2025-11-25"


def test_http_with_sse_is_spoken_to_where_it_is() -> None:
    app = load_server("time_server").app
    transcripts = asyncio.run(inspect_app("/sse", app, old_sse=True))
    assert find_codes(transcripts) == set()
    spoken = [attempt for attempt in profile.profile_of(transcripts).spoken if attempt.spoken]
    assert [(attempt.revision, attempt.transport) for attempt in spoken] == [
        ("2024-11-05", "HTTP+SSE")
    ]
