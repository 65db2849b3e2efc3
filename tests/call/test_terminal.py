"""Questions and progress at a terminal, played by a pseudo-terminal."""

import sys
from pathlib import Path
from typing import Final

import pytest
from mcp_protogen.cli import terminal
from mcp_protogen.runtime.core.options import Progress
from support.calling.foreign_server import CODES
from support.calling.terminals import play_script
from support.folders import TESTS, environment

SERVER: Final = TESTS / "support" / "calling" / "servers.py"

TYPED: Final = (
    ("colour: ", "blue\n"),
    ("'blue' is not one of the choices", ""),
    ("colour: ", "2\n"),
    ("size [3]: ", "\n"),
)
"""What is waited for, and what is typed then."""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_a_person_is_asked_and_sees_progress(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mcp_protogen", "call", str(SERVER), "choose", "--inherit"]
    env = {**environment(), "TERM": "xterm", "COLUMNS": "60"}
    shown = play_script(command, TYPED, env).replace("\r\n", "\n")
    assert "The server asks: Which?\n(type !decline to refuse" in shown
    assert "colour (number or value)\n  Which one?\n  1  red\n  2  green\ncolour: " in shown
    assert "size (whole number, 1 to 9, optional)\nsize [3]: " in shown
    assert "\rchoose  [############------------]  50%  packing\x1b[K" in shown
    assert shown.endswith("\r\x1b[Kgreen 3\n")


def test_question_and_answer_are_not_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interactive(stream: object) -> bool:
        return stream is not None

    monkeypatch.setattr(terminal, "is_terminal", interactive)
    display = terminal.Terminal("dig")
    display.show_progress(Progress(1))
    display.show_log({"level": "error", "data": "rock"})
    assert capsys.readouterr().err == "\rdig  1\x1b[K\r\x1b[K[error] rock\n\rdig  1\x1b[K"
    with display.hold_output():
        assert capsys.readouterr().err == "\r\x1b[K"
        display.show_progress(Progress(2))
        display.show_log({"level": "error", "data": "sand"})
        display.show_log({"level": "info", "data": "earth"})
        display.show_standard_error("banner")
        display.tell("Who?")
        assert capsys.readouterr().err == "Who?\n"
    assert capsys.readouterr().err == "[error] sand\n\rdig  2\x1b[K"
    display.close()
    assert capsys.readouterr().err == "\r\x1b[K"


FOREIGN: Final = TESTS / "support" / "calling" / "foreign_server.py"
COMMANDS: Final = {
    "call": (0, "call SERVER say --no-check"),
    "call without a list": (0, "call SERVER say --no-check --format json"),
    "failed call": (1, "call SERVER:fail say --log-level debug"),
    "read": (0, "read SERVER memo://a"),
    "list": (0, "list SERVER"),
    "list as JSON": (0, "list SERVER --format json"),
    "prompt": (0, "prompt SERVER ask"),
    "inspect": (1, "inspect SERVER"),
    "client": (0, "client SERVER --out made.py --package mcp_revisions"),
    "wrong argument": (2, "call SERVER say nasty=1"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
@pytest.mark.parametrize("name", COMMANDS)
def test_no_code_of_a_server_reaches_a_terminal(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ending, line = COMMANDS[name]
    words = [str(FOREIGN) if word == "SERVER" else word for word in line.split()]
    if "SERVER:fail" in words:
        words[words.index("SERVER:fail")] = f"{sys.executable} {FOREIGN} fail"
    command = [sys.executable, "-m", "mcp_protogen", *words]
    shown = play_script(command, (), {**environment(), "TERM": "xterm", "COLUMNS": "200"}, ending)
    assert "nasty" in shown
    assert [code for code in CODES if f"<{code}>" in shown] == []
