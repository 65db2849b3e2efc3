"""Servers made of typed functions.

A `Toolkit` comes before the server class of a revision and handles those requests that decorated
functions can answer: lists, calls, reads and completions. Handwritten handlers work as usual: a
method that a subclass overrides comes first, and can call `super()` for the rest.
"""

from asyncio import get_running_loop
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Unpack, cast

from ..core.errors import InvalidParams, LocalError
from ..core.models.base import declared
from ..core.pagination import page
from ..rules.handlers import Handlers, runtime_of
from ..server.base import ServerBase, ServerRuntime
from .completions import NOTHING
from .decorators import (
    Mark,
    PromptMark,
    PromptOptions,
    ResourceMark,
    ResourceOptions,
    ToolMark,
    ToolOptions,
    marks_of,
)
from .registry import KINDS, Entry, Marked, Registries, Registry, catalogue_of, check, marked_in
from .resources import not_found
from .revision_models import models_in, revision_models

_CATALOGUE: Final = "_toolkit_catalogue"

_ANSWERED: Final[Mapping[str, str]] = {
    "prompts/get": "prompts",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/read": "resources",
    "resources/templates/list": "resources",
    "tools/call": "tools",
    "tools/list": "tools",
}
"""The kind of list that each method of a toolkit is about."""
_COMPLETE: Final = "completion/complete"


