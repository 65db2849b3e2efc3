"""From what a handler raises to the error that goes back.

The peer learns that something failed, never what: texts of exceptions hold secrets. What is to be
known of a fault is in the log of this side.
"""

from asyncio import CancelledError, current_task
from logging import getLogger
from typing import Final

from ..connection.connection import Connection
from ..core.errors import (
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
    Untranslatable,
)
from ..core.spec import Capability
from ..core.throttle import Throttle
from ..rules import capabilities

_log: Final = getLogger(__name__)

# The answers that a handler may choose; any other exception is a fault whose text stays here.
_CHOSEN: Final = (
    McpError,
    Untranslatable,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    MissingClientCapability,
)


def is_cancellation(error: BaseException) -> bool:
    """Return whether what a handler raised ends the task, and is no failure of the handler."""
    if not isinstance(error, CancelledError):
        return False
    # Where nobody has cancelled the task, it was something that the handler waited for.
    task = current_task()
    return task is None or task.cancelling() > 0


def error_of_handler(
    error: BaseException, method: str, connection: Connection, log: Throttle
) -> ProtocolError:
    """Return the error that answers a request whose handler raised `error`.

    `log` is for what the peer may do without end.
    """
    if isinstance(error, _CHOSEN):
        return error
    if isinstance(error, MissingCapability):
        return _lacking(connection, error)
    if isinstance(error, (RemoteError, Disconnected)):
        # The peer, who was asked something meanwhile, is at fault, and no handler.
        log.warning("%.100r was not answered: %r", method, str(error))
    else:
        _log.error("the handler of %.100r failed", method, exc_info=error)
    return fault("Internal error")


def error_of_result(error: LocalError, method: str, log: Throttle) -> ProtocolError:
    """Return the error that answers a request in place of a result that cannot be sent."""
    if isinstance(error, Untranslatable):
        log.warning("the answer to %.100r cannot be sent: %s", method, error)
        return fault(str(error))
    _log.error("the handler of %.100r returned what cannot be sent", method, exc_info=error)
    return fault("Internal error")


def _lacking(connection: Connection, error: MissingCapability) -> ProtocolError:
    """Return what to say of a capability that a handler counted on."""
    if error.role != connection.peer:
        # This side forgot to declare it, which is nobody else's business.
        _log.error("a handler failed: %s", error)
        return fault("Internal error")
    required = capabilities.declare([Capability(connection.peer, error.steps)])
    if connection.table.era.names_missing_capabilities:
        return MissingClientCapability(str(error), required)
    data = {"requiredCapabilities": required}
    return ProtocolError(str(error), code=INTERNAL_ERROR, data=data)


def fault(message: str) -> ProtocolError:
    """Return an error that is this side's own."""
    return ProtocolError(message, code=INTERNAL_ERROR)
