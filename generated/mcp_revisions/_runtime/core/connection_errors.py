"""Errors of a connection: it ends, is silent, agrees on nothing, or lacks a capability."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from .errors import (
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
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

EXPECTED: Final = "where messages are expected"
"""In the text of each error that quotes what came in place of messages."""
_MOST: Final = 3
_LONGEST: Final = 80

Strays: TypeAlias = tuple[bytes, ...]
"""The beginnings of the first lines on a connection that were not messages."""


def with_stray(strays: Strays, line: bytes) -> Strays:
    """Return the lines with a further one, if it is among the first."""
    return strays if len(strays) == _MOST else (*strays, line.strip()[:_LONGEST])


def is_frame(line: bytes) -> bool:
    """Return whether a line begins a message as in the Language Server Protocol."""
    return line.strip().lower().startswith(b"content-length:")


def quoting(text: str, strays: Strays) -> str:
    """Return the text of an error, after a quotation of what came in place of messages."""
    if not strays:
        return text
    quoted = ", ".join(repr(line.decode("utf-8", "replace")) for line in strays)
    framed = any(map(is_frame, strays))
    why = " (Content-Length frames, as in LSP; here a message is one line)" if framed else ""
    return f"the server wrote {quoted} {EXPECTED}{why}; {text}"


class Disconnected(ConnectionError):
    """The connection could not be made, broke, or ended before the answer came."""


class RequestTimeout(LocalError, TimeoutError):
    """No answer came in time; the peer got a cancellation, if the protocol allows one."""

    def __init__(self, method: str, seconds: float, strays: Strays = ()) -> None:
        super().__init__(quoting(f"{method} was not answered within {seconds:g} s", strays))
        self.method: Final = method
        self.seconds: Final = seconds


class NegotiationError(ProtocolError):
    """The two sides have no revision in common, or the peer refused to agree on one.

    `offered` are the revisions of this side, `supported` those that the peer named, if any.
    """

    CODE = UNSUPPORTED_VERSION

    def __init__(
        self, message: str, offered: Sequence[str] = (), supported: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.offered: Final = tuple(offered)
        self.supported: Final = tuple(supported)


class HttpError(RemoteError):
    """The answer to a request was an HTTP status, without a message of the protocol.

    `retry_after` is when to try again, in seconds, if the answer has the field.
    """

    def __init__(self, status: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status: Final = status
        self.retry_after: Final = retry_after


class StatusError(McpError):
    """An error response that over HTTP has a status of its own, 400 to 599, and header fields.

    Both are left out where the response has begun, in batches, and over other transports.
    """

    def __init__(
        self,
        code: int,
        message: str,
        data: Any = None,
        *,
        status: int,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(code, message, data)
        if not 400 <= status <= 599:
            raise ValueError(f"{status} is no status of an error")
        self.status: Final = status
        self.headers: Final = headers


class MissingClientCapability(RemoteError):
    """The client has not declared what a request needs (2026-07-28, basic, "_meta").

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
"""The answers that a handler may choose; any other exception is a fault, whose text stays here."""
