"""Errors of a connection: broken, silent, no common revision, or a missing capability."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from .errors import (
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
    InvalidAnswer,
    InvalidParams,
    InvalidRequest,
    LocalError,
    McpError,
    MethodNotFound,
    ProtocolError,
    RemoteError,
    RequestId,
    Untranslatable,
)
from .spec import Role

EXPECTED: Final = "where messages are expected"
"""Part of each error that quotes lines received instead of messages."""
MEANWHILE: Final = "; meanwhile the "
"""Part of each error that reports answers which fit no request."""
_MOST: Final = 3
# The most bytes of a quoted line, and characters of a quoted error text.
_LONGEST_LINE: Final = 80
_LONGEST_TEXT: Final = 200


class Strays(NamedTuple):
    """The first lines on a connection that are not messages, and the latest unexpected answers."""

    peer: Role = "server"
    lines: tuple[bytes, ...] = ()
    answers: tuple[tuple[str, frozenset[RequestId]], ...] = ()
    """A description of each answer, with the requests that were open then."""

    def with_line(self, line: bytes) -> "Strays":
        if len(self.lines) == _MOST:
            return self
        return self._replace(lines=(*self.lines, line.strip()[:_LONGEST_LINE]))

    def with_answer(self, id: RequestId | None, text: str, open: Collection[RequestId]) -> "Strays":
        """Add an answer to an unknown `id`, or without one."""
        if not open:
            return self
        answer = _in_words(id, text, open), frozenset(open)
        return self._replace(answers=(*self.answers[1 - _MOST :], answer))

    def explain(self, error: str, id: RequestId | None = None) -> str:
        """Return the text of an error, with the unexpected input received while `id` was open."""
        answers = [text for text, open in self.answers if id in open]
        if answers:
            error = f"{error}{MEANWHILE}{self.peer} {', and '.join(answers)}"
        if not self.lines:
            return error
        quoted = ", ".join(repr(line.decode("utf-8", "replace")) for line in self.lines)
        framed = any(map(is_frame, self.lines))
        reason = " (Content-Length frames, as in LSP; here a message is one line)" if framed else ""
        return f"the {self.peer} wrote {quoted} {EXPECTED}{reason}; {error}"


NO_STRAYS: Final = Strays()


def is_frame(line: bytes) -> bool:
    return line.strip().lower().startswith(b"content-length:")


def _in_words(id: RequestId | None, text: str, open: Collection[RequestId]) -> str:
    quote = f": {text[:_LONGEST_TEXT]!r}" if text else ""
    if id is None:
        return f"sent an answer without an id{quote}"
    ids = ", ".join(repr(open_id) for open_id in sorted(open, key=str)[:_MOST])
    verb = "is" if len(open) == 1 else "are"
    return f"answered a request with the id {id!r:.60}, which is not open ({ids} {verb}){quote}"


class Disconnected(ConnectionError):
    """The connection could not be opened, or ended before the answer."""


class Unsent(Disconnected):
    """Nothing was sent: no connection was open, or the server refuses its session."""


class RevisionLost(Unsent):
    """The server no longer speaks the negotiated revision, and the connection ends."""


def explain_error(error: Exception, strays: Strays, id: RequestId) -> Exception:
    for kind in (Disconnected, InvalidAnswer):
        if isinstance(error, kind):
            text = strays.explain(str(error), id)
            return error if text == str(error) else type(error)(text)
    return error


def in_answer(error: RemoteError, method: str) -> InvalidAnswer:
    if isinstance(error, InvalidAnswer):
        return error
    return InvalidAnswer(f"{error.message}, in the answer to {method}", id=error.id)


class RequestTimeout(LocalError, TimeoutError):
    """No answer in time; the peer gets a cancellation if the protocol allows one."""

    def __init__(
        self, method: str, seconds: float, strays: Strays = NO_STRAYS, id: RequestId | None = None
    ) -> None:
        super().__init__(strays.explain(f"{method} was not answered within {seconds:g} s", id))
        self.method: Final = method
        self.seconds: Final = seconds


class NegotiationError(ProtocolError):
    """The two sides have no revision in common, or the peer refused to negotiate.

    `offered` are the revisions of this side, `supported` those that the peer named.
    """

    CODE = UNSUPPORTED_VERSION

    def __init__(
        self, message: str, offered: Sequence[str] = (), supported: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.offered: Final = tuple(offered)
        self.supported: Final = tuple(supported)


class HttpError(RemoteError):
    """The answer to a request was an HTTP status without a message of the protocol.

    `retry_after` is the header field `Retry-After`, in seconds, if present.
    """

    def __init__(self, status: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status: Final = status
        self.retry_after: Final = retry_after


class MissingClientCapability(RemoteError):
    """The client did not declare a capability that a request needs (2026-07-28, basic, "_meta").

    `required` is the object of the missing capabilities.
    """

    CODE = MISSING_CLIENT_CAPABILITY

    def __init__(
        self, message: str, required: Mapping[str, Any], *, id: RequestId | None = None
    ) -> None:
        super().__init__(message, id=id, data={"requiredCapabilities": dict(required)})
        self.required: Final = required


CHOSEN: Final = (
    McpError,
    Untranslatable,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    MissingClientCapability,
)
"""Errors that a handler may raise as the answer; texts of other exceptions go to the log."""
