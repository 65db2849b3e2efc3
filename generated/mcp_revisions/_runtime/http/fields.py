"""The HTTP header fields of the protocol, and how values travel in them.

Field names are in lower case, as HTTP/2 wants them; they are compared ignoring case, values are
not (2026-07-28, basic/transports/streamable-http, "Case Sensitivity").
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

PROTOCOL_VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
PARAM_PREFIX: Final = "mcp-param-"
SESSION_ID: Final = "mcp-session-id"
LAST_EVENT_ID: Final = "last-event-id"

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

NAMED: Final[Mapping[str, str]] = MappingProxyType(
    {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
)
"""The methods with a `Mcp-Name`, and the member of their params that it repeats."""

_PREFIX: Final = "=?base64?"
_SUFFIX: Final = "?="

# A tab may stand in a field value, but travels unharmed only when encoded; so do edge spaces.
_PLAIN: Final = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")
_READABLE: Final = re.compile(r"[\t -~]*")


def encoded(value: str) -> str:
    """A value as it may stand in `Mcp-Name` and `Mcp-Param-*`: as it is, or else in Base64.

    Also a plain value that looks like an encoded one is encoded (2026-07-28,
    basic/transports/streamable-http, "Value Encoding"). Raises `UnicodeEncodeError` for lone
    surrogates, which no message can hold.
    """
    if _PLAIN.fullmatch(value) and not _is_marked(value):
        return value
    return f"{_PREFIX}{b64encode(value.encode()).decode()}{_SUFFIX}"


def decoded(value: str) -> str | None:
    """What a field value stands for; None if it is malformed.

    Base64 has to be strict, with its padding: an intermediary that reads it in another way would
    otherwise see another value than the server does.
    """
    if not _is_marked(value):
        return value if _READABLE.fullmatch(value) else None
    if len(value) < len(_PREFIX) + len(_SUFFIX):
        # The two marks share a character, so nothing is between them.
        return None
    try:
        text = value[len(_PREFIX) : -len(_SUFFIX)].encode("ascii")
        data = b64decode(text, validate=True)
        # The bits that padding leaves over have to be zero.
        return data.decode() if b64encode(data) == text else None
    except (BadBase64, UnicodeError):
        return None


def _is_marked(value: str) -> bool:
    return value.startswith(_PREFIX) and value.endswith(_SUFFIX)


def media_type(content_type: str | None) -> str:
    """The type in a `Content-Type`, in lower case and without its parameters."""
    return (content_type or "").partition(";")[0].strip().lower()
