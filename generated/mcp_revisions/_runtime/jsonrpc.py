"""JSON-RPC 2.0 envelopes: what kind of message a JSON value is, and how one is written.

Pages: "basic" of each revision (ids, batches) and the JSON-RPC 2.0 specification. This module knows
no method: it looks at `jsonrpc`, `id` and the shape of errors, and leaves `params` and `result` be.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, TypeGuard

from pydantic_core import to_json

from .errors import InvalidAnswer, InvalidRequest, ParseError, RequestId
from .jsonvalue import JSONObject, is_object, json_text, read_json

Kind: TypeAlias = Literal["request", "notification", "result", "error"]

VERSION: Final = "2.0"

LONGEST: Final = 1000
"""Characters of an id, or of a token for progress: both are kept while a request is open."""
_NOT_AN_ID: Final = (
    f"id has to be a string or an integer, of {LONGEST} characters or digits at most"
)
_TOO_LARGE: Final = 10**LONGEST


def parse(data: bytes | str) -> Any:
    """Read one JSON text, as `read_json` does.

    Raises `ParseError`, which names the position and repeats none of the text.
    """
    try:
        return read_json(data)
    except ValueError as error:
        raise ParseError(f"Parse error: {error}") from None


def kind_of(message: object) -> Kind:
    """Which of the four kinds of message a decoded JSON value is.

    Afterwards its `id`, `method` and `error` are known to be well-formed, and an id written as 1.0
    has become 1. Raises `InvalidRequest`, or `InvalidAnswer` for what was meant as an answer.
    """
    if not is_object(message):
        raise InvalidRequest("a message has to be an object")
    if "method" not in message:
        return _kind_of_answer(message)
    id = message.get("id")
    if not _is_id(id):
        id = _unusual_id(message, InvalidRequest)
    if message.get("jsonrpc") != VERSION:
        raise InvalidRequest(f'jsonrpc has to be "{VERSION}"', id=id)
    if type(message["method"]) is not str:
        raise InvalidRequest("method has to be a string", id=id)
    if "result" in message or "error" in message:
        raise InvalidRequest("a message with a method has neither result nor error", id=id)
    return "notification" if id is None else "request"


def _kind_of_answer(message: JSONObject) -> Kind:
    if "result" not in message and "error" not in message:
        raise InvalidRequest("a message has a method, a result or an error", id=id_of(message))
    id = message.get("id")
    if not _is_id(id) and not ("error" in message and id is None):
        # An error may lack its id, or have null there as JSON-RPC does for what it could not read.
        id = _unusual_id(message, InvalidAnswer)
    if message.get("jsonrpc") != VERSION:
        raise InvalidAnswer(f'jsonrpc has to be "{VERSION}"', id=id)
    if "error" not in message:
        if id is None:
            raise InvalidAnswer("a result has an id")
        return "result"
    if "result" in message:
        raise InvalidAnswer("an answer has a result or an error, not both", id=id)
    _check_error(message["error"], id)
    return "error"


def _check_error(error: object, id: RequestId | None) -> None:
    if not is_object(error):
        raise InvalidAnswer("error has to be an object", id=id)
    code = error.get("code")
    if isinstance(code, float) and code.is_integer():
        code = error["code"] = int(code)
    if type(code) is not int:
        raise InvalidAnswer("the code of an error has to be an integer", id=id)
    if not isinstance(error.get("message"), str):
        raise InvalidAnswer("the message of an error has to be a string", id=id)


def _unusual_id(
    message: JSONObject, refusal: type[InvalidRequest] | type[InvalidAnswer]
) -> RequestId | None:
    """None if there is no id; an integer if it was written as one with a fraction of zero."""
    if "id" not in message:
        return None
    id = message["id"] = id_of(message)
    if id is None:
        raise refusal(_NOT_AN_ID)
    return id


def id_of(message: Mapping[str, Any]) -> RequestId | None:
    """The id of a decoded message, an integer also where it has a fraction of zero; None if none.

    One that is no id, or too long, is none.
    """
    id = message.get("id")
    if isinstance(id, float) and id.is_integer():
        return int(id)
    return id if _is_id(id) else None


def _is_id(id: object) -> TypeGuard[RequestId]:
    if type(id) is int:
        return -_TOO_LARGE < id < _TOO_LARGE
    return type(id) is str and len(id) <= LONGEST


def answered(value: object) -> RequestId | None:
    """The id of the request that a decoded JSON value means to answer, soundly or not."""
    if not is_object(value) or "method" in value or not ("result" in value or "error" in value):
        return None
    return id_of(value)


def write_id(id: RequestId) -> bytes:
    """An id as JSON text."""
    return b"%d" % id if type(id) is int else to_json(id)


def write_call(id: RequestId | None, method: bytes, params: bytes | None) -> bytes:
    """A request, or a notification if `id` is None; `method` and `params` are JSON text."""
    head = b'{"jsonrpc":"2.0",' if id is None else b'{"jsonrpc":"2.0","id":%b,' % write_id(id)
    if params is None:
        return b'%b"method":%b}' % (head, method)
    return b'%b"method":%b,"params":%b}' % (head, method, params)


def write_result(id: RequestId, result: bytes) -> bytes:
    """A result; `result` is JSON text."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (write_id(id), result)


def write_error(id: RequestId | None, code: int, message: str, data: Any = None) -> bytes:
    """An error; without an id it answers something that could not be read.

    Raises `pydantic_core.PydanticSerializationError` if `data` has no JSON form.
    """
    error: JSONObject = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    head = b'{"jsonrpc":"2.0",' if id is None else b'{"jsonrpc":"2.0","id":%b,' % write_id(id)
    return b'%b"error":%b}' % (head, json_text(error))
