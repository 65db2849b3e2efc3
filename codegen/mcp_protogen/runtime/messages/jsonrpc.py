"""JSON-RPC 2.0: the kinds of messages, and how to write them.

Pages: "basic" of each revision (ids, batches) and the JSON-RPC 2.0 specification.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias, final

from pydantic_core import to_json

from ..core.errors import InvalidAnswer, InvalidRequest, ParseError, RemoteError, RequestId
from ..core.json import OBJECT, JSONObject, is_object, read_json
from ..core.sendable import sendable_text

VERSION: Final = "2.0"

LONGEST: Final = 1000
"""The most characters of an id or progress token: both are kept while a request is open."""
_TOO_LARGE: Final = 10**LONGEST
_TOO_SMALL: Final = -_TOO_LARGE

NOTHING: Final[Mapping[str, Any]] = {}

make_tuple: Final[Any] = vars(tuple)["__new__"]
"""Make a named tuple of a class and its fields, at half the price of calling it."""


class Call(NamedTuple):
    """A request, or a notification if it has no id; the method may be unknown."""

    id: RequestId | None
    method: str
    params: Mapping[str, Any]
    """Empty if absent or not an object."""
    meta: Mapping[str, Any]
    message: JSONObject


class Response(NamedTuple):
    id: RequestId | None
    result: Any
    error: JSONObject | None = None


@final
class Malformed(NamedTuple):
    """An invalid message, perhaps with `_meta`."""

    error: RemoteError
    meta: Mapping[str, Any] = NOTHING


Parsed: TypeAlias = Call | Response | Malformed


def parse(data: bytes | str) -> Any:
    """Read one JSON text; raise `ParseError`, which quotes none of it."""
    try:
        return read_json(data.encode() if isinstance(data, str) else data)
    except ValueError as error:
        raise ParseError(f"Parse error: {error}") from None


def message_of(value: Any) -> Parsed:
    """Return the kind of message of a decoded JSON value; an id of 1.0 becomes 1. Never raises."""
    if type(value) is not OBJECT:
        return Malformed(InvalidRequest("a message must be an object"))
    message: JSONObject = value
    try:
        if "method" not in message:
            return _answer(message)
        id = message.get("id")
        if type(id) is not int or not _TOO_SMALL < id < _TOO_LARGE:
            id = _id_in(message, InvalidRequest)
        if message.get("jsonrpc") != VERSION:
            raise InvalidRequest(f'jsonrpc must be "{VERSION}"', id=id)
        if "result" in message or "error" in message:
            raise _unclear("a message with a method must not have a result or an error", id)
        method: object = message["method"]
        if type(method) is not str:
            raise InvalidRequest("method must be a string", id=id)
        given: Any = message.get("params")
        params: Mapping[str, Any] = given if type(given) is OBJECT else NOTHING
        given = params.get("_meta")
        meta: Mapping[str, Any] = given if type(given) is OBJECT else NOTHING
        call: Call = make_tuple(Call, (id, method, params, meta, message))
        return call
    except (InvalidRequest, InvalidAnswer) as error:
        given = message.get("params")
        given = given.get("_meta") if is_object(given) else None
        # Its traceback would keep the message alive.
        return Malformed(error.with_traceback(None), given if is_object(given) else NOTHING)


def _answer(value: JSONObject) -> Response:
    is_versioned = value.get("jsonrpc") == VERSION
    if "result" not in value and "error" not in value:
        # JavaScript leaves out a result that is undefined. Programs also log objects.
        id = id_of(value) if is_versioned else None
        raise _unclear("a message must have a method, a result or an error", id)
    if not is_versioned and id_of(value) is None:
        # The name of a member does not make it an answer.
        raise InvalidRequest(f'jsonrpc must be "{VERSION}"')
    id = value.get("id")
    # An error may lack its id, or have null, as JSON-RPC allows for unreadable requests.
    if type(id) is not int or not _TOO_SMALL < id < _TOO_LARGE:
        id = None if id is None and "error" in value else _id_in(value, InvalidAnswer)
    if not is_versioned:
        raise InvalidAnswer(f'jsonrpc must be "{VERSION}"', id=id)
    if "error" not in value:
        if id is None:
            raise InvalidAnswer("the result has no id")
        answer: Response = make_tuple(Response, (id, value["result"], None))
        return answer
    if "result" in value:
        raise InvalidAnswer("an answer must have either a result or an error, not both", id=id)
    error: object = value["error"]
    if is_object(error):
        code = error.get("code")
        if isinstance(code, float) and code.is_integer():
            code = error["code"] = int(code)
        if type(code) is int and isinstance(error.get("message"), str):
            return Response(id, None, error)
    raise InvalidAnswer(f"an error must have a code and a message: {error!r:.200}", id=id)


def _unclear(message: str, id: RequestId | None) -> InvalidRequest:
    error = InvalidRequest(message, id=id)
    if id is not None:
        error.meant = "message"
    return error


def _id_in(message: JSONObject, refusal: type[InvalidRequest | InvalidAnswer]) -> RequestId | None:
    id = id_of(message)
    if id is None and "id" in message:
        limit = f"of at most {LONGEST} characters or digits"
        raise refusal(f"id must be a string or an integer, {limit}")
    return id


def id_of(message: Mapping[str, Any]) -> RequestId | None:
    """Return the id of a decoded message, if it has a valid one."""
    id = message.get("id")
    if type(id) is str:
        return id if len(id) <= LONGEST else None
    if isinstance(id, float) and id.is_integer():
        return int(id)
    return id if type(id) is int and _TOO_SMALL < id < _TOO_LARGE else None


def write_id(id: RequestId) -> bytes:
    return b"%d" % id if type(id) is int else to_json(id)


def write_call(id: RequestId | None, method: bytes, params: bytes | None) -> bytes:
    """Return a request, or a notification if `id` is None; `method` and `params` are JSON text."""
    if params is None:
        return b'%b"method":%b}' % (_head(id), method)
    if type(id) is int:
        return b'{"jsonrpc":"2.0","id":%d,"method":%b,"params":%b}' % (id, method, params)
    return b'%b"method":%b,"params":%b}' % (_head(id), method, params)


def write_result(id: RequestId, result: bytes) -> bytes:
    if type(id) is int:
        return b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (id, result)
    return b'%b"result":%b}' % (_head(id), result)


def write_error(id: RequestId | None, code: int, message: str, data: Any = None) -> bytes:
    """Return an error, without an id for an unreadable request; raise like `sendable_text`."""
    error: JSONObject = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return b'%b"error":%b}' % (_head(id), sendable_text(error, "an error"))


def _head(id: RequestId | None) -> bytes:
    return b'{"jsonrpc":"2.0",' if id is None else b'{"jsonrpc":"2.0","id":%b,' % write_id(id)
