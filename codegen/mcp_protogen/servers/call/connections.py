"""Connections to servers of all revisions, with one set of handlers.

There is a client for each revision, so that nothing is translated: users see the messages of the
server as it sent them. Handlers take and return JSON objects.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import inf
from types import ModuleType
from typing import Any, Final, Protocol, TypeAlias

from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean
from mcp_protogen.runtime.core.losses import Loss
from mcp_protogen.runtime.core.models.base import WireModel
from mcp_protogen.runtime.core.options import Options
from mcp_protogen.runtime.core.revision import Revision
from mcp_protogen.runtime.messages.method_table import EXTENSIONS
from mcp_protogen.runtime.transports.base import Opener
from mcp_protogen.servers.connect.protocol import protocol

JSON: TypeAlias = Mapping[str, Any]
Answerer: TypeAlias = Callable[[JSON], Awaitable[JSON]]
"""Answers a request of the server: params in, result out."""
Hearer: TypeAlias = Callable[[JSON], None]
"""Takes note of a notification by its params."""

ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"
ROOTS: Final = "roots/list"
LOGGED: Final = "notifications/message"
TASKS: Final = "io.modelcontextprotocol/tasks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """The abilities of the client; it declares exactly these.

    `answers` are for requests and `hears` for notifications, by method. `pages` says whether the
    user can be sent to a page of the web.
    """

    answers: Mapping[str, Answerer] = field(default_factory=dict[str, Answerer])
    hears: Mapping[str, Hearer] = field(default_factory=dict[str, Hearer])
    pages: bool = False


class Client(Protocol):
    """The methods of generated clients that this package uses."""

    TABLE: Any
    __mcp_runtime__: Any

    @property
    def revision(self) -> str: ...
    @property
    def instructions(self) -> str | None: ...
    @property
    def server_info(self) -> WireModel | None: ...
    @property
    def server_capabilities(self) -> WireModel: ...
    @property
    def request(self) -> Callable[..., Awaitable[WireModel]]: ...
    @property
    def call_tool(self) -> Callable[..., Awaitable[WireModel]]: ...
    @property
    def start_task(self) -> Callable[..., Awaitable[Any]]: ...
    @property
    def read_resource(self) -> Callable[..., Awaitable[WireModel]]: ...
    @property
    def get_prompt(self) -> Callable[..., Awaitable[WireModel]]: ...
    @property
    def complete(self) -> Callable[..., Awaitable[WireModel]]: ...
    @property
    def set_level(self) -> Callable[..., Awaitable[WireModel]]: ...
    @property
    def iter_tools(self) -> Callable[..., AsyncIterator[WireModel]]: ...
    @property
    def iter_prompts(self) -> Callable[..., AsyncIterator[WireModel]]: ...
    @property
    def iter_resources(self) -> Callable[..., AsyncIterator[WireModel]]: ...
    @property
    def iter_resource_templates(self) -> Callable[..., AsyncIterator[WireModel]]: ...


@asynccontextmanager
async def connect_client(
    opener: Opener,
    abilities: Abilities,
    *,
    revision: str | None = None,
    timeout: float = 30.0,
    on_loss: Callable[[Loss], object] | None = None,
) -> AsyncGenerator[Client, None]:
    """Connect to a server in any revision, or in the named one.

    `on_loss` gets the repairs of messages that break the schema. Raise `ProblemError`
    (`unknown-revision`), and the errors of the package's `connect`.
    """
    package = protocol()
    clients = [
        _client(candidate, abilities) for candidate in _revisions(package.REVISIONS, revision)
    ]
    options = Options(
        timeout=timeout,
        timeouts={},
        max_timeout=inf,
        initialize_timeout=timeout,
        probe_timeout=min(timeout, Options().probe_timeout),
        lenient=True,
        on_loss=on_loss,
    )
    async with package.connect(opener, *clients, options=options) as client:
        yield client


def server_capabilities(client: Client) -> JSON:
    """Return the capabilities of the server."""
    return client.server_capabilities.to_wire()


def assume(client: Client, capability: str) -> None:
    """Allow requests that need a capability of the server, declared or not."""
    sides = client.__mcp_runtime__.endpoint.connection.declared
    sides["server"] = {**sides["server"], capability: sides["server"].get(capability) or {}}


def has_task_extension(client: Client) -> bool:
    """Return whether the server decides by itself which calls become tasks (2026-07-28)."""
    return TASKS in (server_capabilities(client).get(EXTENSIONS) or {})


def request_meta(client: Client, log_level: str | None) -> dict[str, Any]:
    """Return the call option that asks for log entries, in revisions where each call does."""
    revision = next(
        candidate for candidate in protocol().REVISIONS if candidate.id == client.revision
    )
    if log_level is None or hasattr(client, "set_level"):
        return {}
    return {"meta": revision.load().models.RequestMetaObject(log_level=log_level)}


def _revisions(every: list[Revision], named: str | None) -> list[Revision]:
    if named is None:
        return every
    chosen = [revision for revision in every if revision.id == named]
    if not chosen:
        hint = did_you_mean(named, [revision.id for revision in every])
        message = f"there is no revision {named!r:.40}"
        raise ProblemError(Problem("unknown-revision", message, "--revision", hint=hint))
    return chosen


class _Info(WireModel):
    """The name of this client, in any revision."""

    name: str
    version: str


def _client(revision: Revision, abilities: Abilities) -> Any:
    module = revision.load()
    base: Any = module.Client
    requests = {**base.REQUESTS, **base.INPUT_REQUESTS}
    members: dict[str, Any] = {
        requests[method][1]: _answering(requests[method][0].results[0], answer)
        for method, answer in abilities.answers.items()
        if method in requests
    }
    for method, hear in abilities.hears.items():
        members[base.NOTIFICATIONS[method][1]] = _hearing(hear)
    from mcp_protogen import __version__

    members["info"] = _Info(name="mcp-gen", version=__version__)
    if abilities.pages and ELICIT in abilities.answers and _has_pages(base):
        members["DECLARES"] = {"elicitation": {"form": {}, "url": {}}}
    return type("Client", (*_task_bases(module), base), members)()


def _has_pages(base: Any) -> bool:
    """Return whether a server of the revision can send users to pages."""
    spec, _ = {**base.REQUESTS, **base.INPUT_REQUESTS}.get(ELICIT, (None, ""))
    needs = () if spec is None else spec.requires
    return any(need.capability.path[-1] == "url" for need in needs)


def _task_bases(module: ModuleType) -> tuple[Any, ...]:
    """Return the base classes with which a client can call tools as tasks."""
    extension = module.__mcp_part__("tasks")
    if extension is not None:
        return (extension.TasksClient,)
    return (protocol().TaskCalls,) if has_core_tasks(module) else ()


def has_core_tasks(module: ModuleType) -> bool:
    """Return whether a revision has tasks without an extension."""
    return hasattr(module.Client, "get_task")


def _answering(result: type[WireModel], answer: Answerer) -> Any:
    async def handle(self: object, params: WireModel | None) -> WireModel:
        del self
        return result.from_wire(dict(await answer({} if params is None else params.to_wire())))

    return handle


def _hearing(hear: Hearer) -> Any:
    async def handle(self: object, params: WireModel) -> None:
        del self
        hear(params.to_wire())

    return handle
