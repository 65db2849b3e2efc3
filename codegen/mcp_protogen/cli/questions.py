"""Asking on a terminal: one line for each question, with the default that Enter stands for.

Questions go to standard error, as standard output belongs to the report.
"""

import sys
from collections.abc import Callable
from typing import TypeVar

from mcp_protogen.cli.console import show_problems, tell
from mcp_protogen.problems import ProblemError

T = TypeVar("T")


def can_ask() -> bool:
    """Whether somebody is there to answer: a terminal at both ends, and nobody who records."""
    # A stream that was closed before the start is none at all.
    return all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def ask(question: str, default: str, read: Callable[[str], T]) -> T:
    """What `read` makes of the answer; asks again for as long as it raises.

    `read` raises `ProblemError`. Raises `KeyboardInterrupt` when input ends.
    """
    while True:
        tell(f"{question} [{default}]: ", end="")
        # As bytes: what was typed may be no text, and then has to be read before it is refused.
        line = sys.stdin.buffer.readline().decode(errors="replace")
        if not line:
            tell("")
            raise KeyboardInterrupt
        try:
            return read(line.strip() or default)
        except ProblemError as error:
            show_problems(error.problems)
