"""What a bridge has of tasks, whether or not its package has any.

All that does not pass as it came is the work of `CarriesTasks`, which a package without tasks does
not have.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol

from ...client.base import Caller, ClientRuntime
from ...core.json import JSONObject, is_object
from ...core.options import CallOptions
from ...core.spec import AnyRequest
from ...rules.task_forms import RELATED_TASK
from ...server.context import RequestContext
from ...server.layers import Layer

_related: Final[ContextVar[str | None]] = ContextVar("related task", default=None)


def related_task() -> str | None:
    return _related.get()


@contextmanager
def relating(id: str | None) -> Generator[None, None, None]:
    token = _related.set(id)
    try:
        yield
    finally:
        _related.reset(token)


def task_of(meta: Mapping[str, Any]) -> str | None:
    related = meta.get(RELATED_TASK)
    id: object = related.get("taskId") if is_object(related) else None
    return id if isinstance(id, str) else None


class TaskCarrier(Layer, Protocol):
    """What carries tasks for one client; `handlers` answer methods that are not passed on."""

    def offered(self, server: Mapping[str, Any], /) -> JSONObject:
        """Return what the client is told of tasks, in place of what its server declares."""
        ...

    async def call(
        self, context: RequestContext, spec: AnyRequest, params: Any, options: CallOptions, /
    ) -> Any:
        """Return the result of a tool, or the task that a call becomes."""
        ...

    def listed(self, result: Any, /) -> Any:
        """Return a list of tools with what their entries say of tasks."""
        ...

    async def ask(self, id: str, spec: AnyRequest, params: Any, /) -> Any:
        """Return the client's answer to a question of a task."""
        ...

    def told(self) -> None:
        """Take note that the server has notified of a task."""


class CarriesTasks(Protocol):
    """What a bridge needs to carry tasks."""

    @property
    def caller(self) -> Callable[[ClientRuntime], Caller]:
        """Return what makes the calls of the half that speaks to the server."""
        ...

    def between(self, client: Any, server: Any, /) -> TaskCarrier | None:
        """Return what carries tasks between the two halves; None where no server has any."""
        ...
