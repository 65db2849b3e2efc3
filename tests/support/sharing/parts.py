"""Connections to an engine in memory whose calls all pass through one method."""

from collections.abc import Sequence
from typing import Any, Protocol


class Calls(Protocol):
    async def call(self, part: str, method: str, given: Sequence[Any], named: Any) -> Any: ...


class Part:
    """A proxy for `sessions`, `events`, `tasks`, `mail` or `bus` of a connection."""

    def __init__(self, connection: Calls, name: str) -> None:
        self._connection = connection
        self._name = name

    def __getattr__(self, method: str) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            return self._connection.call(self._name, method, given, named)

        return call
