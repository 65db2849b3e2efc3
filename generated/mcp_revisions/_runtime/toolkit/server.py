"""Servers made of typed functions.

A `Toolkit` comes before the server class of a revision, and answers lists, calls, reads and
completions by decorated functions. A handler that a subclass overrides comes first, and can call
`super()` for the rest.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Final, Unpack, cast

from ..core.errors import InvalidParams
from ..core.json import JSONObject
from ..core.models.base import declared
from ..core.pagination import page
from ..core.tasks import is_running
from ..rules.handlers import Handlers, runtime_of
from ..server.base import ServerBase, ServerRuntime
from .completions import Completer
from .decorators import Marked, PromptOptions, ResourceOptions, ToolOptions, marks_of, new_mark
from .functions import closest
from .items import FIELDS, Lists, Prompt, Resource, check, marked_in, not_found, register
from .revision_models import LISTS, models_in, revision_models
from .schemas import tools_as_seen
from .threads import Threads

_OFFERED: Final = "_toolkit_lists"
_THREADS: Final = "_toolkit_threads"

_COMPLETE: Final = "completion/complete"
_LOG: Final = "notifications/message"
_UPDATED: Final = "notifications/resources/updated"


class Toolkit:
    """A server of decorated functions: `class Weather(Toolkit, mcp.Server)`.

    It declares logging, and each list that has an item when a client connects, with the
    notifications of its changes. A list whose notification is in `SENDS`, such as
    `notifications/tools/list_changed`, is declared even while it is empty.
    """

    page_size: ClassVar[int] = 100
    """The number of items in one page of a list."""
    max_threads: ClassVar[int] = 32
    """The number of plain functions that run at the same time, each in a thread."""
    __mcp_reads_marks__: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        """Check the decorated functions, but not their types; raise `TypeError`, `ValueError`."""
        super().__init_subclass__(**options)
        order = cls.__mro__
        servers = [base for base in order if "REQUESTS" in base.__dict__]
        if issubclass(cls, Handlers) and servers and order.index(servers[0]) < order.index(Toolkit):
            after = servers[0].__name__
            raise TypeError(f"class {cls.__name__}: Toolkit has to come before {after}")
        for marked in marked_in(cls):
            name = marked.attribute
            apps = [base for base in order if "IMPLEMENTATION" in base.__dict__]
            if any(hasattr(base, name) for base in (Toolkit, *apps, *(servers or [ServerBase]))):
                advice = f'rename the method, and decorate it with name="{name}"'
                raise TypeError(f"{cls.__name__}.{name} hides a member of the runtime: {advice}")
            check(marked)

    # Type checkers take the parameters from the __init__ of a subclass.
    if not TYPE_CHECKING:

        def __new__(cls, *_arguments: Any, **_named: Any) -> Any:
            """Build the lists with the first instance, so that mistakes show at start-up."""
            if not issubclass(cls, Handlers):
                raise TypeError(
                    f"{cls.__name__} is not a server: class …({cls.__name__}, mcp.Server)"
                )
            if _OFFERED not in cls.__dict__:
                lists: Lists = {field: {} for field in LISTS}
                for marked in marked_in(cls):
                    register(marked, lists, revision_models(cls.TABLE))
                setattr(cls, _OFFERED, lists)
                setattr(cls, _THREADS, Threads(cls.__name__, cls.max_threads))
            return super().__new__(cls)

    def add_tool(self, function: Callable[..., Any], /, **options: Unpack[ToolOptions]) -> None:
        """Add a function as a tool, and notify clients; `options` replace those of its decorator.

        Raises `ValueError` if the name is taken or not allowed, and `TypeError` if the function
        cannot be a tool.
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
        """Remove a tool; raise `LookupError` if there is none of that name."""
        self.__mcp_runtime__.remove("tools", name)

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt; raise `LookupError` if there is none of that name."""
        self.__mcp_runtime__.remove("prompts", name)

    def remove_resource(self, uri: str) -> None:
        """Remove a resource or a template; raise `LookupError` if there is none of that URI."""
        self.__mcp_runtime__.remove("resources", uri)

    def tool_schemas(self, revision: str | None = None) -> list[JSONObject]:
        """Return the tools as a client of a revision sees them, as plain JSON, sorted by name.

        Without a revision, it is that of the server. Raise `LookupError` for one that the package
        does not have.
        """
        return tools_as_seen(self, self.__mcp_runtime__.lists["tools"], revision)

    @property
    def __mcp_runtime__(self) -> "ToolkitRuntime":
        return runtime_of(self, ToolkitRuntime)

    async def on_list_tools(self, session: Any, params: Any) -> Any:
        return self.__mcp_runtime__.page("tools", params)

    async def on_call_tool(self, session: Any, params: Any) -> Any:
        tools = self.__mcp_runtime__.lists["tools"]
        tool = tools.get(params.name)
        if tool is None:
            raise InvalidParams(f"Unknown tool: {params.name}{closest(params.name, tools)}")
        return await tool.call(self, session, params)

    async def on_list_prompts(self, session: Any, params: Any) -> Any:
        return self.__mcp_runtime__.page("prompts", params)

    async def on_get_prompt(self, session: Any, params: Any) -> Any:
        prompts = self.__mcp_runtime__.lists["prompts"]
        prompt = prompts.get(params.name)
        if prompt is None:
            raise InvalidParams(f"Unknown prompt: {params.name}{closest(params.name, prompts)}")
        return await prompt.get(self, session, params)

    async def on_list_resources(self, session: Any, params: Any) -> Any:
        return self.__mcp_runtime__.page("resources", params)

    async def on_list_resource_templates(self, session: Any, params: Any) -> Any:
        return self.__mcp_runtime__.page("resource_templates", params)

    async def on_read_resource(self, session: Any, params: Any) -> Any:
        uri, runtime = params.uri, self.__mcp_runtime__
        fixed = runtime.lists["resources"].get(uri)
        templates = runtime.lists["resource_templates"].values()
        for resource in templates if fixed is None else (fixed,):
            given = resource.values(uri)
            if given is not None:
                return await resource.read(self, session, uri, given)
        known = (*runtime.lists["resources"], *runtime.lists["resource_templates"])
        # URIs that have nothing to do with each other begin alike.
        raise not_found(uri, runtime.models, closest(uri, known, likeness=0.8))

    async def on_complete(self, session: Any, params: Any) -> Any:
        runtime, argument = self.__mcp_runtime__, params.argument
        item = runtime.referred(params.ref)
        if argument.name not in item.texts.parameters:
            meant = closest(argument.name, item.texts.parameters)
            raise InvalidParams(f"{item.key} has no argument {argument.name}{meant}")
        completer = item.completers.get(argument.name) or Completer(())
        # The arguments that are already known come with the request from 2025-06-18 on.
        context = declared(params, "context")
        known: dict[str, str] = (context and context.arguments) or {}
        result = item.models.result(_COMPLETE)
        (model,) = models_in(result, "completion")
        return result(completion=model(**await completer(self, argument.value, known)))


class ToolkitRuntime(ServerRuntime):
    """The runtime's part of a toolkit: what is on offer."""

    def __init__(self, owner: Handlers) -> None:
        super().__init__(owner)
        self.lists: Lists = getattr(owner, _OFFERED)
        self.threads: Threads = getattr(owner, _THREADS)
        self.models = revision_models(owner.TABLE)
        self._served = False
        self._declared = frozenset[str]()
        self._lock = Lock()

    def add(self, kind: str, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        """Add a function as `options` say, or else as its own marks do."""
        marks = [one for one in marks_of(function) if one.kind == kind]
        if options or not marks:
            if kind == "resources" and "uri" not in options:
                raise TypeError("a resource needs a URI: add_resource(function, uri=…)")
            marks = [new_mark(kind, options)]
        with self._changing(kind) as lists:
            for one in marks:
                marked = Marked(function, one)
                check(marked)
                register(marked, lists, self.models)

    def remove(self, kind: str, key: str) -> None:
        with self._changing(kind) as lists:
            if not any(lists[field].pop(key, None) for field in FIELDS[kind]):
                raise LookupError(f"there is no {kind.removesuffix('s')} {key}")

    @contextmanager
    def _changing(self, kind: str) -> Generator[Lists, None, None]:
        with self._lock:
            lists = {field: dict(items) for field, items in self.lists.items()}
            yield lists
            self.lists = lists
        method = _changed(kind)
        if self._served and method not in self._declared:
            self.warn_undeclared(method)
        else:
            self._announce(method)

    def _announce(self, method: str) -> None:
        if not is_running():
            # Called in a thread, as by a plain function.
            for connection in list(self.connections)[:1]:
                connection.endpoint.jobs.loop.call_soon_threadsafe(self.announce, method)
                return
        self.announce(method)

    def page(self, field: str, params: Any) -> Any:
        entries = [item.listed for item in self.lists[field].values()]
        cut = page(entries, params.cursor, cast(Any, self.owner).page_size)
        result = self.models.result(LISTS[field])
        return result(**{field: cut.items}, next_cursor=cut.next_cursor)

    def referred(self, reference: Any) -> Prompt | Resource:
        uri = declared(reference, "uri")
        kind, key = ("prompts", reference.name) if uri is None else ("resources", uri)
        for field in FIELDS[kind]:
            item: Prompt | Resource | None = self.lists[field].get(key)
            if item is not None:
                return item
        raise InvalidParams(f"Unknown reference: {key}")

    def unused(self) -> frozenset[str]:
        owner, lists = self.owner, self.lists
        idle = [
            f"{kind}/"
            for kind, fields in FIELDS.items()
            if not any(lists[field] for field in fields) and _changed(kind) not in owner.SENDS
        ]
        completing = (*lists["prompts"].values(), *lists["resource_templates"].values())
        if not any(item.completers for item in completing):
            idle.append(_COMPLETE)
        return frozenset(
            method
            for method, (_, name) in owner.REQUESTS.items()
            # A handler of the user's class is used even if nothing is on offer.
            if method.startswith(tuple(idle))
            and getattr(type(owner), name) is getattr(Toolkit, name, None)
        )

    def bound(self, revision: str) -> Mapping[str, Callable[..., Any]]:
        # From now on, clients know what is on offer.
        self._served = True
        self._declared |= self.sends()
        return super().bound(revision)

    def sends(self) -> frozenset[str]:
        lists = self.lists
        offered = [kind for kind, fields in FIELDS.items() if any(lists[field] for field in fields)]
        found = {_LOG, *map(_changed, offered), *([_UPDATED] if "resources" in offered else ())}
        # Some revisions may have no such notification.
        return self.owner.SENDS | (found & self.owner.TABLE.notifications.keys())


def _changed(kind: str) -> str:
    return f"notifications/{kind}/list_changed"