class Toolkit:
    """A server of decorated functions: `class Weather(Toolkit, mcp.Server)`.

    Tools, prompts and resources can be added and removed while clients are connected. This needs
    the notification of their list in `SENDS`, such as `notifications/tools/list_changed`; the
    server then declares the capability even while the list is empty. Otherwise it declares a
    capability if the list has an item.
    """

    page_size: ClassVar[int] = 100
    """The number of items of a list that a client gets in one page."""
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
            """Build the catalogue with the first instance, so that mistakes show at start-up."""
            if not issubclass(cls, Handlers):
                raise TypeError(
                    f"{cls.__name__} is not a server: class …({cls.__name__}, mcp.Server)"
                )
            if _CATALOGUE not in cls.__dict__:
                setattr(cls, _CATALOGUE, catalogue_of(cls, revision_models(cls.TABLE)))
            return super().__new__(cls)

    # Adding and removing.

    def add_tool(self, function: Callable[..., Any], /, **options: Unpack[ToolOptions]) -> None:
        """Add a function as a tool; `options` replace those of its decorator.

        Connected clients are notified; see the class. Raises `ValueError` if the name is taken or
        not allowed, and `TypeError` if the function cannot be a tool.
        """
        mark = ToolMark(**options) if options else None
        self.__mcp_runtime__.add("tools", function, ToolMark, mark)

    def add_prompt(self, function: Callable[..., Any], /, **options: Unpack[PromptOptions]) -> None:
        """Add a function as a prompt; see `add_tool`."""
        mark = PromptMark(**options) if options else None
        self.__mcp_runtime__.add("prompts", function, PromptMark, mark)

    def add_resource(
        self,
        function: Callable[..., Any],
        /,
        uri: str | None = None,
        **options: Unpack[ResourceOptions],
    ) -> None:
        """Add a function as a resource, or as a template of resources; see `add_tool`.

        A function without `@resource` needs a `uri`.
        """
        if uri is None and options:
            raise TypeError("options of a resource need its URI: uri=…")
        mark = None if uri is None else ResourceMark(uri=uri, **options)
        self.__mcp_runtime__.add("resources", function, ResourceMark, mark)

    def remove_tool(self, name: str) -> None:
        """Remove a tool; raise `LookupError` if there is none of that name."""
        self.__mcp_runtime__.change("tools", lambda catalogue: catalogue.tools.remove(name))

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt; raise `LookupError` if there is none of that name."""
        self.__mcp_runtime__.change("prompts", lambda catalogue: catalogue.prompts.remove(name))

    def remove_resource(self, uri: str) -> None:
        """Remove a resource or a template; raise `LookupError` if there is none of that URI."""

        def remove(catalogue: Registries) -> None:
            is_template = uri in catalogue.templates.entries
            (catalogue.templates if is_template else catalogue.resources).remove(uri)

        self.__mcp_runtime__.change("resources", remove)

    @property
    def __mcp_runtime__(self) -> "ToolkitRuntime":
        return runtime_of(self, ToolkitRuntime)

    # The handlers.

    async def on_list_tools(self, session: Any, params: Any) -> Any:
        """Answer `tools/list`."""
        runtime = self.__mcp_runtime__
        return runtime.page("tools/list", "tools", runtime.catalogue.tools, params)

    async def on_call_tool(self, session: Any, params: Any) -> Any:
        """Answer `tools/call`: call the function of a tool."""
        entry = self.__mcp_runtime__.catalogue.tools.entries.get(params.name)
        if entry is None:
            raise InvalidParams(f"Unknown tool: {params.name}")
        return await entry.part.call(entry.bound(self), session, params)

    async def on_list_prompts(self, session: Any, params: Any) -> Any:
        """Answer `prompts/list`."""
        runtime = self.__mcp_runtime__
        return runtime.page("prompts/list", "prompts", runtime.catalogue.prompts, params)

    async def on_get_prompt(self, session: Any, params: Any) -> Any:
        """Answer `prompts/get`: call the function of a prompt."""
        entry = self.__mcp_runtime__.catalogue.prompts.entries.get(params.name)
        if entry is None:
            raise InvalidParams(f"Unknown prompt: {params.name}")
        return await entry.part.get(entry.bound(self), session, params)

    async def on_list_resources(self, session: Any, params: Any) -> Any:
        """Answer `resources/list`."""
        runtime = self.__mcp_runtime__
        return runtime.page("resources/list", "resources", runtime.catalogue.resources, params)

    async def on_list_resource_templates(self, session: Any, params: Any) -> Any:
        """Answer `resources/templates/list`."""
        runtime, method = self.__mcp_runtime__, "resources/templates/list"
        return runtime.page(method, "resource_templates", runtime.catalogue.templates, params)

    async def on_read_resource(self, session: Any, params: Any) -> Any:
        """Answer `resources/read`: call the function of a resource, or of a template that fits."""
        uri, catalogue = params.uri, self.__mcp_runtime__.catalogue
        fixed = catalogue.resources.entries.get(uri)
        for entry in catalogue.templates.entries.values() if fixed is None else (fixed,):
            values = entry.part.values(uri)
            if values is not None:
                return await entry.part.read(entry.bound(self), session, uri, values)
        raise not_found(uri, catalogue.words)

    async def on_complete(self, session: Any, params: Any) -> Any:
        """Answer `completion/complete`: say what may stand for an argument."""
        entry, argument = self.__mcp_runtime__.referred(params.ref), params.argument
        if argument.name not in entry.part.parameters:
            raise InvalidParams(f"{entry.part.key} has no argument {argument.name}")
        completer = entry.part.completers.get(argument.name)
        found = NOTHING
        if completer is not None:
            found = await completer(self, argument.value, _context(params))
        result = self.__mcp_runtime__.catalogue.words.result(_COMPLETE)
        (model,) = models_in(result, "completion")
        return result(completion=model(**found._asdict()))


class ToolkitRuntime(ServerRuntime):
    """The runtime's part of a server whose functions are marked: what is on offer."""

    def __init__(self, owner: Handlers) -> None:
        super().__init__(owner)
        self.catalogue: Registries = getattr(owner, _CATALOGUE)
        self._served = False

    def add(
        self, kind: str, function: Callable[..., Any], wanted: type[Mark], mark: Mark | None
    ) -> None:
        """Offer a function as `mark` says, or else as its own marks do."""
        marks = [one for one in marks_of(function) if isinstance(one, wanted)]
        usual = [] if wanted is ResourceMark else [wanted()]
        chosen = [mark] if mark is not None else marks or usual
        if not chosen:
            raise TypeError("a resource needs a URI: add_resource(function, uri=…)")

        def add(catalogue: Registries) -> None:
            for one in chosen:
                marked = Marked(function, one)
                check(marked)
                catalogue.add(marked)

        self.change(kind, add)

    def change(self, kind: str, change: Callable[[Registries], None]) -> None:
        """Change what is on offer, and tell the clients; raise `LocalError` if that cannot be."""
        told, sends = _changed(kind), self.owner.SENDS
        if self._served and told not in sends:
            advice = f'SENDS = frozenset({{"{told}"}})'
            raise LocalError(f"{kind} that change while clients are connected need: {advice}")
        if self.connections and not _is_on_the_loop():
            advice = "loop.call_soon_threadsafe(server.add_tool, …)"
            raise LocalError(f"{kind} can be changed only on the server's event loop: {advice}")
        catalogue = self.catalogue.copy()
        change(catalogue)
        self.catalogue = catalogue
        if told in sends:
            self.announce(told)

    def page(self, method: str, member: str, registry: Registry[Any], params: Any) -> Any:
        """Return the page of a list that params ask for, as the result of a method."""
        size: int = cast(Any, self.owner).page_size
        cut = page(registry.items, params.cursor, size)
        result = self.catalogue.words.result(method)
        return result(**{member: cut.items}, next_cursor=cut.next_cursor)

    def referred(self, reference: Any) -> Entry[Any]:
        """Return what a reference names; raise `InvalidParams` if there is no such thing."""
        catalogue, uri = self.catalogue, declared(reference, "uri")
        if uri is None:
            entry: Entry[Any] | None = catalogue.prompts.entries.get(reference.name)
        else:
            entry = catalogue.templates.entries.get(uri) or catalogue.resources.entries.get(uri)
        if entry is None:
            raise InvalidParams(f"Unknown reference: {reference.name if uri is None else uri}")
        return entry

    def unused(self) -> frozenset[str]:
        """Return what there is nothing to answer with: of what the toolkit answers itself."""
        catalogue = self.catalogue
        filled = {
            "tools": bool(catalogue.tools.entries),
            "prompts": bool(catalogue.prompts.entries),
            "resources": bool(catalogue.resources.entries or catalogue.templates.entries),
        }
        sends = self.owner.SENDS
        offered = {kind for kind in KINDS if filled[kind] or _changed(kind) in sends}
        idle = {method for method, kind in _ANSWERED.items() if kind not in offered}
        idle |= set() if catalogue.completes else {_COMPLETE}
        return frozenset(method for method in idle if self._answers_itself(method))

    def _answers_itself(self, method: str) -> bool:
        """Return whether a method is left to the toolkit by the user's class."""
        _, name = self.owner.REQUESTS.get(method, (None, ""))
        return name != "" and getattr(type(self.owner), name) is getattr(Toolkit, name, None)

    def bound(self, revision: str) -> Mapping[str, Callable[..., Any]]:
        """Return the handlers; from now on, clients know what is on offer."""
        self._served = True
        return super().bound(revision)


def _is_on_the_loop() -> bool:
    try:
        get_running_loop()
    except RuntimeError:
        return False
    return True


def _changed(kind: str) -> str:
    """Return the notification that a list has changed."""
    return f"notifications/{kind}/list_changed"


def _context(params: Any) -> Mapping[str, str]:
    """Return the arguments that are already known, if the revision sends them (from 2025-06-18)."""
    context = declared(params, "context")
    return (None if context is None else context.arguments) or {}


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
