"""Which of our requests a message of the peer belongs to, if the transport knows."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, Self

from ..core.errors import RequestId
from .base import Received


class RelatedMessage(bytes):
    """A message in the response to the POST of `request`, before the answer."""

    request: RequestId

    def __new__(cls, text: bytes, request: RequestId) -> Self:
        message = super().__new__(cls, text)
        message.request = request
        return message


RELATED_REQUEST: Final[ContextVar[RequestId | None]] = ContextVar("related request", default=None)
"""The request of the message that is being handled, also in the tasks that it begins."""


def with_related(take: Callable[[Received], bool]) -> Callable[[Received], bool]:
    """Return `take`, which handles a message, with `RELATED_REQUEST` set."""

    def take_related(received: Received) -> bool:
        RELATED_REQUEST.set(received.request if isinstance(received, RelatedMessage) else None)
        return take(received)

    return take_related
