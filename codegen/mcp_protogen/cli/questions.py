"""Asking on a terminal: one line for each question, with the default that Enter stands for.

Questions go to standard error, as standard output belongs to the report.
"""

import sys
from collections.abc import Callable
from typing import TypeVar

from mcp_protogen.problems import Problem, ProblemError

T = TypeVar("T")


def can_ask() -> bool:
    """Whether somebody is there to answer: a terminal at both ends, and nobody who records."""
    # A stream that was closed before the start is none at all.
    return all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def ask(question: str, default: str, read: Callable[[str], T]) -> T:
    """What `read` makes of the answer; asks again for as long as it raises.

    `read` raises `ValueError` or `ProblemError`. Raises `KeyboardInterrupt` when input ends.
    """
    while True:
        print(f"{question} [{default}]: ", end="", file=sys.stderr, flush=True)
        # As bytes: what was typed may be no text, and then has to be read before it is refused.
        line = sys.stdin.buffer.readline().decode(errors="replace")
        if not line:
            print(file=sys.stderr)
            raise KeyboardInterrupt
        try:
            return read(line.strip() or default)
        except ProblemError as error:
            print("\n".join(map(_reason, error.problems)), file=sys.stderr)
        except ValueError as error:
            print(error, file=sys.stderr)


def _reason(problem: Problem) -> str:
    return f"{problem.message}; {problem.hint}" if problem.hint else problem.message
