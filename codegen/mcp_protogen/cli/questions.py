"""Questions on a terminal: one line each, with the default for an empty answer.

Questions go to standard error, as standard output belongs to the report.
"""

import sys
from collections.abc import Callable
from typing import TypeVar

from mcp_protogen.base.problems import ProblemError
from mcp_protogen.cli.console import show_problems, tell

T = TypeVar("T")


def can_ask() -> bool:
    """Return whether somebody can answer: input and output are a terminal, and not recorded."""
    # A stream that was closed before the start is None.
    return all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def ask(question: str, default: str, read: Callable[[str], T]) -> T:
    """Return what `read` makes of the answer; ask again as long as it raises `ProblemError`.

    Raise `KeyboardInterrupt` when input ends.
    """
    while True:
        tell(f"{question} [{default}]: ", end="")
        # As bytes: input that is not text has to be read, too, before it can be refused.
        line = sys.stdin.buffer.readline().decode(errors="replace")
        if not line:
            tell("")
            raise KeyboardInterrupt
        try:
            return read(line.strip() or default)
        except ProblemError as error:
            show_problems(error.problems)
