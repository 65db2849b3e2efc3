"""Servers of typed functions: a `Toolkit` before the server class of a revision.

A handler that a subclass overrides comes first, and can call `super()` for the rest.
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, ClassVar, Final, Unpack, overload

from ..connection import ResultText
from ..core.json import JSONObject
from ..rules.handlers import Handlers, extended_by, generated_class, made_once
from ..server.base import ServerBase, SessionBase
from ..transports.base import ServerLike
from .catalogue import Lists, check_mark, decorated_functions, register
from .decorators import PromptOptions, ResourceOptions, ToolOptions
from .items import COMPLETE
from .revision_models import LISTS, revision_models
from .threads import Threads
from .toolkit_runtime import OFFERED, THREADS, ToolkitRuntime

SEPARATOR: Final = "_"


class Toolkit:
    """A server of decorated functions: `class Weather(Toolkit, mcp.Server)`.

    It declares logging, and each list that has an item when a client connects, with its change
    notifications. A list whose notification is in `SENDS`, such as
    `notifications/tools/list_changed`, is declared even while it is empty.
    """

    page_size: ClassVar[int] = 100
    """The number of items in one page of a list."""
    max_threads: ClassVar[int] = 32
    """The number of plain functions that run at the same time, each in a thread."""
    __mcp_reads_marks__: ClassVar[bool] = True
    __mcp_wants_scopes__: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Check the decorated functions, except their types; raise `TypeError`, `ValueError`."""
        super().__init_subclass__(**options)
        order = cls.__mro__
        servers = [generated_class(cls), *extended_by(cls)] if hasattr(cls, "TABLE") else []
        if servers and order.index(servers[0]) < order.index(Toolkit):
            after = servers[0].__name__
            raise TypeError(f"class {cls.__name__}: Toolkit must come before {after}")
        cls.__mcp_wants_scopes__ = False
        for marked in decorated_functions(cls):
            name = marked.attribute
            apps = [base for base in order if "IMPLEMENTATION" in base.__dict__]
            if any(hasattr(base, name) for base in (Toolkit, *apps, *(servers or [ServerBase]))):
                advice = f'rename the method, and decorate it with name="{name}"'
                raise TypeError(f"{cls.__name__}.{name} hides a member of the runtime: {advice}")
            check_mark(marked)
            cls.__mcp_wants_scopes__ |= bool(marked.mark.options.get("scopes"))

    # Type checkers take the parameters from the __init__ of a subclass.
    if not TYPE_CHECKING:

        def __new__(cls, *_arguments: Any, **_named: Any) -> Any:
            """Build the lists with the first instance, so that mistakes show at start-up."""
            if not issubclass(cls, Handlers):
                name = cls.__name__
                raise TypeError(f"{name} is not a server: class …({name}, mcp.Server)")
            if OFFERED not in cls.__dict__:
                lists: Lists = {field: {} for field in LISTS}
                for marked in decorated_functions(cls):
                    register(marked, lists, revision_models(cls.TABLE))
                setattr(cls, OFFERED, lists)
                setattr(cls, THREADS, Threads(cls.__name__, cls.max_threads))
            return super().__new__(cls)

    def add_tool(self, function: Callable[..., Any], /, **options: Unpack[ToolOptions]) -> None:
        """Add a function as a tool, and notify clients; `options` replace those of its decorator.

        Raise `ValueError` if the name is taken or invalid, and `TypeError` if the function cannot
        be a tool.
        """
        self.__mcp_runtime__.add("tools", function, options)

    def add_prompt(self, function: Callable[..., Any], /, **options: Unpack[PromptOptions]) -> None:
        """Add a function as a prompt; see `add_tool`."""
        self.__mcp_runtime__.add("prompts", function, options)

    def add_resource(
        self,
        function: Callable[..., Any],
        /,
        uri: str | None = None,
        **options: Unpack[ResourceOptions],
    ) -> None:
        """Add a function as a resource or a template; see `add_tool`.

        A function without `@resource` needs a `uri`.
        """
        given = options if uri is None else {"uri": uri, **options}
        self.__mcp_runtime__.add("resources", function, given)

    def remove_tool(self, name: str) -> None:
        """Remove a tool; raise `LookupError` for an unknown name."""
        self.__mcp_runtime__.remove("tools", name)

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt; raise `LookupError` for an unknown name."""
        self.__mcp_runtime__.remove("prompts", name)

    def remove_resource(self, uri: str) -> None:
        """Remove a resource or a template; raise `LookupError` for an unknown URI."""
        self.__mcp_runtime__.remove("resources", uri)

    def tool_schemas(self, revision: str | None = None) -> list[JSONObject]:
        """Return the tools that every client of a revision sees, as plain JSON, sorted by name.

        This includes mounted servers that are not remote. The default revision is that of the
        server. Raise `LookupError` for a revision that the package lacks.
        """
        from .lookup import tool_schemas

        return tool_schemas(self.__mcp_runtime__.catalogue, revision)

    @overload
    def mount(self, other: "Toolkit", /) -> None: ...
    @overload
    def mount(self, prefix: str, other: "Toolkit", /, *, separator: str = ...) -> None: ...
    @overload
    def mount(self, prefix: str, /, *, connect_to: ServerLike, separator: str = ...) -> None: ...
    def mount(self, *given: Any, connect_to: Any = None, separator: str = SEPARATOR) -> None:
        """Offer the items of another server, now and later, under names with a prefix.

        Tools and prompts become `prefix_name`, and resources `scheme://prefix/rest`. The server is
        an object of the same package, or one for `connect`, connected for each client on demand. It
        answers requests with its own middleware, `lifespan`, threads and dependencies. Raise
        `ValueError` if a name would occur twice, or servers would contain each other, `TypeError`
        for another kind of server, `RuntimeError` for one that must be mounted before this server
        serves, and `ImportError` if the package lacks the part for it.
        """
        prefix, *others = given if given and isinstance(given[0], str) else ("", *given)
        if len(others) + (connect_to is not None) != 1 or (connect_to is not None and not prefix):
            advice = "mount(prefix, server), mount(server) or mount(prefix, connect_to=…)"
            raise TypeError(f"{type(self).__name__}.mount: write {advice}")
        from .mounting import mount
        from .mounts import Prefix

        where = Prefix(prefix, separator)
        mount(self.__mcp_runtime__, where, next(iter(others), None), connect_to)

    def enable(
        self,
        *names: str,
        tags: Collection[str] = (),
        session: SessionBase | None = None,
        principal_id: str = "",
    ) -> None:
        """Offer tools, prompts and resources, by name or URI or by tag.

        The switch is for all clients, for that of one session, or for those of a principal. The
        order is: session, principal, all, then `enabled=` of the item; of two for the same clients,
        the last one counts. Clients whose lists may change are notified. Raise `LookupError` for an
        unknown name, `TypeError` for a `principal_id` of None, and `LocalError` for a request of
        2026-07-28 over HTTP, which belongs to no session.
        """
        _switch(self, True, names, tags, session, principal_id)

    def disable(
        self,
        *names: str,
        tags: Collection[str] = (),
        session: SessionBase | None = None,
        principal_id: str = "",
    ) -> None:
        """Hide tools, prompts and resources, as if their names were unknown; see `enable`."""
        _switch(self, False, names, tags, session, principal_id)

    @made_once
    def __mcp_runtime__(self) -> "ToolkitRuntime":
        owner: Any = self
        return ToolkitRuntime(owner)

    async def on_list_tools(self, session: Any, params: Any) -> Any:
        return await self.__mcp_runtime__.page("tools", session, params)

    async def on_call_tool(self, session: Any, params: Any) -> Any:
        runtime = self.__mcp_runtime__
        result = await runtime.call(session, params)
        if isinstance(result, ResultText):
            return runtime.catalogue.models.read_result(result)
        return result

    async def on_list_prompts(self, session: Any, params: Any) -> Any:
        return await self.__mcp_runtime__.page("prompts", session, params)

    async def on_get_prompt(self, session: Any, params: Any) -> Any:
        return await self.__mcp_runtime__.answer("prompts/get", session, params)

    async def on_list_resources(self, session: Any, params: Any) -> Any:
        return await self.__mcp_runtime__.page("resources", session, params)

    async def on_list_resource_templates(self, session: Any, params: Any) -> Any:
        return await self.__mcp_runtime__.page("resource_templates", session, params)

    async def on_read_resource(self, session: Any, params: Any) -> Any:
        uri, runtime = params.uri, self.__mcp_runtime__
        lists = runtime.catalogue.lists
        fixed, templates = lists["resources"].get(uri), lists["resource_templates"].values()
        for resource in templates if fixed is None else (fixed,):
            given = resource.values(uri)
            if given is not None:
                return await resource.read(self, session, uri, given)
        return await runtime.answer("resources/read", session, params)

    async def on_complete(self, session: Any, params: Any) -> Any:
        return await self.__mcp_runtime__.answer(COMPLETE, session, params)


def _switch(server: Toolkit, on: bool, *selected: Any) -> None:
    from .switching import switch

    switch(server.__mcp_runtime__, on, *selected)
