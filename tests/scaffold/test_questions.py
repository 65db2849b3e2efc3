"""The questions of `mcp-gen new` on a terminal, and only there."""

import os
import pty
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Any

import pytest
from support.folders import TESTS

PROGRAM = TESTS / "scaffold" / "programs" / "mcp_gen_little.py"
NEW = ["env", f"PYTHONPATH={TESTS}", sys.executable, str(PROGRAM), "new"]
QUESTIONS = ("kind", "transport", "revisions")


class Terminal:
    """A program on its own terminal, and its output."""

    def __init__(self, process: "subprocess.Popen[Any]", end: int) -> None:
        self.process = process
        self.shown = ""
        self._end = end

    def wait_for(self, text: str, times: int = 1) -> None:
        """Read until `text` appears; fail with the output otherwise."""
        while self.shown.count(text) < times:
            assert self._read(), f"never shown: {text!r}\n{self.shown}"

    def type(self, text: str) -> None:
        """Press keys."""
        self.type_bytes(text.encode())

    def type_bytes(self, data: bytes) -> None:
        """Press keys of a keyboard that is set up for something else."""
        os.write(self._end, data)

    def finish(self) -> int:
        """Read to the end, and give the exit code."""
        while self._read():
            pass
        return self.process.wait(timeout=60)

    def _read(self) -> bool:
        ready, _, _ = select([self._end], [], [], 30)
        assert ready, f"nothing more is shown:\n{self.shown}"
        try:
            data = os.read(self._end, 4096)
        except OSError:  # how Linux reports that the other end is closed
            return False
        self.shown += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)


@contextmanager
def terminal(where: Path, *arguments: str) -> Generator[Terminal]:
    """`mcp-gen new` on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*NEW, *arguments],
        cwd=where,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={
            **os.environ,
            "TERM": "xterm",
            "NO_COLOR": "1",
            # As in most languages; that of C takes anything for text.
            "PYTHONIOENCODING": "utf-8:strict",
        },
    ) as process:
        os.close(theirs)
        try:
            yield Terminal(process, ours)
        finally:
            os.close(ours)
            process.kill()


def test_missing_choices_are_asked_with_defaults(tmp_path: Path) -> None:
    with terminal(tmp_path, "clock") as shown:
        shown.wait_for("kind (server, client, gateway) [server]: ")
        shown.type("Client\n")
        shown.wait_for("transport (stdio, http, both) [stdio]: ")
        shown.type("\n")
        shown.wait_for("revisions, first the one to write in [2025-11-25,2026-07-28,2025-06-18]: ")
        shown.type("2026-07-28\n")
        assert shown.finish() == 0
        assert "clock: a client written in 2026-07-28;" in shown.shown
    assert (tmp_path / "clock" / "src" / "clock" / "client.py").is_file()


def test_given_choices_are_not_asked(tmp_path: Path) -> None:
    with terminal(tmp_path, "clock", "--kind", "server", "--revision", "2025-11-25") as shown:
        shown.wait_for("transport (stdio, http, both) [stdio]: ")
        shown.type("http\n")
        assert shown.finish() == 0
        assert "kind (" not in shown.shown
        assert "revisions, " not in shown.shown
    assert (tmp_path / "clock" / "tests" / "test_http.py").is_file()


def test_an_answer_that_is_none_is_asked_for_again_with_the_reason(tmp_path: Path) -> None:
    with terminal(tmp_path, "clock", "--transport", "stdio") as shown:
        shown.wait_for("[server]: ")
        shown.type("robot\n")
        shown.wait_for("error[wrong-usage]: kind: 'robot' is not one of server, client, gateway")
        shown.wait_for("[server]: ", times=2)
        shown.type("\n")
        shown.wait_for("revisions, ")
        shown.type("2025-11-26\n")
        shown.wait_for("no schema is pinned for '2025-11-26'\n  hint: did you mean 2025-11-25")
        shown.wait_for("revisions, ", times=2)
        shown.type("2025-11-25\n")
        assert shown.finish() == 0


@pytest.mark.parametrize("key", ["\x03", "\x04"], ids=["ctrl-c", "ctrl-d"])
def test_leaving_at_a_question_writes_nothing(key: str, tmp_path: Path) -> None:
    with terminal(tmp_path, "clock") as shown:
        shown.wait_for("[server]: ")
        if key == "\x03":
            os.killpg(shown.process.pid, 2)  # what the terminal does with that key
        else:
            shown.type(key)
        assert shown.finish() == 130
        assert "Traceback" not in shown.shown
    assert [*tmp_path.iterdir()] == []


def test_an_answer_that_is_no_text_is_asked_for_again(tmp_path: Path) -> None:
    with terminal(tmp_path, "clock") as shown:
        shown.wait_for("[server]: ")
        shown.type_bytes(b"\xff\xfe\n")
        shown.wait_for("is not one of server, client, gateway")
        shown.wait_for("[server]: ", times=2)
        shown.type("\x04")
        assert shown.finish() == 130


def test_with_standard_input_closed_nothing_is_asked(tmp_path: Path) -> None:
    command = [*NEW, "clock", "--revision", "2025-11-25"]
    closed = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
    done = subprocess.run(closed, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "clock" / "src" / "clock" / "server.py").is_file()


def test_yes_takes_what_is_usual(tmp_path: Path) -> None:
    with terminal(tmp_path, "clock", "--yes", "--revision", "2025-11-25") as shown:
        assert shown.finish() == 0
        assert not any(f"{question} (" in shown.shown for question in QUESTIONS)
    assert (tmp_path / "clock" / "src" / "clock" / "server.py").is_file()


@pytest.mark.parametrize("redirected", ["stdin", "stdout", "stderr"])
def test_questions_need_terminal_on_all_streams(redirected: str, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    streams: Any = {
        "stdin": theirs,
        "stdout": theirs,
        "stderr": theirs,
        redirected: subprocess.DEVNULL,
    }
    arguments = ["clock", "--revision", "2025-11-25"]
    with subprocess.Popen([*NEW, *arguments], cwd=tmp_path, **streams) as process:
        os.close(theirs)
        shown = Terminal(process, ours)
        try:
            assert shown.finish() == 0
        finally:
            os.close(ours)
            process.kill()
    assert "[server]" not in shown.shown
    assert (tmp_path / "clock" / "src" / "clock" / "server.py").is_file()
