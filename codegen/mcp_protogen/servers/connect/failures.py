"""Failures of connections and requests, as problems: the same codes in all commands."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.runtime.core.connection_errors import (
    EXPECTED,
    MEANWHILE,
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
from mcp_protogen.runtime.core.losses import Loss
from mcp_protogen.runtime.features.auth.errors import AuthorizationError
from mcp_protogen.runtime.features.server_card.card import CardError
from mcp_protogen.runtime.features.tasks.remote_tasks import TaskCancelled
from mcp_protogen.servers.connect.echoes import ECHO

NO_CONNECTION: Final = "no-connection"
REQUEST_TIMEOUT: Final = "request-timeout"
_ERROR_RESPONSE: Final = "error-response"

_MEANINGS: Final[Mapping[type[Exception], Problem]] = {
    # The first class that fits counts, so narrow ones come first.
    RequestTimeout: Problem("request-timeout", "", hint="give it more time with --timeout SECONDS"),
    NegotiationError: Problem("no-connection", "", hint="if you gave --revision, leave it out"),
    McpError: Problem("error-response", ""),
    TaskCancelled: Problem("error-response", ""),
    LocalError: Problem("not-supported", "", hint="mcp-gen list shows what the server has"),
    HttpError: Problem("no-connection", ""),
    CardError: Problem(
        "no-server", "", hint="give the URL of an endpoint, with --header for what it asks for"
    ),
    AuthorizationError: Problem(
        "no-connection",
        "",
        hint="try another --auth, such as bearer:VARIABLE with a token you have",
    ),
    ProtocolError: Problem(
        "invalid-response", "", hint="mcp-gen inspect shows where the server breaks the protocol"
    ),
    Disconnected: Problem("no-connection", ""),
    OSError: Problem("no-connection", ""),
}
"""Codes and hints for errors; the message comes from the error."""
_FAILED: Final = "the server or a proxy has failed"
_STATUSES: Final[Mapping[int, str]] = {
    300: "give the new URL that the server names",
    400: "the server or a proxy refuses such requests; mcp-gen inspect shows more",
    401: "choose an --auth, such as oauth or bearer:VARIABLE",
    403: "the server refuses this user or this client; check --auth and --header",
    408: "try again",
    413: "send less: the server or a proxy refuses so large a request",
    429: "the server received too many requests",
    500: _FAILED,
}
_NO_SERVER: Final = "check the URL of the server; it often ends in /mcp"
_NOT_THERE: Final = (404, 405, 406, 410, 411, 415, 501)
"""Statuses from an address that probably belongs to another program."""
_STRAY: Final = (
    "check the command line; a server writes messages to standard output, and all else to"
    " standard error"
)
_ADVICE: Final[Mapping[str, str]] = {
    ECHO: "name a program that is a server; this one only repeats its input",
    "the HTTP response to initialize": _NO_SERVER,
    EXPECTED: _STRAY,
    MEANWHILE: "a server repeats the id of a request exactly as it came; mcp-gen inspect shows what"
    " it sends",
    "cannot start": "install the program, or correct its name; a URL begins with http:// or"
    " https://",
    "its last output on standard error:": "",
    "the server ended": "run the program by itself to see why: a server waits for messages on"
    " standard input",
    "ConnectError": "check the URL, and whether the server runs",
    "RemoteProtocolError": _NO_SERVER,
    "the stream ended before server/discover": _NO_SERVER,
}
"""Hints by a part of the text of an error; the first that it has counts."""
_CONTENT: Final = re.compile(r"/result/contents/\d+")
"""The place of a resource's content: without it, a file would lack a part of the resource."""
_DECLARING: Final[Mapping[str, str]] = {
    "elicitation": "--elicitation with --answer NAME=VALUE",
    "roots": "--roots DIR",
    "sampling": "--sampling",
}
"""The options that declare capabilities."""

ERRORS: Final[tuple[type[Exception], ...]] = tuple(_MEANINGS)
"""The errors of connections and requests that are not faults of mcp-gen."""


@dataclass(frozen=True, slots=True)
class ConnectionFailure:
    """A problem with a server, and the last lines that its program wrote."""

    problem: Problem
    written: Sequence[str] = ()

    @property
    def exit_code(self) -> int:
        """1 if the server answered with an error, 2 if it did not answer."""
        return 1 if self.problem.code == _ERROR_RESPONSE else 2


def failure_of(error: Exception, server: str) -> ConnectionFailure:
    """Return one of `ERRORS` as the failure of a server; `server` is safe to show."""
    problem = next(found for cls, found in _MEANINGS.items() if isinstance(error, cls))
    text, *written = str(error).strip().splitlines() or [type(error).__name__]
    if isinstance(error, McpError):
        text = f"{text} (code {error.code})"
        if error.code == MISSING_CLIENT_CAPABILITY:
            problem = problem._replace(hint=_declaring(error.data))
    elif isinstance(error, HttpError):
        problem = problem._replace(hint=_hint_for(error))
    else:
        hints = (hint for part, hint in _ADVICE.items() if part in text)
        problem = problem._replace(hint=next(hints, problem.hint))
    return ConnectionFailure(problem._replace(message=text, place=server), written)


def _declaring(data: object) -> str:
    """Return the options to give for the capabilities that a server requires."""
    required = data.get("requiredCapabilities") if is_object(data) else None
    options = [
        option for name, option in _DECLARING.items() if is_object(required) and name in required
    ]
    return f"give {', '.join(options or _DECLARING.values())}"


def quotes_server(error: Exception) -> bool:
    """Return whether the text of an error says what a program wrote in place of messages."""
    return any(part in str(error) for part in (ECHO, EXPECTED))


def _hint_for(error: HttpError) -> str:
    """Return the advice for an HTTP status."""
    status = error.status
    if status < 300 or status in _NOT_THERE:
        return _NO_SERVER
    hint = _STATUSES.get(status) or _STATUSES.get(status // 100 * 100, _FAILED)
    if error.retry_after is not None:
        return f"{hint}; try again after {ceil(error.retry_after)} s"
    return f"{hint}; try again later" if status in (429, 502, 503, 504) else hint


def problem_error(error: Exception, server: str) -> ProblemError:
    """Return one of `ERRORS` as `ProblemError`, with the last line that the program wrote."""
    failure = failure_of(error, server)
    problem = failure.problem
    if failure.written:
        between = " " if problem.message.endswith(":") else "; "
        message = f"{problem.message}{between}{failure.written[-1].strip()}"
        problem = problem._replace(message=message)
    return ProblemError(problem)


def mended_problems(losses: Iterable[Loss], server: str) -> tuple[Problem, ...]:
    """Return problems for the repairs of a lenient client: warnings, or errors for serious ones.

    Omissions and replacements come first, because only the first problems are shown.
    """
    base = _MEANINGS[ProtocolError]._replace(place=server)
    return tuple(
        base._replace(
            message=f"{loss.method}: {loss.why}",
            pointer=loss.pointer,
            level=Level.ERROR if _CONTENT.fullmatch(loss.pointer) else Level.WARNING,
        )
        for loss in sorted(losses, key=lambda loss: loss.harmless)
    )
