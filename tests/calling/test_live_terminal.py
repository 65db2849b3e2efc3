"""Questions and progress at a terminal, played by a pseudo-terminal."""

import os
import pty
import select
import sys
from pathlib import Path
from time import monotonic
from typing import Final

import pytest
from support.folders import TESTS, environment

SERVER: Final = TESTS / "support" / "calling" / "servers.py"
PATIENCE: Final = 60.0

TYPED: Final = (
    ("colour: ", "blue\n"),
    ("'blue' is none of the choices", ""),
    ("colour: ", "2\n"),
    ("size [3]: ", "\n"),
)
"""What is waited for, and what is typed then."""


def played(command: list[str], script: tuple[tuple[str, str], ...], env: dict[str, str]) -> str:
    """What a terminal shows of a command that is answered by a script; it has to end with 0."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(command[0], command, env)
    shown, seen, left, due = "", 0, [*script], monotonic() + PATIENCE
    while True:
        assert monotonic() < due, shown
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            found = os.read(terminal, 4096)
        except OSError:  # so Linux says that nobody writes any more
            found = b""
        if not found:
            break
        shown += found.decode()
        while left and (at := shown.find(left[0][0], seen)) >= 0:
            seen = at + len(left[0][0])
            os.write(terminal, left.pop(0)[1].encode())
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, shown
    assert left == [], shown
    return shown


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_a_person_is_asked_and_sees_progress(kept: None, tmp_path: Path) -> None:
    del kept
    command = [sys.executable, "-m", "mcp_protogen", "call", str(SERVER), "choose", "--inherit"]
    env = {**environment(), "TERM": "xterm", "COLUMNS": "60"}
    shown = played(command, TYPED, env).replace("\r\n", "\n")
    assert "The server asks: Which?\n(!decline refuses to answer" in shown
    assert "colour (number or value)\n  Which one?\n  1  red\n  2  green\ncolour: " in shown
    assert "size (whole number, 1 to 9, optional)\nsize [3]: " in shown
    assert "\rchoose  [############------------]  50%  packing\x1b[K" in shown
    assert shown.endswith("\r\x1b[Kgreen 3\n")
