"""The interpretation of an HTTP answer to a request.

Pages: 2026-07-28, basic/transports/streamable-http; 2025-11-25, basic/transports.
"""

from enum import Enum
from typing import Any, Final, NamedTuple

from ...core.errors import (
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
    HttpError,
    InvalidAnswer,
    ParseError,
    RemoteError,
)
from ...core.json import JSONObject, is_object, json_text
from ...messages import jsonrpc
from ...transports.base import Received, Unanswered
from .. import headers
from .outgoing import CALL_TOOL, DISCOVER, INITIALIZE, Message, answer_in

_MODERN: Final = frozenset({HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION})

# The statuses after which the client tries HTTP+SSE (2025-11-25, "Backwards Compatibility").
_MAYBE_LEGACY: Final = frozenset({400, 404, 405})

_LONGEST_EXCERPT: Final = 200


class HttpReply(NamedTuple):
    """An HTTP answer that is not a stream of events."""

    status: int
    media: str = ""
    body: bytes = b""
    session: str | None = None


class Repair(Enum):
    """A change that may lead to another answer."""

    SESSION = "the session has ended"
    HEADERS = "the header fields do not agree with the message"
    LEGACY_SSE = "the server may use HTTP+SSE"


class Interpretation(NamedTuple):
    """The interpretation of a reply."""

    received: tuple[Received, ...] = ()
    """The messages to deliver if there is no second attempt."""
    repair: Repair | None = None
    value: Any = None
    """The decoded body."""
    session: str | None = None
    """The id of the session that begins with it, if any."""


def interpretation_of(message: Message, reply: HttpReply, in_session: bool) -> Interpretation:
    """Return what the reply to a request means; `in_session` if the request named a session."""
    if 200 <= reply.status < 300:
        return _success(message, reply)
    error = _error_in(reply)
    code = None if error is None else error["error"]["code"]
    received: Received = Unanswered(message.id, http_error(f"POST {message.name}", reply))
    # As long as the era is not known, some statuses count more than the body.
    opening = message.method in (DISCOVER, INITIALIZE)
    if error is not None and not (opening and (reply.status in (401, 403) or reply.status >= 500)):
        received = json_text({**error, "id": message.id})
    repair = None
    if reply.status == 404 and in_session and code != METHOD_NOT_FOUND:
        repair = Repair.SESSION
    elif code == HEADER_MISMATCH and message.method == CALL_TOOL and message.revision is not None:
        repair = Repair.HEADERS
    elif (
        message.method == INITIALIZE
        and reply.status in _MAYBE_LEGACY
        and code not in _MODERN
        and (reply.status, code) != (404, METHOD_NOT_FOUND)
    ):
        repair = Repair.LEGACY_SSE
    return Interpretation((received,), repair)


def _success(message: Message, reply: HttpReply) -> Interpretation:
    if reply.media != headers.JSON or not reply.body.strip():
        what = f"HTTP {reply.status} does not answer {message.name}"
        problem = HttpError(reply.status, f"{what} ({reply.media or 'no content type'})")
        return Interpretation((Unanswered(message.id, problem),))
    try:
        value = jsonrpc.parse(reply.body)
    except ParseError as error:
        return Interpretation((Unanswered(message.id, error),))
    if is_object(value) and "error" in value and value.get("id") is None:
        # The error can only be about this request.
        value["id"] = message.id
        return Interpretation((json_text(value),), value=value)
    if answer_in(value, message.id) is None:
        missing = InvalidAnswer(f"the HTTP response to {message.name} does not answer it")
        return Interpretation((reply.body, Unanswered(message.id, missing)))
    return Interpretation((reply.body,), value=value, session=reply.session)


def _error_in(reply: HttpReply) -> JSONObject | None:
    """Return the error in a body, if it is one of the protocol."""
    if reply.media != headers.JSON:
        return None
    try:
        value = jsonrpc.parse(reply.body)
    except RemoteError:
        # The body is not a message; the status has to do.
        return None
    # Some servers write ids of their own choice here.
    found = jsonrpc.message_of({**value, "id": None}) if is_object(value) else None
    return value if isinstance(found, jsonrpc.Answer) else None


def http_error(what: str, reply: HttpReply) -> HttpError:
    """Return the error for a status, with the beginning of the body."""
    readable = reply.media in (headers.JSON, "text/plain")
    excerpt = reply.body[:_LONGEST_EXCERPT].decode("utf-8", "replace").strip() if readable else ""
    text = " ".join(excerpt.split())
    if 300 <= reply.status < 400:
        text = "redirects are followed only if they repeat the request to the same origin"
    return HttpError(reply.status, f"HTTP {reply.status} to {what}{f': {text}' if text else ''}")
