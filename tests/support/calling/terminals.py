"""Programs at a terminal, played by a pseudo-terminal."""

import os
import select
from codecs import getincrementaldecoder
from collections.abc import Sequence
from time import monotonic

from support.patience import PATIENCE


def play_script(
    command: list[str], script: Sequence[tuple[str, str]], env: dict[str, str], ending: int = 0
) -> str:
    """Run a command at a terminal that a script answers; return its output."""
    import pty  # Windows has no such terminals

    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(command[0], command, env)
    shown, seen, left, due = "", 0, [*script], monotonic() + PATIENCE
    decoder = getincrementaldecoder("utf-8")()
    while True:
        assert monotonic() < due, shown
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            found = os.read(terminal, 4096)
        except OSError:  # Linux signals the end of the output so
            found = b""
        if not found:
            break
        shown += decoder.decode(found)
        while left and (at := shown.find(left[0][0], seen)) >= 0:
            seen = at + len(left[0][0])
            os.write(terminal, left.pop(0)[1].encode())
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == ending, shown
    assert left == [], shown
    return shown
