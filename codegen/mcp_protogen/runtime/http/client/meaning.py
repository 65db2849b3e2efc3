"""What an answer of HTTP means for the request that was posted.

Pages: 2026-07-28, basic/transports/streamable-http; 2025-11-25, basic/transports.
"""

from enum import Enum
from typing import Any, Final, NamedTuple

from ... import jsonrpc
from ...errors import (
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
    HttpError,
    InvalidAnswer,
    ParseError,
    RemoteError,
    RequestId,
)
from ...jsonvalue import JSONObject, is_object, json_text
from ...transport import Received, Unanswered
from .. import fields
from .message import CALL_TOOL, DISCOVER, INITIALIZE, Message, answer_in

_MODERN: Final = frozenset({HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION})

# The statuses after which the old transport is looked for (2025-11-25, "Backwards Compatibility").
_MAYBE_OLD: Final = frozenset({400, 404, 405})

_LONGEST_EXCERPT: Final = 200


class Reply(NamedTuple):
    """An answer of HTTP that is no stream of events."""

    status: int
    media: str
    body: bytes


class Repair(Enum):
    """What may still lead to another answer."""

    SESSION = "the session is gone"
    HEADERS = "header fields do not repeat what they should"
    OLD_TRANSPORT = "the server may be one of HTTP+SSE"


class Meaning(NamedTuple):
    """What a reply means."""

    received: tuple[Received, ...]
    """What to hand on, unless it can be repaired."""
    repair: Repair | None = None
    value: Any = None
    """What was received, decoded."""


def meaning_of(message: Message, reply: Reply, in_session: bool) -> Meaning:
    """What the reply to a request means; `in_session` if the request named a session."""
    if 200 <= reply.status < 300:
        return _success(message, reply)
    error = _error_in(reply)
    code = None if error is None else error["error"]["code"]
    received = (_refusal(message, reply, error),)
    if reply.status == 404 and in_session and code != METHOD_NOT_FOUND:
        return Meaning(received, Repair.SESSION)
    if code == HEADER_MISMATCH and message.method == CALL_TOOL and message.revision is not None:
        return Meaning(received, Repair.HEADERS)
    if (
        message.method == INITIALIZE
        and reply.status in _MAYBE_OLD
        and code not in _MODERN
        and (reply.status, code) != (404, METHOD_NOT_FOUND)
    ):
        return Meaning(received, Repair.OLD_TRANSPORT)
    return Meaning(received)


def _success(message: Message, reply: Reply) -> Meaning:
    if reply.media != fields.JSON or not reply.body.strip():
        what = f"HTTP {reply.status} without an answer to {message.name}"
        kind = reply.media or "no content type"
        return _unanswered(message.id, HttpError(reply.status, f"{what} ({kind})"))
    try:
        value = jsonrpc.parse(reply.body)
    except ParseError as error:
        return _unanswered(message.id, error)
    if is_object(value) and "error" in value and value.get("id") is None:
        # There is one request only that it can be about.
        value["id"] = message.id
        return Meaning((json_text(value),), value=value)
    if answer_in(value, message.id) is None:
        missing = InvalidAnswer(f"the answer of HTTP to {message.name} holds no answer to it")
        return Meaning((reply.body, Unanswered(message.id, missing)))
    return Meaning((reply.body,), value=value)


def _unanswered(id: RequestId, error: Exception) -> Meaning:
    return Meaning((Unanswered(id, error),))


def _error_in(reply: Reply) -> JSONObject | None:
    """The error in a body, if it is one of the protocol."""
    if reply.media != fields.JSON:
        return None
    try:
        value = jsonrpc.parse(reply.body)
    except RemoteError:
        # No message at all; the status says what there is to say.
        return None
    if not is_object(value):
        return None
    # Some servers write ids of their own choice here.
    found = jsonrpc.message_of({**value, "id": None})
    return value if isinstance(found, jsonrpc.Answer) else None


def _refusal(message: Message, reply: Reply, error: JSONObject | None) -> Received:
    if error is None or _is_about_http(message, reply.status):
        return Unanswered(message.id, http_error(f"POST {message.name}", reply))
    return json_text({**error, "id": message.id})


def _is_about_http(message: Message, status: int) -> bool:
    """While the era is not known, these statuses say more than a body of theirs can."""
    return message.method in (DISCOVER, INITIALIZE) and (status in (401, 403) or status >= 500)


def http_error(what: str, reply: Reply) -> HttpError:
    """The error that a status is, with the beginning of what the server had to say."""
    readable = reply.media in (fields.JSON, "text/plain")
    excerpt = reply.body[:_LONGEST_EXCERPT].decode("utf-8", "replace").strip() if readable else ""
    said = " ".join(excerpt.split())
    if 300 <= reply.status < 400:
        said = "redirects are followed within the same origin only, and repeat the request"
    return HttpError(reply.status, f"HTTP {reply.status} to {what}{f': {said}' if said else ''}")
