"""The two halves of a bridge, as far as what carries tasks needs them."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ....client.base import Caller
from ....core.options import TaskLimits
from ....messages.method_table import MethodTable
from ....rpc.endpoint import Endpoint
from ....rules.handlers import Handlers


class ClientWithTasks(Protocol):
    awaited: Callable[[Awaitable[Any]], Awaitable[Any]]
    call: Callable[..., Awaitable[Any]]
    caller: Caller | None
    carries: bool
    declaring: Callable[[object], bytes | None]
    endpoint: Endpoint
    lose: Callable[[str, str, str], None]
    peer_declared: Callable[[], Mapping[str, Any]]
    spoken: MethodTable
    task_options: TaskLimits | None


class ServerWithTasks(Protocol):
    owner: Handlers
    put: Callable[..., Awaitable[Any]]
    relating: Callable[[str | None], AbstractContextManager[None]]
