"""Messages between the workers of an endpoint; `session` is the key of a session."""

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import Discriminator

from ...core.json import JSONObject
from ...http.server.sessions.worker import StreamClaimed, StreamTaken


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionChanged:
    """The record of a session was written: read it again."""

    session: str
    kind: Literal["changed"] = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnded:
    """A client ended a session."""

    session: str
    kind: Literal["ended"] = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSent:
    """A client sent a notification, or an answer, for this worker."""

    session: str
    principal_id: str | None
    message: str
    fault: str = ""
    """The fault of an answer, if its text does not show it."""
    kind: Literal["sent"] = "sent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """Events were appended to a stream."""

    session: str
    stream: str
    kind: Literal["wake"] = "wake"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """A message was handled."""

    number: int
    answer: JSONObject | None = None
    kind: Literal["acknowledged"] = "acknowledged"


WorkerMessage: TypeAlias = (
    SessionChanged | SessionEnded | ClientSent | StreamClaimed | StreamTaken | Wake | Acknowledged
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    sender: str
    message: Annotated[WorkerMessage, Discriminator("kind")]
    number: int | None = None
    """Set if the sender waits for an acknowledgement of this number."""
