"""Additions of features to a server: a layer around its requests, and background work."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from ..core.json import JSONObject
from ..messages.codec import Request
from ..rpc.jobs import Job, Work
from ..rules.handlers import Handler

Follow: TypeAlias = Callable[[], Work]
"""Sends a status now and at each change, until its end."""
Following: TypeAlias = Mapping[str, Follow]


class Layer(Protocol):
    """A layer around the requests of a server in one revision."""

    handlers: Mapping[str, Handler] = MappingProxyType({})
    hidden: Collection[str] = ()

    def extend_capabilities(self, declared: JSONObject, /) -> JSONObject:
        """Return the capabilities with the layer, given those without."""
        return declared

    async def serve(self, connection: Any, job: Job, /) -> Any:
        return await connection.answer_to(job)

    async def find_following(
        self, connection: Any, request: Request[Any], ids: Collection[str], /
    ) -> Following:
        """Return, by id, what a listen stream may follow; raise `MissingClientCapability`."""
        return {}


class Runner(Protocol):
    async def close(self, within: float, /) -> None: ...


class Host:
    """Background work of one application, started on demand."""

    def __init__(self) -> None:
        self.runner: Runner | None = None
        self.engine: Callable[[], Any] | None = None

    async def close(self, within: float) -> None:
        if self.runner is not None:
            await self.runner.close(within)
