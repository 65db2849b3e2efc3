"""Servers in servers: what a mounted one offers is there under a prefix, and answered by it.

To the mounted server, the server it is mounted in is its client, which speaks the revision of its
own class. What a handler asks or reports goes from there to the client of the request.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, TypeVar, cast

from ..core.errors import METHOD_NOT_FOUND, McpError, MethodNotFound, Untranslatable
from ..core.json import JSONObject, is_object
from ..core.losses import LossReport
from ..core.middleware import MethodCall, Middleware, Network, send_through, through
from ..core.models.base import WireModel, declared, validator_of
from ..core.options import CallOptions, Options
from ..core.spec import NotificationSpec, RequestSpec
from ..core.subscriptions import Level
from ..messages.envelope import client_envelope
from ..messages.method_table import MethodTable
from ..rpc.jobs import Job
from ..server.base import OpenConnection, RequestContext, ServerBase, SessionBase
from ..server.rounds import Rounds, read_round
from ..server.serve import has_lifespan
from ..server.strategies import Strategy, strategies
from ..translation.revision_view import adapters_of
from .items import COMPLETE
from .revision_models import LISTS
from .visibility import Named

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

SUBSCRIPTIONS: Final = ("resources/subscribe", "resources/unsubscribe")

_PREFIX: Final = re.compile(r"[A-Za-z0-9_.-]+")
_SCHEME: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:(?://)?)?")
_MEMBERS: Final = {"resources": "uri", "resource_templates": "uri_template"}


def package_of(server: type[Any]) -> str:
    """Return the name of the generated package that the class of a server is made with."""
    generated = next(base for base in server.__mro__ if "REQUESTS" in base.__dict__)
    return generated.__module__.rsplit(".", 2)[0]


def is_private(uri: str) -> bool:
    """Return whether a URI is one that only its server can read.

    Others a client fetches by itself (2025-11-25, server/resources, "Common URI Schemes").
    """
    return not uri.startswith(("http:", "https:"))


def name_of(server: Any) -> str:
    """Return what a server is called; the name of a class."""
    info: WireModel | None = getattr(server, "info", None)
    if isinstance(server, type):
        return server.__name__
    return getattr(info, "name", None) or type(server).__name__


def asked(method: str, params: Any) -> tuple[str, str]:
    """Return what a request is about: the kind of the item, and its name or URI."""
    about = params.ref if method == COMPLETE else params
    uri: str | None = declared(about, "uri")
    if uri is not None:
        return "resources", uri
    return "tools" if method == "tools/call" else "prompts", about.name


class Prefix(NamedTuple):
    """What stands before the names of a mounted server and in its URIs; both may be empty."""

    text: str
    separator: str

    def key(self, kind: str, own: str) -> str:
        """Return the name or URI by which clients know what the server itself calls `own`.

        `scheme://rest` becomes `scheme://prefix/rest`, and `scheme:rest` becomes
        `scheme:prefix/rest`.
        """
        if not self.text:
            return own
        at, start = self._start(kind, own)
        return f"{own[:at]}{start}{own[at:]}"

    def own(self, kind: str, key: str) -> str | None:
        """Return what the server itself calls `key`; None if that is nothing of its own."""
        if not self.text:
            return key
        at, start = self._start(kind, key)
        own = key[:at] + key[at + len(start) :]
        # After a scheme without slashes, a prefix may be followed by some.
        return own if key.startswith(start, at) and self.key(kind, own) == key else None

    def _start(self, kind: str, key: str) -> tuple[int, str]:
        """Return where the prefix is, and what it is there."""
        scheme = _SCHEME.match(key) if kind.startswith("resource") else None
        if scheme is None:
            return 0, f"{self.text}{self.separator}"
        return scheme.end(), f"{self.text}/"

    def check(self) -> None:
        for part in filter(None, (self.text, self.separator)):
            if not _PREFIX.fullmatch(part):
                allowed = "ASCII letters and digits, underscores, hyphens and dots"
                wrong = f"{part!r} cannot be in names, which have {allowed}"
                raise ValueError(f"mount({self.text!r}): {wrong}")
        if self.text and not self.separator:
            raise ValueError(f"mount({self.text!r}): the separator is empty; write it as one, '_'")

    def meets(self, other: "Prefix") -> bool:
        """Return whether one name could be of either; URIs have no separator of their own."""
        one, two = f"{self.text}{self.separator}", f"{other.text}{other.separator}"
        both = self.text and other.text
        return bool(both) and (
            self.text == other.text or one.startswith(two) or two.startswith(one)
        )


class MountedConnection:
    """A connection of the server above, as a mounted server sees it."""

    def __init__(
        self, server: ServerBase[Any], outer: OpenConnection, prefix: Prefix, table: MethodTable
    ) -> None:
        self.server = server
        self.outer = outer
        self.table = table
        """The messages of the mounted server, as the server above writes them."""
        self.endpoint = outer.endpoint
        self.seal, self.audience = outer.seal, outer.audience
        self.middleware: Sequence[Middleware] = server.__mcp_runtime__.middleware()
        self._prefix = prefix

    @property
    def level(self) -> str:
        return self.outer.level

    @property
    def network(self) -> Network | None:
        return self.outer.network

    def session(self) -> Any:
        return MountedContext(self, self.outer.session().__mcp_runtime__).session()

    async def publish(self, method: str, uri: str | None, /) -> None:
        full = None if uri is None else self._prefix.key("resources", uri)
        await self.outer.publish(method, full)


class MountedContext(RequestContext):
    """A request, as a mounted server sees it; `outer` is how the server above does."""

    __slots__ = ("_mounted", "_outer")

    def __init__(self, connection: MountedConnection, outer: RequestContext) -> None:
        super().__init__(connection, outer._request, outer._reply, outer.meta)
        self._mounted = connection
        self._outer = outer
        self.inputs = outer.inputs

    @property
    def rounds(self) -> Rounds | None:
        return self._outer.rounds

    def peer_declared(self) -> Mapping[str, Any]:
        given = self._outer.peer_declared()
        return self._mounted.table.inward("ClientCapabilities", dict(given))

    def peer_info(self) -> Mapping[str, Any] | None:
        info = self._outer.peer_info()
        return info and self._mounted.table.inward("Implementation", dict(info))

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        await self._outer.progress(done, total, message)

    async def log(self, level: Level, data: Any, logger: str | None) -> None:
        await self._outer.log(level, data, logger)

    async def close_stream(self) -> None:
        await self._outer.close_stream()

    async def once(self, key: str, work: Callable[[], Awaitable[T] | T]) -> T:
        return await self._outer.once(key, work)

    def shown(self, method: str, params: JSONObject) -> JSONObject:
        return self._outer.shown(method, self._mounted.table.carry_out(method, "params", params))

    def _across(self, spec: Any, params: Any) -> tuple[Any, Any]:
        """Return the spec and the params of a message in the revision of the server above."""
        outer, method = self._outer.table, spec.method
        if outer.revision == self.table.revision:
            return spec, params
        tables = (outer.requests, outer.input_requests, outer.notifications)
        native = next((table[method] for table in tables if method in table), None)
        if native is None:
            why = f"{outer.revision} has no {method}"
            raise Untranslatable("", why, code=METHOD_NOT_FOUND)
        if params is None:
            return native, None
        wire = self._mounted.table.carry_out(method, "params", params.to_wire())
        return native, validator_of(native.params)(wire)

    def job(self, spec: RequestSpec[Any, Any], params: Any) -> Job:
        """Return a request of the mounted server's revision in place of the one that came."""
        assert self._request is not None and self._reply is not None
        return Job(self._request._replace(spec=spec, params=params), self._reply)

    def carried_in(self, spec: RequestSpec[Any, Any], params: Any) -> Any:
        """Return the params that the server above has read, in the mounted server's revision."""
        table: Any = self._mounted.table
        wire: JSONObject = table.carry_in(spec.method, "params", params.to_wire())
        own, above = self.table, self._outer.table
        if above.era.remembers_client and not own.era.remembers_client:
            called = self.peer_info() or {"name": "unknown", "version": "0"}
            said = client_envelope(own.revision, dict(self.peer_declared()), dict(called))
            wire = {**wire, "_meta": {**wire.get("_meta", {}), **said}}
        return validator_of(spec.params)(wire)

    def carried_out(self, method: str, result: Any) -> Any:
        """Return a result in the revision of the server above."""
        wire = self._mounted.table.carry_out(method, "result", result.to_wire())
        return self._outer.table.read_result(self._outer.table.requests[method], wire)

    async def notify(self, spec: NotificationSpec[P], params: P | None) -> None:
        await self._outer.notify(*self._across(spec, params))

    async def put(self, spec: RequestSpec[P, R], params: P | None, options: CallOptions) -> R:
        middleware = self._mounted.middleware
        if not middleware:
            return await self._put(spec, params, options)

        async def send(changed: Any) -> R:
            return await self._put(spec, changed, options)

        call = partial(self.call, spec.method)
        answered: R = await send_through(middleware, send, spec.params, params, call)
        return answered

    async def _put(self, spec: RequestSpec[P, R], params: P | None, options: CallOptions) -> R:
        native, given = self._across(spec, params)
        answer: Any = await self._outer.put(native, given, options)
        if native is spec or not isinstance(answer, native.results[0]):
            return cast(R, answer)
        return self._mounted.table.read_response(spec, answer.to_wire())


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A mounted server for one connection of the server above."""

    connection: MountedConnection
    handlers: Mapping[str, Callable[..., Awaitable[Any]]]
    strategies: Mapping[str, Strategy] | None = None
    """How some handlers are run, if the server is of another revision."""

    async def handle(self, method: str, outer: RequestContext, params: Any) -> Any:
        """Return the result of a request in the revision of the server above."""
        context, handler = MountedContext(self.connection, outer), self.handlers.get(method)
        if handler is None:
            raise MethodNotFound(method)
        if self.strategies is None:
            return await self._through(method, handler, context, params)
        table, spec = self.connection.table, context.table.requests[method]
        strategy, given = self.strategies.get(method), context.carried_in(spec, params)
        if context.inputs is not None and context.table.input_requests:
            # The server above has read them in its own revision.
            asking = context.asking()._replace(specs=context.table.input_requests)
            context.inputs, _ = read_round(given.to_wire(), asking)

        async def run(session: Any, params: Any) -> Any:
            if strategy is None:
                return await handler(session, params)
            return await strategy(handler, context, context.job(spec, params))

        try:
            result = await self._through(method, run, context, given)
        except McpError as error:
            code = table.code_to_send(method, error.code)
            raise McpError(code, error.message, error.data) from error
        return context.carried_out(method, result)

    async def _through(
        self,
        method: str,
        handler: Callable[..., Awaitable[Any]],
        context: MountedContext,
        params: Any,
    ) -> Any:
        middleware = self.connection.middleware
        if not middleware:
            return await handler(context.session(), params)

        async def answer(call: MethodCall) -> Any:
            return await handler(call.session, call.params)

        meta, id = context.meta, context.request_id
        call = context.call(method, params=params, meta=meta, request_id=id)
        return await through(middleware, answer, call)


@dataclass(frozen=True, slots=True)
class Offered:
    """An item of a mounted server, by the name or URI that clients know it by."""

    mount: "Mount"
    key: str
    tags: Collection[str] = ()
    enabled: bool = True

    async def answer(self, _: object, session: SessionBase, method: str, params: Any) -> Any:
        """Return the result of a request that is about it."""
        return await self.mount.answer(method, session, params)


class Mount(ABC):
    """A server in another one, whose class is `above`."""

    def __init__(self, above: ServerBase[Any], prefix: Prefix) -> None:
        prefix.check()
        self.above = above
        self.prefix = prefix

    # What is known of it at any time.

    @property
    @abstractmethod
    def subscribes(self) -> bool:
        """Return whether it wants to hear of subscriptions."""

    @property
    @abstractmethod
    def is_early(self) -> bool:
        """Return whether it has to be there before the server above serves."""

    @abstractmethod
    def names(self, field: str) -> Mapping[str, str]:
        """Return the names of its items by which clients know them, and whose each is."""

    @abstractmethod
    def may_have(self, kind: str, key: str) -> bool:
        """Return whether it may have an item that it does not know of."""

    @abstractmethod
    def parts(self) -> Iterable[ServerBase[Any]]:
        """Return the servers whose lifespans belong to the server above."""

    @abstractmethod
    def offers(self, field: str) -> bool:
        """Return whether it has, or may have, items of a list."""

    @abstractmethod
    def completes(self) -> bool: ...

    @abstractmethod
    def owns(self, uri: str) -> bool:
        """Return whether it has a resource of a URI, or may have."""

    @abstractmethod
    def tags(self, field: str, own: str) -> Collection[str]: ...

    # Its connections.

    @abstractmethod
    def link(self, outer: RequestContext) -> AbstractAsyncContextManager[Link]:
        """Return the server for the client of a request, in use until the end of the `with`.

        Entering it raises `McpError` if the server is not there.
        """

    @abstractmethod
    def connected(self, connection: OpenConnection) -> None: ...

    @abstractmethod
    def disconnected(self, connection: OpenConnection) -> None: ...

    @abstractmethod
    def listening(self, context: RequestContext) -> AbstractContextManager[object]: ...

    # Its items.

    @abstractmethod
    async def find(self, method: str, kind: str, key: str, session: SessionBase) -> Offered | None:
        """Return the item that it has for a request of a session; None if there is none."""

    @abstractmethod
    async def keys(self, field: str, session: SessionBase) -> list[str]:
        """Return those names of its items for a session that need not be asked for."""

    async def entries(self, field: str, session: SessionBase) -> list[tuple[Offered, Any]]:
        """Return what it lists for a session."""
        outer = session.__mcp_runtime__
        async with self.link(outer) as link:
            return await self._listed(link, field, outer)

    async def _listed(
        self, link: Link, field: str, outer: RequestContext
    ) -> list[tuple[Offered, Any]]:
        method, member = LISTS[field], _MEMBERS.get(field, "name")
        spec = outer.table.requests[method]
        found: list[tuple[Offered, Any]] = []
        cursor: str | None = None
        for _ in range(outer.endpoint.options.max_pages):
            page = await link.handle(method, outer, spec.params(cursor=cursor))
            for entry in getattr(page, field):
                own: str = getattr(entry, member)
                key = self.prefix.key(field, own)
                item = Offered(self, key, self.tags(field, own))
                found.append((item, entry.model_copy(update={member: key})))
            cursor = page.next_cursor
            if cursor is None:
                break
        return found

    async def answer(self, method: str, session: SessionBase, params: Any) -> Any:
        """Return the result of a request about one of its items, by the name that clients know."""
        kind, key = asked(method, params)
        own = self.prefix.own(kind, key)
        assert own is not None
        given, outer = params, session.__mcp_runtime__
        if own != key:
            member = "uri" if kind == "resources" else "name"
            about = declared(params, "ref") or params
            given = about.model_copy(update={member: own})
            if about is not params:
                given = params.model_copy(update={"ref": given})
        try:
            async with self.link(outer) as link:
                result = await link.handle(method, outer, given)
        except McpError as error:
            if not is_object(error.data) or error.data.get("uri") != own:
                raise
            raise McpError(error.code, error.message, {**error.data, "uri": key}) from error
        return self._with_full_uris(result) if own != key else result

    def _with_full_uris(self, result: Any) -> Any:
        """Return a result in which the URIs of the server are those that clients know."""
        for field in ("contents", "content", "messages"):
            blocks: list[Any] | None = declared(result, field)
            if blocks:
                made = [self._with_full_uri(block) for block in blocks]
                if any(one is not block for one, block in zip(made, blocks, strict=True)):
                    return result.model_copy(update={field: made})
        return result

    def _with_full_uri(self, block: Any) -> Any:
        for inside in ("content", "resource"):
            held = declared(block, inside)
            if isinstance(held, WireModel):
                made = self._with_full_uri(held)
                return block if made is held else block.model_copy(update={inside: made})
        uri: str | None = declared(block, "uri")
        if uri is None or not self.owns(uri):
            return block
        return block.model_copy(update={"uri": self.prefix.key("resources", uri)})

    async def subscription(self, method: str, session: SessionBase, own: str) -> None:
        """Begin or stop to hear of changes of a resource."""
        outer = session.__mcp_runtime__
        async with self.link(outer) as link:
            handler = link.handlers.get(method)
            if handler is not None:
                spec = link.connection.server.TABLE.requests.get(method)
                # A revision may have no params that name a resource.
                make: Callable[..., Any] = SimpleNamespace if spec is None else spec.params
                await handler(MountedContext(link.connection, outer).session(), make(uri=own))


class LocalMount(Mount):
    """A toolkit of the same package, in the same process.

    Its class has handlers of its own for the items of the kinds that are `open`.
    """

    def __init__(
        self,
        above: ServerBase[Any],
        prefix: Prefix,
        server: ServerBase[Any],
        open: Collection[str],
    ) -> None:
        super().__init__(above, prefix)
        self.server = server
        self._open = open
        self.runtime: Any = server.__mcp_runtime__
        self._links: dict[OpenConnection, Link] = {}
        self._handlers: dict[str, Mapping[str, Callable[..., Awaitable[Any]]]] = {}
        self._table: MethodTable | None = None

    def parts(self) -> Iterable[ServerBase[Any]]:
        return cast(Iterable[ServerBase[Any]], self.runtime.parts())

    def offers(self, field: str) -> bool:
        kind = "resources" if field.startswith("resource") else field
        return kind in self._open or bool(self.runtime.offers(field))

    def completes(self) -> bool:
        return bool(self.runtime.completes())

    def owns(self, uri: str) -> bool:
        return bool(self.runtime.owns(uri))

    def tags(self, field: str, own: str) -> Collection[str]:
        return cast(Collection[str], self.runtime.tags(field, own))

    @property
    def subscribes(self) -> bool:
        handled: Collection[str] = self.runtime.handled()
        mounts: Iterable[Mount] = self.runtime.mounts
        return any(one in handled for one in SUBSCRIPTIONS) or any(
            mount.subscribes for mount in mounts
        )

    @property
    def is_early(self) -> bool:
        return self.subscribes or has_lifespan(self.server)

    def names(self, field: str) -> Mapping[str, str]:
        own: Mapping[str, str] = self.runtime.names(field)
        return {self.prefix.key(field, key): whose for key, whose in own.items()}

    def may_have(self, kind: str, key: str) -> bool:
        own, mounts = self.prefix.own(kind, key), cast(Iterable[Mount], self.runtime.mounts)
        return own is not None and (
            kind in self._open or any(mount.may_have(kind, own) for mount in mounts)
        )

    def link(self, outer: RequestContext) -> AbstractAsyncContextManager[Link]:
        return nullcontext(self._link(outer.connection))

    def _link(self, outer: OpenConnection) -> Link:
        link = self._links.get(outer)
        if link is None:
            revision = outer.endpoint.connection.table.revision
            if revision not in self._handlers:
                handled = self.runtime.handled(revision)
                self._handlers[revision] = self.runtime.handlers(revision, handled)
            table, own = self._spoken(outer.endpoint.options), self.server.TABLE
            connection = MountedConnection(self.server, outer, self.prefix, table)
            how: Mapping[str, Strategy] | None = None
            if table is not own:
                how = strategies(own, table) if table.rules.server_requests else {}
            link = Link(connection, self._handlers[revision], how)
            self._links[outer] = link
        return link

    def _spoken(self, options: Options) -> MethodTable:
        own, above = self.server.TABLE, self.above.TABLE
        if self._table is None and own.revision == above.revision:
            self._table = own
        elif self._table is None:
            package = package_of(type(self.server))
            losses = LossReport(own.revision, above.revision, options.on_loss)
            adapters = adapters_of(package, own.revision, above.revision)
            self._table = adapters.TranslatingTable(own, above, package, losses)
        assert self._table is not None
        return self._table

    def connected(self, connection: OpenConnection) -> None:
        self.runtime.connected(self._link(connection).connection)

    def disconnected(self, connection: OpenConnection) -> None:
        link = self._links.pop(connection, None)
        if link is not None:
            self.runtime.disconnected(link.connection)

    def listening(self, context: RequestContext) -> AbstractContextManager[object]:
        mounted = MountedContext(self._link(context.connection).connection, context)
        return cast(AbstractContextManager[object], self.runtime.listening(mounted))

    def session(self, session: SessionBase) -> Any:
        context = session.__mcp_runtime__
        return MountedContext(self._link(context.connection).connection, context).session()

    async def find(self, method: str, kind: str, key: str, session: SessionBase) -> Offered | None:
        own = self.prefix.own(kind, key)
        if own is None:
            return None
        found: Named | None = await self.runtime.find(method, kind, own, self.session(session))
        if found is None:
            return Offered(self, key) if kind in self._open else None
        return Offered(self, self.prefix.key(kind, found.key), found.tags)

    async def keys(self, field: str, session: SessionBase) -> list[str]:
        own: list[str] = await self.runtime.keys(field, self.session(session))
        return [self.prefix.key(field, one) for one in own]
