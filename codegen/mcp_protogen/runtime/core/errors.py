"""Errors of messages: `LocalError` is a fault of this side, `RemoteError` one of the peer."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal, NamedTuple, Self, TypeAlias

RequestId: TypeAlias = str | int
Meant: TypeAlias = Literal["answer", "call", "message", "text"]
"""The apparent purpose of an unreadable text: a kind of message, or a line for people."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022


class Problem(NamedTuple):
    """One fault of a message, at a JSON pointer."""

    pointer: str
    message: str


def escape_step(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


class ProtocolError(Exception):
    """The base of errors that stop a message from being sent, read or answered with a result."""

    CODE: ClassVar[int] = INTERNAL_ERROR

    def __init__(self, message: str, *, code: int | None = None, data: Any = None) -> None:
        super().__init__(message)
        self.message: Final = message
        self.code: Final = self.CODE if code is None else code
        self.data: Final = data


class McpError(ProtocolError):
    """An error response, with the code, message and data that its sender chose."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message, code=code, data=data)

    def with_code(self, code: int, data: Any) -> Self:
        """Return this error with another code and other data; it keeps its status over HTTP."""
        changed = type(self).__new__(type(self), self.message)
        changed.__dict__.update(self.__dict__, code=code, data=data)
        return changed


class LocalError(ProtocolError):
    """A message that this side may not send by the rules of the protocol; nothing was written."""


class Untranslatable(LocalError):
    """A value that the other revision cannot express; nothing was sent."""

    CODE = INVALID_PARAMS

    def __init__(self, pointer: str, why: str, *, code: int | None = None) -> None:
        super().__init__(f"{pointer or '/'}: {why}", code=code)
        self.pointer: Final = pointer
        self.why: Final = why


class MissingCapability(LocalError):
    """A message needs a capability that one side, named in `path`, has not declared."""

    CODE = METHOD_NOT_FOUND

    def __init__(self, method: str, path: str, condition: str = "") -> None:
        because = f" when {condition}" if condition else ""
        super().__init__(f"{method} needs the capability {path}{because}, which is not declared")
        self.path: Final = path
        self.condition: Final = condition
        self.role, *steps = path.split(".")
        """The side that must declare it."""
        self.steps: Final = tuple(steps)


class RemoteError(ProtocolError):
    """The peer broke the rules of the protocol; `id` is that of its request, if it was read."""

    meant: Meant = "call"

    def __init__(self, message: str, *, id: RequestId | None = None, data: Any = None) -> None:
        super().__init__(message, data=data)
        self.id: Final = id

    @property
    def is_answer(self) -> bool:
        return self.meant == "answer"


class ParseError(RemoteError):
    """The received text is not JSON."""

    CODE = PARSE_ERROR
    meant: Meant = "text"


class InvalidRequest(RemoteError):
    """The received JSON is not a request, a notification or a response."""

    CODE = INVALID_REQUEST


class MethodNotFound(RemoteError):
    """The method is unknown in this revision, not allowed for this sender, or not implemented."""

    CODE = METHOD_NOT_FOUND

    def __init__(self, method: str, *, id: RequestId | None = None) -> None:
        super().__init__(f"Method not found: {method}", id=id)
        self.method: Final = method


class Invalid(RemoteError):
    """Members that break the schema; `data` lists a pointer and a message for each."""

    def __init__(
        self, message: str, problems: Sequence[tuple[str, str]] = (), *, id: RequestId | None = None
    ) -> None:
        items = [{"pointer": pointer, "message": text} for pointer, text in problems]
        super().__init__(message, id=id, data={"problems": items} if items else None)
        self.problems: Final = tuple(problems)

    def __str__(self) -> str:
        return "; ".join([self.message, *(f"{at or '/'}: {text}" for at, text in self.problems)])


class InvalidParams(Invalid):
    """The params of a request or notification do not fit its method."""

    CODE = INVALID_PARAMS


class InvalidAnswer(Invalid):
    """A response that is malformed or does not fit its request; it gets no answer."""

    CODE = INVALID_REQUEST
    meant: Meant = "answer"
