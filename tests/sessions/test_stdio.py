"""A server over stdio, as a process."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest
from support.folders import GENERATED
from support.json_types import JsonObject
from support.sessions.talking import INITIALIZED, hello, notification, request
from support.tables import case

PROGRAM = """
    import asyncio, os, subprocess, sys
    from mcp_revisions import Options, run_stdio
    from mcp_revisions import v2025_11_25 as mcp
    from mcp_revisions.v2025_11_25 import models as m

    class Noisy(mcp.Server):
        async def on_call_tool(self, session, params):
            match params.name:
                case "noise":
                    print("printed")
                    sys.stdout.flush()
                    os.write(1, b"written\\n")
                    subprocess.run(["echo", "echoed"], check=True)
                case "read":
                    return m.CallToolResult(content=[m.TextContent(text=sys.stdin.read())])
                case "big":
                    text = "x" * params.arguments["size"]
                    return m.CallToolResult(content=[m.TextContent(text=text)])
                case "slow":
                    await session.progress(1)
                    await asyncio.sleep(params.arguments["seconds"])
            return m.CallToolResult(content=[m.TextContent(text="ä")])

    print("before", flush=False)
    run_stdio(Noisy(), options=Options(drain=float(sys.argv[1])), limit=int(sys.argv[2]))
    print("after")
