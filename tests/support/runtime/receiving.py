"""The events of a connection for the text of a message, as its driver takes them."""

from mcp_protogen.runtime.connection import Connection, Event, Refusal
from mcp_protogen.runtime.core.errors import RemoteError
from mcp_protogen.runtime.messages import reading


def take_events(connection: Connection, data: bytes | str, now: float = 0.0) -> Event | list[Event]:
    """Return the event of a message, or a list of them for a batch."""
    try:
        message = reading.read(data)
        if not isinstance(message, reading.Batch):
            return connection.take(message, now)
        connection.check_batch(message)
    except RemoteError as error:
        return Refusal(error.id, error)
    return [connection.take(member, now) for member in message.members]
