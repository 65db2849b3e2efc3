"""Errors of a connection: it ends, is silent, agrees on nothing, or lacks a capability."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

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
from .strays import NO_STRAYS, Strays


class Disconnected(ConnectionError):
    """The connection could not be made, broke, or ended before the answer came."""


def explained(error: Exception, strays: Strays, id: RequestId) -> Exception:
    """Return the error of a request without an answer, with what came in place of the answer."""
    for kind in (Disconnected, InvalidAnswer):
        if isinstance(error, kind):
            text = strays.explain(str(error), id)
            return error if text == str(error) else kind(text)
    return error


class RequestTimeout(LocalError, TimeoutError):
    """No answer came in time; the peer got a cancellation, if the protocol allows one."""

    def __init__(
        self,
        method: str,
        seconds: float,
        strays: Strays = NO_STRAYS,
        id: RequestId | None = None,
    ) -> None:
        super().__init__(strays.explain(f"{method} was not answered within {seconds:g} s", id))
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
