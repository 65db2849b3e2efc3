"""From what a handler returns or raises to the answer that goes back."""

from asyncio import CancelledError, current_task
from collections.abc import Awaitable, Callable
from logging import getLogger
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from . import gate
from .codec import MethodTable
from .dispatch import Request
from .errors import (
    INTERNAL_ERROR,
    Disconnected,
    InvalidParams,
    InvalidRequest,
    LocalError,
    McpError,
    MethodNotFound,
    MissingCapability,
    MissingClientCapability,
    ProtocolError,
    RemoteError,
    RequestId,
)
from .jobs import Job
from .spec import Capability, Role
from .throttle import Throttle
from .translation.losses import Untranslatable

_log: Final = getLogger(__name__)

Serve: TypeAlias = Callable[[Job], Awaitable[Any]]
"""What gives the result of a request."""


class Answering(Protocol):
    """What has to be known of a connection to answer a request that came over it."""

    @property
    def table(self) -> MethodTable:
        """What travels over it."""
        ...

    @property
    def peer(self) -> Role:
        """The side that asks."""
        ...

    def is_open(self, id: RequestId, /) -> bool:
        """See `Connection.is_open`."""
        ...

    def answer(self, request: Request[Any], result: Any) -> bytes | None:
        """See `Connection.answer`."""
        ...

    def refuse(self, id: RequestId | None, error: ProtocolError) -> bytes | None:
        """See `Connection.refuse`."""
        ...


class Answer(NamedTuple):
    """An answer as JSON text, and the code it has in this side's own revision if it is an error.

    There is no text where nobody waits for the answer any more.
    """

    data: bytes | None
    code: int | None = None


# The answers that a handler may choose; any other exception is a fault whose text stays here.
_CHOSEN: Final = (
    McpError,
    Untranslatable,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    MissingClientCapability,
)


async def answer_to(job: Job, serve: Serve, connection: Answering, log: Throttle) -> Answer:
    """The answer to a request, whatever becomes of its handler; cancelling ends the handler.

    `log` is for what the peer may do without end.
    """
    request = job.request
    try:
        result = await serve(job)
    except _CHOSEN as error:
        return _refused(connection, request, error)
    except MissingCapability as error:
        return _refused(connection, request, _lacking(connection, error))
    except (RemoteError, Disconnected) as error:
        # The peer, who was asked something meanwhile, is at fault, and no handler.
        log.warning("%.100r was not answered: %r", request.spec.method, str(error))
        return _refused(connection, request, fault("Internal error"))
    except CancelledError:
        task = current_task()
        if task is None or task.cancelling():
            raise
        # Nobody has cancelled the request: it was something that the handler waited for.
        _log.exception("the handler of %.100r failed", request.spec.method)
        return _refused(connection, request, fault("Internal error"))
    except Exception:
        # The peer learns that something failed, never what: texts of exceptions hold secrets.
        _log.exception("the handler of %.100r failed", request.spec.method)
        return _refused(connection, request, fault("Internal error"))
    return _written(connection, request, result, log)


def _written(connection: Answering, request: Request[Any], result: Any, log: Throttle) -> Answer:
    try:
        return Answer(connection.answer(request, result))
    except Untranslatable as error:
        log.warning("the answer to %.100r cannot be sent: %s", request.spec.method, error)
        return _refused(connection, request, fault(str(error)))
    except LocalError:
        _log.exception("the handler of %.100r returned what cannot be sent", request.spec.method)
        return _refused(connection, request, fault("Internal error"))


def _lacking(connection: Answering, error: MissingCapability) -> ProtocolError:
    """What to say of a capability that a handler counted on."""
    if error.role != connection.peer:
        # This side forgot to declare it, which is nobody else's business.
        _log.error("a handler failed: %s", error)
        return fault("Internal error")
    required = gate.declare([Capability(connection.peer, error.steps)])
    if connection.table.era.names_missing_capabilities:
        return MissingClientCapability(str(error), required)
    data = {"requiredCapabilities": required}
    return ProtocolError(str(error), code=INTERNAL_ERROR, data=data)


def _refused(connection: Answering, request: Request[Any], error: ProtocolError) -> Answer:
    open = connection.is_open(request.id)
    return Answer(connection.refuse(request.id, error) if open else None, error.code)


def fault(message: str) -> ProtocolError:
    """An error that is this side's own."""
    return ProtocolError(message, code=INTERNAL_ERROR)
