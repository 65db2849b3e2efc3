"""The log of a bridge."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.runtime.core.spec import Role
from mcp_protogen.runtime.transports.recordings import read_recording
from mcp_protogen.servers.bridge.http_side import Address, address
from mcp_protogen.servers.bridge.recorder import Recorder, RecordOptions
from mcp_protogen.servers.bridge.tapped_app import tap_exchange
from mcp_protogen.servers.connect.traffic import read_lines
from support.folders import ROOT, environment
from support.json_types import Json
from support.running import Run
from support.tables import case

NOW = 1_800_000_000.0


def recorder(
    file: Path, limit: int = 10_000, at: float = NOW, redact: tuple[str, ...] = ()
) -> Recorder:
    return Recorder(RecordOptions(file=file, limit=limit, redact=redact), lambda: at)


def lines(file: Path) -> list[Json]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_each_message_is_in_the_file_at_once_in_the_published_format(tmp_path: Path) -> None:
    file = tmp_path / "traffic.jsonl"
    one = recorder(file, redact=("key",))
    one.tap("client")("client", b'{"id": 1, "key": "s"}')
    one.tap("server", "x")("server", b"no JSON with a secret")
    said = lines(file)
    assert said[0] == {
        "traffic": 1,
        "started": "2027-01-15T08:00:00.000+00:00",
        "redacted": ["key"],
    }
    assert said[1:] == [
        {
            "at": 0.0,
            "side": "client",
            "sender": "client",
            "message": {"id": 1, "key": "[redacted]"},
        },
        {"at": 0.0, "side": "server", "connection": "x", "sender": "server", "text": "[redacted]"},
    ]
    schema = json.loads((ROOT / "schema" / "formats" / "traffic.schema.json").read_text())
    validator: Any = Draft202012Validator(schema)
    for line in said:
        validator.validate(line)
    assert not validator.is_valid({"at": 0, "sender": "me", "message": {}})
    assert len(list(read_lines(file))) == 3 and len(read_recording(file).entries) == 1


def test_another_run_goes_on_with_the_same_recording(tmp_path: Path) -> None:
    file = tmp_path / "traffic.jsonl"
    recorder(file).tap("client")("client", b"{}")
    recorder(file, at=NOW + 5).tap("client")("server", b"{}")
    assert [line.get("at") for line in lines(file)] == [None, 0.0, 5.0]
    with pytest.raises(ProblemError, match="another --redact"):
        recorder(file, redact=("key",))
    if sys.platform != "win32":
        assert os.stat(file).st_mode & 0o777 == 0o600


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    for text in ("mine", '{"traffic": 1}', "[]"):
        file.write_text(text)
        with case(text), pytest.raises(ProblemError, match="is not a recording"):
            recorder(file)
        assert file.read_text() == text
    with pytest.raises(ProblemError, match="No such file"):
        recorder(tmp_path / "nowhere" / "traffic.jsonl")


def test_a_full_file_ends_with_a_whole_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "traffic.jsonl"
    tap = recorder(file, limit=300).tap("client")
    for _ in range(100):
        tap("client", b'{"id": 1}')
    assert 200 < file.stat().st_size <= 300
    assert lines(file)[-1]["message"] == {"id": 1}
    assert [record.getMessage() for record in caplog.records] == [
        f"{file} is full: further messages are not recorded"
    ]


def test_addresses_of_requests_are_not_in_the_log_at_any_level() -> None:
    program = """if True:
        from logging import getLogger
        from mcp_protogen.servers.bridge.logs import begin_log
        begin_log("debug", "text")
        for name in ("ours", "httpx2", "httpcore2.http11"):
            getLogger(name).info("https://mcp.example/?key=s3cret")
        """
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert [line.split()[3] for line in ran.stderr.splitlines()] == ["ours:"]


def test_events_that_are_no_messages_are_not_shown() -> None:
    shown = list[tuple[str, bytes]]()

    async def ignore(*_: object) -> Any:
        """Neither side of the exchange does anything."""

    def tap(role: Role, data: bytes) -> None:
        shown.append((role, data))

    async def answer() -> None:
        _, show = tap_exchange({"method": "GET"}, ignore, ignore, tap)
        headers = [(b"content-type", b"text/event-stream")]
        await show({"type": "http.response.start", "headers": headers})
        for said in ("event: endpoint\ndata: /messages", 'data: {"id": 1}', "id: 1\ndata:"):
            await show({"type": "http.response.body", "body": f"{said}\n\n".encode()})

    asyncio.run(answer())
    assert shown == [("server", b'{"id": 1}')]


def test_an_address_is_a_port_with_or_without_a_host() -> None:
    good = {
        "8000": Address("127.0.0.1", 8000),
        "0.0.0.0:80": Address("0.0.0.0", 80),
        "localhost:1": Address("localhost", 1),
        "[::1]:65535": Address("::1", 65535),
    }
    for said, wanted in good.items():
        with case(said):
            assert address(said) == wanted
    for said in ("", "x", "::1:80", "host:", "host:x", "70000", "a:b:1", "-1"):
        with case(said), pytest.raises(ProblemError, match="--http cannot be"):
            address(said)


@pytest.mark.skipif(os.name == "nt", reason="has no modes")
def test_only_its_user_can_read_a_recording_that_was_open_to_others(tmp_path: Path) -> None:
    file, other = tmp_path / "traffic.jsonl", tmp_path / "other"
    recorder(file).close()
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    recorder(file).close()
    assert file.stat().st_mode & 0o777 == 0o600
    other.write_text("mine")
    other.chmod(0o644)
    with pytest.raises(ProblemError, match="bad-recording"):
        recorder(other)
    assert other.stat().st_mode & 0o777 == 0o644


def test_bridge_names_the_line_at_fault_of_a_recording(mcp_gen: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    for text, place in (("{}", f"{broken}:1: "), ('{"traffic": 1}\n[]', f"{broken}:2: ")):
        broken.write_text(text, "utf-8")
        with case(place):
            ran = mcp_gen("bridge", "--replay", str(broken))
            assert ran.code == 2
            assert ran.err.startswith(f"error[bad-recording]: {place}"), ran.err
    ran = mcp_gen("bridge", "--replay", str(tmp_path / "missing.jsonl"))
    assert ran.err.startswith(f"error[bad-recording]: {tmp_path / 'missing.jsonl'}: "), ran.err
