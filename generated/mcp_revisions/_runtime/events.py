"""What comes of what the peer sends: the events of a connection.

Besides these, a connection tells of the requests, notifications, results and errors that are what
they should be (see `dispatch`).
"""

from typing import Any, NamedTuple, TypeAlias

from .dispatch import Error, Notification, Request, Result
from .errors import RemoteError, RequestId


class Refusal(NamedTuple):
    """Something that has to be answered with an error, without an id if none could be read."""

    id: RequestId | None
    error: RemoteError


class Failure(NamedTuple):
    """The peer answered the request `id` with something that is no answer to it."""

    id: RequestId
    error: RemoteError


class Ignored(NamedTuple):
    """A message that nobody is waiting for and that must not be answered."""

    error: RemoteError


class Cancelled(NamedTuple):
    """The peer gave up its request `id`, which is not to be answered any more."""

    id: RequestId
    notification: Notification[Any]


class Ended(NamedTuple):
    """The peer ends what our request `id` started; its answer may still follow."""

    id: RequestId
    notification: Notification[Any]


class Progressed(NamedTuple):
    """The peer reports how far our request `id` has come."""

    id: RequestId
    notification: Notification[Any]


Event: TypeAlias = (
    Request[Any]
    | Notification[Any]
    | Result[Any]
    | Error
    | Refusal
    | Failure
    | Ignored
    | Cancelled
    | Ended
    | Progressed
)
