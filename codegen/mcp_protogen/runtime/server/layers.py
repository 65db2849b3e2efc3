"""What features add to a server: a layer around its requests, and what works beside them."""

from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from typing import Any, Protocol, TypeAlias

from ..core.json import JSONObject
from ..messages.method_table import Request
from ..rpc.jobs import Job

Follow: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Sends where something stands, and again whenever that changes, to its end."""
Following: TypeAlias = Mapping[str, Follow]


class Layer(Protocol):
    """What stands around the requests of a server in one revision."""

    @property
    def handlers(self) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """Return what answers further methods, by wire name, above the handlers of the server."""
        ...

    @property
    def hidden(self) -> Collection[str]:
        """Return the methods that nobody is answered."""
        ...

    def declared(self, declared: JSONObject, /) -> JSONObject:
        """Return what the server declares, given its capabilities without the layer."""
        ...

    async def serve(self, connection: Any, job: Job, /) -> Any:
        """Return the result of any request, or what stands for it."""
        ...

    async def followed(
        self, connection: Any, request: Request[Any], ids: Collection[str], /
    ) -> Following:
        """Return what follows those of some things that a listen stream may hear of, by id.

        Raise `MissingClientCapability`.
        """
        ...


class Runner(Protocol):
    """What works beside the requests of one application."""

    async def close(self, within: float, /) -> None: ...


class Host:
    """The place for what works beside the requests of one application, once there is need of it."""

    def __init__(self) -> None:
        self.runner: Runner | None = None
        self.engine: Callable[[], Any] | None = None
        """Returns what workers share, if they share anything."""

    async def close(self, within: float) -> None:
        """End that work: by itself for `within` seconds, then at once."""
        if self.runner is not None:
            await self.runner.close(within)
