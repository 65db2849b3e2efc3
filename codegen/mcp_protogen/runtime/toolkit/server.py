"""Servers made of typed functions.

A `Toolkit` comes before the server class of a revision, and answers lists, calls, reads and
completions by decorated functions. A handler that a subclass overrides comes first, and can call
`super()` for the rest.
"""

from asyncio import get_running_loop
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, Unpack, cast

from ..core.errors import InvalidParams, LocalError
from ..core.models.base import declared
from ..core.pagination import page
from ..rules.handlers import Handlers, runtime_of
from ..server.base import ServerBase, ServerRuntime
from .completions import Completer
from .decorators import (
    Mark,
    Marked,
    PromptMark,
    PromptOptions,
    ResourceMark,
    ResourceOptions,
    ToolMark,
    ToolOptions,
    marks_of,
)
from .items import Item, Prompt, Registry, Resource, check, marked_in, not_found
from .revision_models import models_in, revision_models

_REGISTRY: Final = "_toolkit_registry"

_COMPLETE: Final = "completion/complete"


class Toolkit:
    """A server of decorated functions: `class Weather(Toolkit, mcp.Server)`.

    A list may change while clients are connected if its notification is in `SENDS`, such as
    `notifications/tools/list_changed`; the server then declares the capability even while the list
    is empty. Otherwise it declares a capability if the list has an item.
    """

    page_size: ClassVar[int] = 100
    """The number of items in one page of a list."""
    __mcp_reads_marks__: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        """Check the decorated functions, but not their types; raise `TypeError`, `ValueError`."""
        super().__init_subclass__(**options)
        _check_order(cls)
        for marked in marked_in(cls):
            _check_attribute(cls, marked.attribute)
            check(marked)

    # Type checkers take the parameters from the __init__ of a subclass.
    if not TYPE_CHECKING:

        def __new__(cls, *_arguments: Any, **_named: Any) -> Any:
            """Build the registry with the first instance, so that mistakes show at start-up."""
            if not issubclass(cls, Handlers):
                raise TypeError(
                    f"{cls.__name__} is not a server: class …({cls.__name__}, mcp.Server)"
                )
            if _REGISTRY not in cls.__dict__:
                registry = Registry(revision_models(cls.TABLE))
                for marked in marked_in(cls):
                    registry.add(marked)
                setattr(cls, _REGISTRY, registry)
            return super().__new__(cls)

    def add_tool(self, function: Callable[..., Any], /, **options: Unpack[ToolOptions]) -> None:
        """Add a function as a tool, and notify clients; `options` replace those of its decorator.

        Raises `ValueError` if the name is taken or not allowed, and `TypeError` if the function
        cannot be a tool.
        """
        self.__mcp_runtime__.add("tools", function, ToolMark, options)

    def add_prompt(self, function: Callable[..., Any], /, **options: Unpack[PromptOptions]) -> None:
        """Add a function as a prompt; see `add_tool`."""
        self.__mcp_runtime__.add("prompts", function, PromptMark, options)

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
        if uri is None and options:
            raise TypeError("options of a resource need its URI: uri=…")
        given = {} if uri is None else {"uri": uri, **options}
        self.__mcp_runtime__.add("resources", function, ResourceMark, given)

    def remove_tool(self, name: str) -> None:
        """Remove a tool; raise `LookupError` if there is none of that name."""
        self.__mcp_runtime__.remove("tools", name)

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt; raise `LookupError` if there is none of that name."""
        self.__mcp_runtime__.remove("prompts", name)

    def remove_resource(self, uri: str) -> None:
        """Remove a resource or a template; raise `LookupError` if there is none of that URI."""
        self.__mcp_runtime__.remove("resources", uri)

    @property
    def __mcp_runtime__(self) -> "ToolkitRuntime":
        return runtime_of(self, ToolkitRuntime)

    async def on_list_tools(self, session: Any, params: Any) -> Any:
        return self.__mcp_runtime__.page("tools/list", "tools", params)

    async def on_call_tool(self, session: Any, params: Any) -> Any:
        tool = self.__mcp_runtime__.registry.tools.get(params.name)
        if tool is None:
            raise InvalidParams(f"Unknown tool: {params.name}")
        return await tool.call(self, session, params)

    async def on_list_prompts(self, session: Any, params: Any) -> Any:
        return self.__mcp_runtime__.page("prompts/list", "prompts", params)

    async def on_get_prompt(self, session: Any, params: Any) -> Any:
        prompt = self.__mcp_runtime__.registry.prompts.get(params.name)
        if prompt is None:
            raise InvalidParams(f"Unknown prompt: {params.name}")
        return await prompt.get(self, session, params)

    async def on_list_resources(self, session: Any, params: Any) -> Any:
        return self.__mcp_runtime__.page("resources/list", "resources", params)

    async def on_list_resource_templates(self, session: Any, params: Any) -> Any:
        return self.__mcp_runtime__.page("resources/templates/list", "templates", params)

    async def on_read_resource(self, session: Any, params: Any) -> Any:
        uri, registry = params.uri, self.__mcp_runtime__.registry
        fixed = registry.resources.get(uri)
        for resource in registry.templates.values() if fixed is None else (fixed,):
            given = resource.values(uri)
            if given is not None:
                return await resource.read(self, session, uri, given)
        raise not_found(uri, registry.models)

    async def on_complete(self, session: Any, params: Any) -> Any:
        runtime, argument = self.__mcp_runtime__, params.argument
        item = runtime.referred(params.ref)
        if argument.name not in item.texts.parameters:
            raise InvalidParams(f"{item.key} has no argument {argument.name}")
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
        self.registry: Registry = getattr(owner, _REGISTRY)
        self._served = False

    def add(
        self,
        kind: str,
        function: Callable[..., Any],
        wanted: type[Mark],
        options: Mapping[str, Any],
    ) -> None:
        """Add a function as `options` say, or else as its own marks do."""
        marks = [one for one in marks_of(function) if isinstance(one, wanted)]
        if not options and not marks and wanted is ResourceMark:
            raise TypeError("a resource needs a URI: add_resource(function, uri=…)")
        if options or not marks:
            marks = [wanted(**options)]
        with self._changing(kind) as registry:
            for one in marks:
                marked = Marked(function, one)
                check(marked)
                registry.add(marked)

    def remove(self, kind: str, key: str) -> None:
        with self._changing(kind) as registry:
            registry.remove(kind, key)

    @contextmanager
    def _changing(self, kind: str) -> Generator[Registry, None, None]:
        """Replace the registry by a changed copy; raise `LocalError` if a list must not change."""
        sends = _changed(kind) in self.owner.SENDS
        if self._served and not sends:
            advice = f'SENDS = frozenset({{"{_changed(kind)}"}})'
            raise LocalError(f"{kind} that change while clients are connected need: {advice}")
        if self.connections and not _is_on_the_loop():
            advice = "loop.call_soon_threadsafe(server.add_tool, …)"
            raise LocalError(f"{kind} can be changed only on the server's event loop: {advice}")
        registry = self.registry.copy()
        yield registry
        self.registry = registry
        if sends:
            self.announce(_changed(kind))

    def page(self, method: str, kind: str, params: Any) -> Any:
        items: dict[str, Item] = getattr(self.registry, kind)
        size: int = cast(Any, self.owner).page_size
        cut = page([item.listed for item in items.values()], params.cursor, size)
        field = "resource_templates" if kind == "templates" else kind
        result = self.registry.models.result(method)
        return result(**{field: cut.items}, next_cursor=cut.next_cursor)

    def referred(self, reference: Any) -> Prompt | Resource:
        registry, uri = self.registry, declared(reference, "uri")
        item: Prompt | Resource | None
        if uri is None:
            item = registry.prompts.get(reference.name)
        else:
            item = registry.templates.get(uri) or registry.resources.get(uri)
        if item is None:
            raise InvalidParams(f"Unknown reference: {reference.name if uri is None else uri}")
        return item

    def unused(self) -> frozenset[str]:
        idle = [] if self.registry.completes else [_COMPLETE]
        for kind, lists in self.registry.kinds.items():
            if not any(lists) and _changed(kind) not in self.owner.SENDS:
                idle += [method for method in self.owner.REQUESTS if method.startswith(f"{kind}/")]
        return frozenset(method for method in idle if self._answers_itself(method))

    def _answers_itself(self, method: str) -> bool:
        # A handler of the user's class is used even if the registry is empty.
        _, name = self.owner.REQUESTS.get(method, (None, ""))
        return name != "" and getattr(type(self.owner), name) is getattr(Toolkit, name, None)

    def bound(self, revision: str) -> Mapping[str, Callable[..., Any]]:
        # From now on, clients know what is on offer.
        self._served = True
        return super().bound(revision)


def _is_on_the_loop() -> bool:
    try:
        get_running_loop()
    except RuntimeError:
        return False
    return True


def _changed(kind: str) -> str:
    return f"notifications/{kind}/list_changed"


def _check_order(cls: type[Any]) -> None:
    """Raise `TypeError` if the server class comes before the toolkit."""
    order = cls.__mro__
    servers = [at for at, base in enumerate(order) if "REQUESTS" in base.__dict__]
    if issubclass(cls, Handlers) and servers and servers[0] < order.index(Toolkit):
        server = order[servers[0]].__name__
        raise TypeError(f"class {cls.__name__}: Toolkit has to come before {server}")


def _check_attribute(cls: type[Any], attribute: str) -> None:
    """Raise `TypeError` for a decorated method with the name of a member of the runtime."""
    theirs = [base for base in cls.__mro__ if "REQUESTS" in base.__dict__] or [ServerBase]
    if any(hasattr(base, attribute) for base in (Toolkit, *theirs)):
        advice = f'rename the method, and decorate it with name="{attribute}"'
        raise TypeError(f"{cls.__name__}.{attribute} hides a member of the runtime: {advice}")
