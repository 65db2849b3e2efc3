"""Failures of a connection or a call, as problems, and how a command ends because of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mcp_protogen.base.problems import Problem
from mcp_protogen.runtime.core.connection_errors import (
    Disconnected,
    HttpError,
    NegotiationError,
    RequestTimeout,
)
from mcp_protogen.runtime.core.errors import (
    MISSING_CLIENT_CAPABILITY,
    LocalError,
    McpError,
    ProtocolError,
)
from mcp_protogen.runtime.http.auth.errors import AuthorizationError
from mcp_protogen.runtime.rpc.tasks.at_peer import TaskCancelled

FAILED: Final = 1
"""The exit code where the tool failed, or the server answered with an error."""
NO_SERVER: Final = 2
"""The exit code where no server could be asked, or none answered as the protocol wants it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A problem, the exit code that follows from it, and lines that a server wrote before."""

    problem: Problem
    exit_code: int
    written: Sequence[str] = ()


_CAPABILITIES: Final = "run it on a terminal, or give --answer, --root or --sampling"
_ERRORS: Final[Mapping[type[Exception], Failure]] = {
    # The first class that fits counts, so narrow ones come first.
    RequestTimeout: Failure(
        Problem("no-answer", "", hint="--timeout gives it more seconds"), NO_SERVER
    ),
    NegotiationError: Failure(Problem("no-connection", "", hint="leave --revision out"), NO_SERVER),
    McpError: Failure(Problem("error-answer", ""), FAILED),
    TaskCancelled: Failure(Problem("error-answer", ""), FAILED),
    LocalError: Failure(
        Problem("not-offered", "", hint="mcp-gen list shows what the server offers"), NO_SERVER
    ),
    HttpError: Failure(
        Problem("no-connection", "", hint="give the URL of the server's endpoint"), NO_SERVER
    ),
    AuthorizationError: Failure(
        Problem("no-connection", "", hint="--auth says how requests are authorized"), NO_SERVER
    ),
    ProtocolError: Failure(
        Problem("unfit-answer", "", hint="mcp-gen inspect shows what the server breaks"), NO_SERVER
    ),
    Disconnected: Failure(Problem("no-connection", ""), NO_SERVER),
}


def failure_of(error: Exception, server: str) -> Failure | None:
    """Return what an error of a connection to `server` means; None for faults of mcp-gen."""
    for cls, meant in _ERRORS.items():
        if isinstance(error, cls):
            text, *written = str(error).strip().splitlines() or [cls.__name__]
            if isinstance(error, McpError):
                text = f"{text} (code {error.code})"
            problem = meant.problem._replace(message=text, place=server)
            if isinstance(error, McpError) and error.code == MISSING_CLIENT_CAPABILITY:
                problem = problem._replace(hint=_CAPABILITIES)
            return replace(meant, problem=problem, written=written)
    return None
