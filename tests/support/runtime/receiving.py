"""What a connection makes of the text of a message, as whoever drives it lets it have one."""

from importlib import import_module
from typing import Any


def received(connection: Any, data: bytes | str, now: float = 0.0) -> Any:
    """Return what came: one event, or a list of them for a batch."""
    # The runtime of the generator, or that of a generated package.
    runtime = type(connection).__module__.removesuffix(".connection")
    jsonrpc = import_module(f"{runtime}.messages.jsonrpc")
    try:
        message = jsonrpc.read(data)
        if not isinstance(message, jsonrpc.Batch):
            return connection.take(message, now)
        connection.check_batch(message)
    except import_module(f"{runtime}.core.errors").RemoteError as error:
        return import_module(f"{runtime}.connection").Refusal(error.id, error)
    return [connection.take(member, now) for member in message.members]
