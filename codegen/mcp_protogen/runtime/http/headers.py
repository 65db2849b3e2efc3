"""The HTTP header fields of the protocol, and values that repeat parts of a message.

Names are in lower case, as in HTTP/2, and compared without case, unlike values (2026-07-28,
basic/transports/streamable-http, "Case Sensitivity").
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from time import time
from typing import Any, Final

from ..core.errors import HEADER_MISMATCH
from ..core.json_pointers import value_at
from ..core.spec import CALL_TOOL, LIST_TOOLS, HeaderField
from ..messages.method_table import MethodTable
from ..rules.param_headers import HeaderParam

PROTOCOL_VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
SESSION_ID: Final = "mcp-session-id"
LAST_EVENT_ID: Final = "last-event-id"

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

# All header fields of arguments that schemas of tools mark.
_PARAM: Final = "mcp-param-{name}"

_PREFIX: Final = "=?base64?"
_SUFFIX: Final = "?="

# Tabs are allowed, but outer tabs and spaces must be encoded.
_PLAIN: Final = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")
_READABLE: Final = re.compile(r"[\t -~]*")

_SECONDS: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")

_INTEGER: Final = re.compile(r"(-?[0-9]{1,20})(?:\.0{1,20})?")
_LARGEST: Final = 2**53 - 1


def encode_value(value: str) -> str:
    """Return the value for `Mcp-Name` or `Mcp-Param-*`, in Base64 if needed.

    A plain value that looks encoded is encoded, too (2026-07-28, basic/transports/streamable-http,
    "Value Encoding"). Raise `UnicodeEncodeError` for a lone surrogate.
    """
    if _PLAIN.fullmatch(value) and not (value.startswith(_PREFIX) and value.endswith(_SUFFIX)):
        return value
    return f"{_PREFIX}{b64encode(value.encode()).decode()}{_SUFFIX}"


def decode_value(value: str) -> str | None:
    """Return the decoded field value; None if it is malformed.

    Base64 is read strictly, so that an intermediary cannot see another value.
    """
    if not (value.startswith(_PREFIX) and value.endswith(_SUFFIX)):
        return value if _READABLE.fullmatch(value) else None
    if len(value) < len(_PREFIX) + len(_SUFFIX):
        # The prefix and the suffix overlap.
        return None
    try:
        text = value[len(_PREFIX) : -len(_SUFFIX)].encode("ascii")
        data = b64decode(text, validate=True)
        # The unused bits of the last character must be zero.
        return data.decode() if b64encode(data) == text else None
    except (BadBase64, UnicodeError):
        return None


def media_type(content_type: str | None) -> str:
    """Return the type in a `Content-Type`, in lower case, without parameters."""
    return (content_type or "").partition(";")[0].strip().lower()


def retry_after(value: str | None, date: str | None = None) -> float | None:
    """Return the seconds in a `Retry-After`; None if it is missing or malformed.

    A date is relative to the answer's `Date`, because clocks differ (RFC 9110, section 10.2.3).
    Some servers write fractions of seconds.
    """
    text = (value or "").strip()
    if not text:
        return None
    if _SECONDS.fullmatch(text):
        return float(text)
    until, now = _moment(text), _moment(date or "")
    return None if until is None else max(0.0, until - (time() if now is None else now))


def _moment(text: str) -> float | None:
    from email.utils import parsedate_to_datetime  # slow to import

    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def text_of(value: object) -> str | None:
    """Return an argument as text for a header field; None if it cannot be one.

    Integers must be exact as doubles; 42.0 counts as an integer.
    """
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is int and -_LARGEST <= value <= _LARGEST:
        return str(value)
    return None


class HttpFacts:
    """What a revision says of HTTP: header fields that repeat parts of messages, and statuses."""

    def __init__(self, table: MethodTable) -> None:
        self.rules: Final = table.rules
        self.table: Final = table
        self.common: Final = tuple(field for field in self.rules.headers if field.header != _PARAM)
        """The header fields of all requests."""
        varying = self.rules.varying
        vary = ", ".join(field.header for field in self.common if field.path[-1] in varying)
        added = {"vary": vary} if vary else dict[str, str]()
        self.added: Final = added, added | dict(self.rules.error_headers)
        """Further header fields of responses, without and with an error."""
        marks = len(self.common) < len(self.rules.headers)
        self.tool_list: Final[Any] = table.spec_of(LIST_TOOLS) if marks else None
        """The request for tools, if their schemas mark arguments for header fields."""
        self.call_tool: Final = self.tool_list and table.name_of(CALL_TOOL)
        codes = {error.name: code for code, error in table.errors.items()}
        self.mismatch: Final = codes.get("HEADER_MISMATCH", HEADER_MISMATCH)
        """The code of a header field that differs from the message."""

    def status_and_delay(self, error: Mapping[str, Any]) -> tuple[int, float | None]:
        """Return the status of an error, and the seconds until the request may be repeated."""
        spec = self.table.errors.get(error["code"])
        if spec is None:
            return 200, None
        member, unit = spec.retry or ("", "")
        delay = value_at(error, ("data", member))
        is_time = type(delay) in (int, float) and delay >= 0
        return spec.status, delay / (1000 if unit == "ms" else 1) if is_time else None

    def of_method(self, method: str) -> tuple[HeaderField, ...]:
        spec = self.table.requests.get(method)
        return (*self.common, *(spec.headers if spec else ()))

    def request_fields(self, method: str, message: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        return _repeat(self.of_method(method), message)

    def answer_fields(self, answer: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        # Answers may be malformed.
        path = ("result",) if answer.get("error") is None else ("error", "data")
        return _repeat(self.rules.answer_headers, answer, *path)


def is_ours(field: HeaderField) -> bool:
    """Return whether a header field is of the protocol, and so may be encoded."""
    return field.header.startswith("mcp-")


def _repeat(fields: Iterable[HeaderField], message: object, *at: str) -> Iterable[tuple[str, str]]:
    """Yield header fields with values; a standard one that cannot have its value is left out."""
    for field in fields:
        value = value_at(message, (*at, *field.path))
        if isinstance(value, str) and (is_ours(field) or _PLAIN.fullmatch(value)):
            yield field.header, encode_value(value) if is_ours(field) else value


facts_of: Final[Callable[[MethodTable], HttpFacts]] = lru_cache(maxsize=64)(HttpFacts)


def agrees(param: HeaderParam, header_value: str | None, arguments: object) -> bool:
    """Return whether a header field agrees with the arguments; both may be absent.

    Integers are compared as numbers (2026-07-28, basic/transports/streamable-http, "Server
    Validation").
    """
    text = text_of(value_at(arguments, param.path))
    if header_value is None or text is None:
        return header_value is None and text is None
    value = decode_value(header_value)
    if param.type == "integer" and value is not None:
        numbers = [_INTEGER.fullmatch(number) for number in (value, text)]
        if all(numbers):
            return len({int(match[1]) for match in numbers if match}) == 1
    return value == text


def headers_for(params: Iterable[HeaderParam], arguments: object) -> dict[str, str]:
    texts = ((param.header, text_of(value_at(arguments, param.path))) for param in params)
    return {header: encode_value(text) for header, text in texts if text is not None}
