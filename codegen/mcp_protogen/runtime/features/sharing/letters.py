"""Letters between the workers of an endpoint; `session` is always the key of a session."""

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal, TypeAlias

from pydantic import Discriminator, TypeAdapter

from ...core.json import JSONObject
from ...http.server.sessions.peers import StreamClaimed, StreamTaken


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionChanged:
    """The record of a session was written: open it again."""

    session: str
    kind: Literal["changed"] = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnded:
    """A session was ended by its client."""

    session: str
    kind: Literal["ended"] = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientNotified:
    """A client sent a notification, of which a handler here may have to know."""

    session: str
    principal_id: str | None
    message: str
    kind: Literal["notified"] = "notified"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientAnswered:
    """A client answered a request of this worker, or reported progress of it."""

    session: str
    principal_id: str | None
    message: str
    fault: str = ""
    """What is wrong with an answer that cannot be told by its text."""
    kind: Literal["answered"] = "answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """Something was appended to a stream."""

    session: str
    stream: str
    kind: Literal["wake"] = "wake"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """The letter of that number was dealt with."""

    number: int
    answer: JSONObject | None = None
    kind: Literal["acknowledged"] = "acknowledged"


Letter: TypeAlias = (
    SessionChanged
    | SessionEnded
    | ClientNotified
    | ClientAnswered
    | StreamClaimed
    | StreamTaken
    | Wake
    | Acknowledged
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    sender: str
    letter: Annotated[Letter, Discriminator("kind")]
    number: int | None = None
    """The number under which the sender waits for an acknowledgement."""


@cache
def envelopes() -> TypeAdapter[Envelope]:
    # Not made where nobody sends letters.
    return TypeAdapter(Envelope)