"""


def start(
    drain: float = 3, limit: int = 10_000, program: str = PROGRAM, **options: Any
) -> subprocess.Popen[bytes]:
    """A server process with pipes."""
    command = [sys.executable, "-X", "dev", "-c", textwrap.dedent(program), str(drain), str(limit)]
    environment = {**os.environ, "PYTHONPATH": str(GENERATED)}
    # Earlier output is still in a buffer then, as by default.
    environment.pop("PYTHONUNBUFFERED", None)
    pipe = subprocess.PIPE
    streams: JsonObject = {"stdin": pipe, "stdout": pipe, "stderr": pipe, **options}
    return cast(subprocess.Popen[bytes], subprocess.Popen(command, env=environment, **streams))


def lines(*messages: object) -> bytes:
    """Return messages as lines."""
    encoded = [
        message if isinstance(message, bytes) else json.dumps(message).encode()
        for message in messages
    ]
    return b"".join(line + b"\n" for line in encoded)


def call(id: object, name: str, **arguments: Any) -> Any:
    return request("tools/call", id, name=name, arguments=arguments)


def text_of(answer: Any) -> Any:
    return answer["result"]["content"][0]["text"]


OPENING = (hello(), INITIALIZED)

Session: TypeAlias = tuple[dict[Any, Any], list[int], str]
"""Answers by id, error codes without an id, and what is on standard error."""


def talk(*messages: object, **options: Any) -> tuple[list[Any], str]:
    """Send messages to a server and close; return its answers and its other output."""
    process = start(**options)
    out, err = process.communicate(lines(*OPENING, *messages), timeout=60)
    assert process.returncode == 0, err
    written = out.decode().splitlines()
    # Output after the end is up to the program.
    assert written.pop() == "after"
    return [json.loads(line) for line in written], err.decode()


LINE_ENDS = {"ü": b"", "ö": b"\r", "é": b"\n", "å": b" "}
TOO_LONG = call("long", "x" * 20_000)
GARBAGE = (b"\x00\xff\xfe", b"not json", b'"text"', b'{"jsonrpc":"2.0"}', b"[" * 1000)


@pytest.fixture(scope="module")
def session() -> Session:
    """Talk once, about all that disturbs no other message."""
    utf8 = [json.dumps(call(id, "x")).encode() + end for id, end in LINE_ENDS.items()]
    last = call("slow", "slow", seconds=0.2), call("big", "big", size=300_000)
    answers, errors = talk(
        call("noise", "noise"), call("read", "read"), *utf8, TOO_LONG, *GARBAGE, *last
    )
    codes = [answer["error"]["code"] for answer in answers if answer.get("id") is None]
    return {answer["id"]: answer for answer in answers if "id" in answer}, codes, errors


@pytest.mark.shows("S0-32", "S0-35", "S3-07")
def test_S0_35_S3_07_nothing_but_messages_is_on_standard_output(session: Session) -> None:
    answers, _, errors = session
    assert "result" in answers["noise"]
    for noise in ("before", "printed", "written", "echoed"):
        assert noise in errors


def test_handlers_cannot_read_what_is_meant_for_the_server(session: Session) -> None:
    assert text_of(session[0]["read"]) == ""


@pytest.mark.shows("S0-33", "S3-01")
def test_S0_33_S3_01_messages_are_lines_of_utf8(session: Session) -> None:
    assert {text_of(session[0][id]) for id in LINE_ENDS} == {"ä"}


def test_a_line_that_is_too_long_gets_an_error_and_the_session_goes_on(session: Session) -> None:
    error = session[0]["long"]["error"]
    assert error["code"] == -32700 and "10000 bytes" in error["message"]


def test_garbage_gets_an_error_and_the_session_goes_on(session: Session) -> None:
    assert sorted(session[1]) == [-32700, -32700, -32700, -32600, -32600]


def test_requests_in_flight_at_end_of_input_are_answered(session: Session) -> None:
    assert "result" in session[0]["slow"] and "result" in session[0]["big"]


def test_slow_request_is_answered_with_error() -> None:
    answers, _ = talk(call(1, "slow", seconds=60), drain=0.1)
    assert answers[1]["error"]["code"] == -32603


def test_a_signal_ends_it_cleanly() -> None:
    for number in [signal.SIGTERM, signal.SIGINT]:
        with case(number):
            process = start(drain=0.2)
            assert process.stdin is not None
            assert process.stdout is not None
            slow = call(1, "slow", seconds=60)
            slow["params"]["_meta"] = {"progressToken": "slow"}
            process.stdin.write(lines(*OPENING, slow))
            process.stdin.flush()
            # It learns the revision, and that the tool has begun.
            said = [json.loads(process.stdout.readline()) for _ in range(2)]
            assert said[1]["method"] == "notifications/progress"
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            assert process.returncode == 0
            assert json.loads(out.splitlines()[0])["error"]["code"] == -32603
            assert b"Traceback" not in err


def test_a_client_that_stops_reading_ends_it_cleanly() -> None:
    process = start(drain=0.2)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stdin, process.stderr:
        process.stdin.write(lines(*OPENING, call(1, "big", size=100_000)))
        process.stdin.flush()
        errors = process.stderr.read()
        # Python itself complains that the program's last words were not heard.
        assert process.wait(timeout=60) == 120
    assert b"exception was never retrieved" not in errors
    assert errors.count(b"BrokenPipeError") == 1


def test_input_and_output_may_be_files(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(lines(*OPENING, call(1, "x")))
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as sink:
        process = start(stdin=source, stdout=sink)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    answers = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()[:-1]]
    assert [answer["id"] for answer in answers] == [0, 1]


def test_input_may_be_nothing() -> None:
    process = start(stdin=subprocess.DEVNULL)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, b"after\n"), err


def test_closed_standard_streams_are_not_replaced_by_files() -> None:
    started = [
        start(preexec_fn=partial(os.closerange, *closed)) for closed in ((0, 1), (1, 2), (0, 3))
    ]
    for process in started:
        _, err = process.communicate(lines(*OPENING), timeout=60)
        assert process.returncode == 0, err


def test_a_shared_descriptor_blocks_again_afterwards() -> None:
    reading, writing = os.pipe()
    try:
        process = start(stdin=subprocess.DEVNULL, stdout=writing)
        process.communicate(timeout=60)
        assert os.get_blocking(writing)
    finally:
        os.close(reading)
        os.close(writing)


def test_a_caller_hears_of_its_own_cancellation() -> None:
    program = """
        import asyncio
        from mcp_revisions import serve_stdio
        from mcp_revisions import v2025_11_25 as mcp

        async def main():
            serving = asyncio.create_task(serve_stdio(mcp.Server))
            await asyncio.sleep(0.1)
            serving.cancel()
            await asyncio.wait([serving])
            print(serving.cancelled())

        asyncio.run(main())
    """
    reading, writing = os.pipe()
    try:
        out, _ = start(program=program, stdin=reading).communicate(timeout=60)
    finally:
        os.close(reading)
        os.close(writing)
    assert out == b"True\n"


def test_descriptors_are_given_back_when_there_is_nothing_to_serve() -> None:
    program = "from mcp_revisions import run_stdio\ntry: run_stdio([])\nexcept ValueError: print(1)"
    out, _ = start(program=program, stdin=subprocess.DEVNULL).communicate(timeout=60)
    assert out == b"1\n"


def test_the_last_line_needs_no_newline() -> None:
    process = start()
    data = lines(*OPENING, call(1, "x")).rstrip(b"\n")
    out, _ = process.communicate(data, timeout=60)
    assert [json.loads(line)["id"] for line in out.splitlines()[:-1]] == [0, 1]


def test_messages_that_come_in_pieces_are_read() -> None:
    process = start()
    assert process.stdin is not None
    assert process.stdout is not None
    for byte in lines(hello()):
        process.stdin.write(bytes([byte]))
        process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 0
    process.communicate(lines(notification("notifications/initialized")), timeout=60)
    assert process.returncode == 0
