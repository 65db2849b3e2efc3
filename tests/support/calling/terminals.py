"""Programs at a terminal, played by a pseudo-terminal."""

import os
import select
from collections.abc import Sequence
from time import monotonic

from support.patience import PATIENCE


def played(command: list[str], script: Sequence[tuple[str, str]], env: dict[str, str]) -> str:
    """What a terminal shows of a command that is answered by a script; it has to end with 0."""
    import pty  # Windows has no such terminals

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
