"""Commands that call a server: their output and exit codes."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pytest
from mcp_protogen.cli.terminal import Terminal
from mcp_protogen.servers.bridge import logs
from mcp_protogen.servers.call import questions
from mcp_protogen.servers.connect.named_server import NamedServer
from mcp_revisions import Opener, Options, TaskOptions, Transport, in_memory
from support.calling import broken, servers
from support.running import Ran, Run
from support.tables import case

SHOP = "shop.py"
LISTED = """\
shop 1.2, revision 2026-07-28
  Call whatever you like.

10 tools:
  greet(name: str = "world", times: int = 1)
      Say hello.
      [read-only]
"""
ENDS: dict[str, tuple[list[str], int, str, str]] = {
    "a tool": (["call", SHOP, "greet", "name=Ada", "times=2"], 0, "Hello, Ada Hello, Ada\n", ""),
    "an object": (["call", SHOP, "greet", '{"name": "Bo"}'], 0, "Hello, Bo\n", ""),
    "a tool that fails": (["call", SHOP, "fail"], 1, "", "no more tea\n"),
    "an error": (
        ["call", SHOP, "refuse"],
        1,
        "",
        "error[error-response]: shop.py: closed (code -32000)",
    ),
    "no such tool": (["call", SHOP, "gret"], 2, "", "hint: did you mean greet?"),
    "no such argument": (
        ["call", SHOP, "greet", "nme=x"],
        2,
        "",
        "hint: did you mean name or times?",
    ),
    "a wrong type": (
        ["call", SHOP, "greet", "times=x"],
        2,
        "",
        "greet/inputSchema#/properties/times",
    ),
    "unchecked": (["call", SHOP, "greet", 'times:="x"', "--no-check"], 1, "", "times"),
    "unlisted": (["call", SHOP, "none", "--no-check"], 1, "", "error[error-response]"),
    "no revision": (["call", SHOP, "greet", "--revision", "2025-11-26"], 2, "", "did you mean"),
    "nobody to ask": (["call", SHOP, "choose"], 1, "", "give --elicitation with --answer"),
    "an answer": (["call", SHOP, "choose", "--answer", "colour=red"], 0, "red 3\n", ""),
    "an answer that lacks": (
        ["call", SHOP, "choose", "--answer", "size=2"],
        1,
        "cancelled\n",
        "=…",
    ),
    "a wrong answer": (
        ["call", SHOP, "choose", "--answer", "colour=blue"],
        *(1, "cancelled\n", "was cancelled: --answer colour: 'blue' is not one of the choices"),
    ),
    "a resource": (["read", SHOP, "memo://today"], 0, "buy milk", ""),
    "a template": (["read", SHOP, "memo://{day}/list", "day=1 May"], 0, "nothing on 1 May", ""),
    "a template without": (["read", SHOP, "memo://{day}/list"], 2, "", "argument day is missing"),
    "a template with more": (
        ["read", SHOP, "memo://{day}/list", "dy=1"],
        2,
        "",
        "did you mean day?",
    ),
    "no resource": (["read", SHOP, "memo://gone"], 1, "", "error[error-response]"),
    "a prompt": (["prompt", SHOP, "invite", "guest=Bo"], 0, "user:\n  Write to Bo\n", ""),
    "no such prompt": (["prompt", SHOP, "invit"], 2, "", "hint: did you mean invite?"),
    "no guest": (["prompt", SHOP, "invite"], 2, "", "invite: the argument guest is missing"),
    "no kind": (["list", SHOP, "toys"], 2, "", "toys"),
}


def test_commands_end_as_they_say(shop: Run) -> None:
    for name, (line, code, out, err) in ENDS.items():
        with case(name):
            ran = shop(*line)
            assert (ran.code, ran.out) == (code, out), ran
            assert err in ran.err if err else ran.err == ""


def test_end_of_standard_error_is_shown_if_something_fails(
    mcp_gen: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opener(server: NamedServer) -> Opener:
        open, write = in_memory(servers.new_server()), server.stderr
        assert callable(write)

        async def start() -> Transport:
            for number in range(25):
                write(f"line {number}")
            return await open()

        return start

    monkeypatch.setattr(NamedServer, "opener", opener)
    last = "".join(f"[stderr] line {number}\n" for number in range(5, 25))
    refused = "error[error-response]: shop.py: closed (code -32000)\n"
    assert mcp_gen("call", SHOP, "fail") == Ran(1, "", f"no more tea\n{last}")
    assert mcp_gen("call", SHOP, "refuse") == Ran(1, "", refused + last)
    assert mcp_gen("read", SHOP, "memo://gone").err.endswith(last)
    assert mcp_gen("call", SHOP, "greet").err == mcp_gen("list", SHOP).err == ""
    live = mcp_gen("call", SHOP, "fail", "--log-level", "debug").err
    assert live.count("line 24") == live.count("line 0") == 1


def test_standard_error_of_a_server_that_ends_is_shown_once(tmp_path: Path, mcp_gen: Run) -> None:
    file = tmp_path / "server.py"
    file.write_text("def f(:")
    ran = mcp_gen("list", str(file))
    assert ran.code == 2 and ran.err.count("SyntaxError: invalid syntax") == 1


def test_invalid_arguments_are_not_sent(shop: Run) -> None:
    assert shop("call", SHOP, "order", "kind=milk", "sizes=1").code == 2
    assert shop("call", SHOP, "order", "kind=tea", "sizes=1", "sizes=2").out == (
        '{\n  "kind": "tea",\n  "sizes": [\n    1,\n    2\n  ]\n}\n'
    )


def test_a_server_is_listed_for_people(shop: Run) -> None:
    ran = shop("list", SHOP)
    assert ran.code == 0 and ran.out.startswith(LISTED)
    assert '  order(kind: "tea" | "coffee", sizes: list[int])\n' in ran.out
    assert "\n1 prompt:\n  invite(guest)\n      Invite somebody.\n" in ran.out
    assert "\n2 resources:\n  memo://today  today" in ran.out
    assert "\n1 template:\n  memo://{day}/list  day" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 100
    assert "tools" not in shop("list", SHOP, "prompts").out


def test_a_server_is_listed_for_programs(shop: Run) -> None:
    listed = json.loads(shop("list", SHOP, "--format", "json", "--revision", "2025-06-18").out)
    assert listed["revision"] == "2025-06-18" and listed["server"]["name"] == "shop"
    assert listed["tools"][0]["annotations"] == {"readOnlyHint": True}
    assert {*listed} == {
        *("revision", "server", "capabilities", "instructions"),
        *("tools", "prompts", "resources", "resourceTemplates"),
    }
    assert [*json.loads(shop("list", SHOP, "tools", "--format", "json").out)][-1] == "tools"


def test_a_result_is_shown_as_the_server_sent_it(shop: Run) -> None:
    as_sent = ("--format", "json")
    ran = shop("call", SHOP, "greet", *as_sent)
    # The earlier name of the option stays for a release.
    assert shop("call", SHOP, "greet", "--json") == ran
    assert json.loads(ran.out)["content"] == [{"type": "text", "text": "Hello, world"}]
    assert json.loads(shop("call", SHOP, "fail", *as_sent).out)["isError"] is True
    assert json.loads(shop("read", SHOP, "memo://today", *as_sent).out)["contents"][0]["text"]
    assert json.loads(shop("prompt", SHOP, "invite", "guest=Bo", *as_sent).out)["messages"]


def test_every_revision_is_spoken_by_its_own_client(shop: Run) -> None:
    for revision in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"):
        with case(revision):
            chosen = ("--revision", revision)
            assert shop("call", SHOP, "greet", *chosen).out == "Hello, world\n"
            assert f"revision {revision}\n" in shop("list", SHOP, "tools", *chosen).out
            roots = shop("call", SHOP, "where", "--root", ".", *chosen)
            assert roots.out == f"{Path.cwd().as_uri()}\n"
            if revision >= "2025-06-18":
                answered = shop("call", SHOP, "choose", "--answer", "colour=green", *chosen)
                assert answered.out == "green 3\n"


def test_log_entries_are_shown_from_a_level_on(shop: Run) -> None:
    for revision in ("2025-11-25", "2026-07-28"):
        with case(revision):
            line = ("call", SHOP, "dig", "--revision", revision)
            assert shop(*line, "--log-level", "warning").err == "[warning] rock ahead\n"
            assert shop(*line, "--log-level", "error") == Ran(0, "dug\n", "")


def test_no_terminal_sees_what_a_server_wants_it_to_do(shop: Run) -> None:
    ran = shop("call", SHOP, "shout")
    assert ran.out == "\\u001b]0;owned\\u0007 \\u001b[2J\n"
    assert json.loads(shop("call", SHOP, "shout", "--format", "json").out)["content"][0][
        "text"
    ] == (servers.HOSTILE)


def test_bytes_go_to_stdout_or_into_a_folder(shop: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    written = TextIOWrapper(BytesIO())
    monkeypatch.setattr("sys.stdout", written)
    assert shop("read", SHOP, "memo://logo").code == 0
    assert written.buffer.getvalue() == b"\x89PNG"
    shop("read", SHOP, "memo://logo", "--save", "out")
    assert Path("out/logo.png").read_bytes() == b"\x89PNG"


def test_broken_base64_is_an_error_and_nothing_is_written_for_it(mcp_gen: Run) -> None:
    server = (broken.__file__, "--revision", "2025-11-25")
    for line in (
        ["read", *server, "memo://logo"],
        ["read", *server, "memo://logo", "--save", "out"],
        ["call", *server, "draw", "--no-check", "--save", "out"],
        ["prompt", *server, "show", "--save", "out"],
    ):
        with case(line):
            ran = mcp_gen(*line)
            assert (ran.code, ran.out) == (2, ""), ran
            assert "error[invalid-response]" in ran.err and "is not in base64" in ran.err
            assert not Path("out").exists()
    described = mcp_gen("call", *server, "draw", "--no-check")
    assert (described.code, described.out) == (0, "[image image/png, not in base64]\n")


def test_call_without_check_needs_no_list_and_no_capability(mcp_gen: Run) -> None:
    program = f"{sys.executable} {broken.__file__} bare"
    line = ("call", program, "echo", "text=5", "--revision", "2025-11-25")
    assert mcp_gen(*line, "--no-check") == Ran(0, '{"text": "5"}\n', "")
    assert mcp_gen(*line).code == 2


def test_arguments_may_come_from_standard_input(shop: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO('{"name": "Cy"}'))
    assert shop("call", SHOP, "greet", "-").out == "Hello, Cy\n"
    monkeypatch.setattr(sys, "stdin", StringIO("[]"))
    ran = shop("call", SHOP, "greet", "-")
    assert ran.code == 2 and "the arguments are not a JSON object" in ran.err


def test_an_interrupted_call_is_cancelled_at_the_server(
    shop: Run, interruptible: Callable[[], None]
) -> None:
    for revision in ("2025-11-25", "2026-07-28"):
        with case(revision):
            servers.cancelled.clear()
            assert shop("call", SHOP, "wait", "--revision", revision) == Ran(130, "", "")
            assert servers.cancelled == ["wait"]
            interruptible()


def test_an_interruption_before_anything_is_done_is_one_too(
    shop: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(work: Coroutine[None, None, None]) -> None:
        work.close()
        raise asyncio.CancelledError

    def leave_unchanged(*_: object) -> None:
        """Leave logs and signals of the tests alone."""

    monkeypatch.setattr(asyncio, "run", interrupt)
    monkeypatch.setattr(logs, "begin_log", leave_unchanged)
    monkeypatch.setattr(signal, "signal", leave_unchanged)
    assert shop("call", SHOP, "greet") == Ran(130, "", "")
    assert shop("bridge", "--to", SHOP) == Ran(0, "", "")


def test_a_page_has_to_be_visited_before_a_call(shop: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    answers = ["y", ""]
    line = ("call", SHOP, "pay", "--revision", "2025-11-25")

    async def read_line(terminal: Terminal, prompt: str) -> str:
        return answers.pop(0)

    def open_page(url: str) -> bool:
        opened.append(url)
        return True

    assert "error[error-response]: shop.py: sign in first" in shop(*line).err
    monkeypatch.setattr(Terminal, "can_ask", True)
    monkeypatch.setattr(Terminal, "read_line", read_line)
    monkeypatch.setattr(questions, "_open_page", open_page)
    ran = shop(*line)
    assert (ran.code, ran.out, opened) == (0, "paid\n", [servers.PAGE])
    assert "It wants to open a page at bank.example:" in ran.err
    answers.append("n")
    assert shop(*line).code == 1 and opened == [servers.PAGE]


def test_tasks_of_both_kinds_are_waited_for(shop: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    statuses: list[str] = []
    sent: list[bytes] = []
    interrupting = False

    at_once = False

    def tap(sender: str, message: bytes) -> None:
        sent.append(message)
        if at_once and b'"tools/call"' in message:
            os.kill(os.getpid(), signal.SIGINT)

    def opener(server: NamedServer) -> object:
        options = Options(tasks=TaskOptions(poll_interval=0.05))
        return in_memory(servers.new_task_server(), options=options, tap=tap)

    def show_status(terminal: Terminal, text: str) -> None:
        statuses.append(text)
        if interrupting:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(NamedServer, "opener", opener)
    monkeypatch.setattr(Terminal, "show_status", show_status)
    for line in (["--revision", "2026-07-28"], ["--revision", "2025-11-25", "--as-task"]):
        with case(line):
            statuses.clear()
            ran = shop("call", SHOP, "bake", "count=2", "--answer", "colour=red", *line)
            assert (ran.code, ran.out) == (0, "2 accepted\n"), ran
            assert statuses[-1].startswith("completed")
            servers.cancelled.clear()
            interrupting = True
            assert shop("call", SHOP, "burn", *line).code == 130
            interrupting = False
            assert servers.cancelled == ["burn"] and statuses[-1] == "working"
            assert any(b'"tasks/cancel"' in message for message in sent)
            sent.clear()
            at_once = True
            assert shop("call", SHOP, "burn", *line).code == 130
            at_once = False
            assert any(b'"tasks/cancel"' in message for message in sent), "before it was known"
            assert servers.cancelled == ["burn", "burn"]
            sent.clear()
    ran = shop("call", SHOP, "bake", "--as-task", "--revision", "2025-06-18")
    assert ran.code == 2 and "tasks do not exist in revision 2025-06-18" in ran.err


def test_a_call_that_takes_too_long_is_given_up(shop: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_now(pid: int, signal: int) -> None:
        """Kill nothing."""

    monkeypatch.setattr("os.kill", not_now)
    servers.cancelled.clear()
    ran = shop("call", SHOP, "wait", "--timeout", "0.2")
    assert ran.code == 2
    assert "error[request-timeout]: shop.py: tools/call was not answered within 0.2 s" in ran.err
    assert servers.cancelled == ["wait"]


def test_a_server_that_cannot_be_reached_is_named_without_its_secrets(mcp_gen: Run) -> None:
    for server, place in (
        ("https://user:secret@127.0.0.1:1/mcp?token=secret", "https://127.0.0.1:1/mcp"),
        ("gone --token secret", "gone"),
        ("python3 gone.py secret", "gone.py"),
        ("python3 x.js secret", "x.js"),
    ):
        with case(server):
            assert NamedServer(name=server).safe_text == place
    for server in ("https://user:secret@127.0.0.1:1/mcp?token=secret", "gone --token secret"):
        ran = (
            mcp_gen("list", server, "--auth", "none") if "//" in server else mcp_gen("list", server)
        )
        assert ran.code == 2 and "error[no-" in ran.err and "secret" not in ran.err, ran
