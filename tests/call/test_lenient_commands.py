"""Commands at a server that breaks the schema: they do their best, and warn."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.folders import TESTS
from support.running import Run
from support.sessions.talking import hello, notification, request
from support.tables import case

SERVER = TESTS / "support" / "calling" / "broken.py"
SERVER_COMMAND = f"{sys.executable} {SERVER}"

NAMED = (
    "#/result/serverInfo: initialize: it is only displayed, and breaks the schema at '/version'",
    "#/result/capabilities/logging: initialize: null is not allowed here and counts as absent",
)
TOOLS = (
    "#/result/tools/0/title: tools/list: null is not allowed here and counts as absent",
    "#/result/tools/1: tools/list: 'other' is left out: it breaks the schema at '/inputSchema'",
)
ENDS: dict[str, tuple[list[str], str, tuple[str, ...]]] = {
    "list": (["list", SERVER_COMMAND, "tools"], "broken unknown, revision 2025-11-25\n", TOOLS),
    "list resources": (
        ["list", SERVER_COMMAND, "resources"],
        "  memo://a  a\n",
        ("#/result/resources/1: resources/list: 'memo://b' is left out",),
    ),
    "list templates": (
        ["list", SERVER_COMMAND, "templates"],
        "0 templates\n",
        ("#/result/resourceTemplates/0: resources/templates/list: an entry is left out",),
    ),
    "call": (
        ["call", SERVER_COMMAND, "echo"],
        "hi\n",
        (*TOOLS, "#/result/isError: tools/call: null"),
    ),
    "read": (["read", SERVER_COMMAND, "memo://a"], "milk", ("#/result/contents/0/mimeType",)),
    "prompt": (
        ["prompt", SERVER_COMMAND, "greet"],
        "user:\n  hi\n",
        ("#/result/prompts/0/arguments",),
    ),
}


def test_commands_mend_what_breaks_the_schema_and_warn(mcp_gen: Run) -> None:
    for name, (line, out, warnings) in ENDS.items():
        with case(name):
            ran = mcp_gen(*line)
            assert ran.code == 0 and out in ran.out, ran
            assert ran.err.startswith("warning[invalid-response]: broken.py: ")
            assert "  hint: mcp-gen inspect shows where the server breaks the protocol\n" in ran.err
            for warning in (*NAMED, *warnings):
                assert warning in ran.err, ran.err
            assert "mcp_protogen" not in ran.err and "[warning]" not in ran.err


def test_warnings_about_what_is_left_out_come_first(mcp_gen: Run) -> None:
    before, _, after = mcp_gen("list", SERVER_COMMAND).err.partition("counts as absent")
    assert before.count("is left out") == 4 and "/result/serverInfo" in before
    assert "is left out" not in after


def test_read_ends_with_2_and_writes_nothing_if_a_content_is_left_out(mcp_gen: Run) -> None:
    ran = mcp_gen("read", SERVER_COMMAND, "memo://null")
    assert (ran.code, ran.out) == (2, "")
    why = "#/result/contents/1: resources/read: 'memo://null' is left out"
    assert f"error[invalid-response]: broken.py{why}" in ran.err


def test_list_for_programs_has_the_rest(mcp_gen: Run) -> None:
    ran = mcp_gen("list", SERVER_COMMAND, "--format", "json")
    listed = json.loads(ran.out)
    assert listed["tools"] == [{"name": "echo", "inputSchema": {"type": "object"}}]
    assert (
        listed["prompts"] == [{"name": "greet"}, {"name": "show"}]
        and listed["resourceTemplates"] == []
    )
    assert listed["server"] == {"name": "broken", "version": "unknown"}


def test_client_writes_a_module_for_the_rest(
    mcp_gen: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ("client", SERVER_COMMAND, "--out", "made.py", "--package", "mcp_revisions")
    ran = mcp_gen(*command, "--format", "json")
    warned = json.loads(ran.out)["problems"]
    assert {problem["level"] for problem in warned} == {"warning"}
    assert "/result/tools/1" in {problem["pointer"] for problem in warned}
    module = (tmp_path / "made.py").read_text()
    assert "def echo(" in module and "other" not in module
    for again in (mcp_gen(*command), mcp_gen(*command, "--check")):
        assert again.code == 0 and "'other' is left out" in again.err


def test_bridge_passes_on_the_rest_and_logs_what_it_mended() -> None:
    sent = [
        hello("2025-03-26"),
        notification("notifications/initialized"),
        request("tools/call", 2, name="echo", _meta={"progressToken": "t"}),
    ]
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "mcp_protogen", "bridge", "--to", SERVER_COMMAND),
            *("--server-revision", "2025-11-25", "--log-format", "json"),
        ],
        input="".join(f"{json.dumps(message)}\n" for message in sent),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    # None of these is delayed.
    assert [answer["params"]["progress"] for answer in answers[1:-1]] == [1, 2, 3]
    assert answers[-1]["result"] == {"content": [{"type": "text", "text": "hi"}]}
    losses = [json.loads(line).get("loss", {}) for line in ran.stderr.splitlines()]
    assert "/result/content/0/annotations" in {loss.get("pointer") for loss in losses}


def test_bridge_to_a_program_that_cannot_start_says_so() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "mcp_protogen", "bridge", "--to", "no-such-program"],
        input=f"{json.dumps(hello('2025-11-25'))}\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 2
    assert "error[no-connection]: no-such-program: cannot start no-such-program" in ran.stderr
