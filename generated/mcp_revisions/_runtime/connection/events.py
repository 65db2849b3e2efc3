"""The events of a connection: what the messages of the peer come to.

Besides these, a connection tells of the requests, notifications, results and errors that are what
they should be (see `messages.method_table`).
"""

from typing import Any, NamedTuple, TypeAlias

from ..core.errors import RemoteError, RequestId
from ..messages.method_table import Error, Notification, Request, Result


class Refusal(NamedTuple):
    """Something that has to be answered with an error, without an id if none could be read."""

    id: RequestId | None
    error: RemoteError


class Failure(NamedTuple):
    """Something that the peer sent as an answer to our request `id`, and is none."""

    id: RequestId
    error: RemoteError


class Ignored(NamedTuple):
    """A message that nobody is waiting for and that must not be answered."""

    error: RemoteError


class Cancelled(NamedTuple):
    """The cancellation of the request `id` of the peer, which is not to be answered any more."""

    id: RequestId
    notification: Notification[Any]


class Ended(NamedTuple):
    """The end of what our request `id` started; its answer may still follow."""

    id: RequestId
    notification: Notification[Any]


class Progressed(NamedTuple):
    """A report of how far our request `id` has come."""

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
