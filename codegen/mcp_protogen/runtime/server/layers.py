"""What features add to a server: a layer around its requests, and what works beside them."""

from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from ..core.json import JSONObject
from ..messages.codec import Request
from ..rpc.jobs import Job

Follow: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Sends where something stands, and again whenever that changes, to its end."""
Following: TypeAlias = Mapping[str, Follow]


class Layer(Protocol):
    """What stands around the requests of a server in one revision."""

    handlers: Mapping[str, Callable[..., Awaitable[Any]]] = MappingProxyType({})
    """Answers further methods."""
    hidden: Collection[str] = ()
    ids_member: str = ""
    """The member of the filter of a listen stream with the ids of what `followed` follows."""

    def extend_capabilities(self, declared: JSONObject, /) -> JSONObject:
        """Return what the server declares, given that without the layer."""
        return declared

    async def serve(self, connection: Any, job: Job, /) -> Any:
        return await connection.answer_to(job)

    async def find_following(
        self, connection: Any, request: Request[Any], ids: Collection[str], /
    ) -> Following:
        """Return, by id, what a listen stream may hear of; raise `MissingClientCapability`."""
        return {}


class Runner(Protocol):
    async def close(self, within: float, /) -> None: ...


class Host:
    """What works beside the requests of one application, once there is need of it."""

    def __init__(self) -> None:
        self.runner: Runner | None = None
        self.engine: Callable[[], Any] | None = None

    async def close(self, within: float) -> None:
        """End that work: by itself for `within` seconds, then at once."""
        if self.runner is not None:
            await self.runner.close(within)
