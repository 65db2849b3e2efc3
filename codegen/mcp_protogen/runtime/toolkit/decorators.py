"""The decorators, which mark a function and return it unchanged.

A function can be decorated more than once, and before any server exists.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from inspect import getattr_static
from typing import (
    Any,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from ..core.models.base import WireModel
from ..rules.handlers import MARKS

TaskChoice: TypeAlias = bool | Literal["required", "deferred"]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

Enabled: TypeAlias = bool | Callable[[Any], bool | Awaitable[bool]]
"""Whether an item is enabled, or a function of the session that decides it."""

# Separate, or type checkers would not infer the parameters of a lambda.
_Function: TypeAlias = Callable[[str], object] | Callable[[str, Any], object]
_Method: TypeAlias = Callable[[Any, str], object] | Callable[[Any, str, Any], object]
Completions: TypeAlias = Mapping[str, _Function | _Method | Sequence[str]]
"""By parameter: the possible values, or a function that returns them for the text so far.

It may be a method, and may take a second argument: the other arguments known so far.
"""


class DecoratorOptions(TypedDict, total=False):
    name: str
    title: str
    description: str
    icons: Sequence[WireModel]
    meta: Mapping[str, Any]
    tags: Collection[str]
    """Labels, by which `enable` and `disable` find items."""
    enabled: Enabled
    """Whether it is offered, or a function of the session that decides it."""
    scopes: Collection[str]
    """The scopes that the token of a request needs, over HTTP."""
    thread: bool
    """Whether a plain function runs in a thread; set it to false if it never blocks."""


class ToolOptions(DecoratorOptions, total=False):
    annotations: WireModel
    input_schema: Mapping[str, Any]
    """A handwritten schema; the function then takes all arguments as one mapping."""
    output_schema: Mapping[str, Any]
    task: TaskChoice
    """Whether a call may become a task: if the client supports it (true), always ("required"), or
    from the function's `await session.become_task()` on ("deferred").
    """
    idempotent: bool
    """Whether a task may run again from its beginning if its worker is lost.

    The default is `idempotentHint` of `annotations`.
    """
    immediate_response: str
    """A text for the model while a task works (2025-11-25, basic/utilities/tasks)."""
    ui: str | WireModel
    """The `ui://` URI of the resource that hosts show with its results, or a `McpUiToolMeta`.

    This needs the extension apps, and its `AppsServer` among the bases of the server.
    """
    structured: bool
    """Whether results are structured, if the return annotation allows it."""


class PromptOptions(DecoratorOptions, total=False):
    completions: Completions


class ResourceOptions(DecoratorOptions, total=False):
    annotations: WireModel
    mime_type: str
    size: int
    ui: WireModel
    """Metadata of a user interface, a `McpUiResourceMeta`; see `ui` of tools."""
    completions: Completions


class _UriAndOptions(ResourceOptions):
    uri: str


_OPTIONS: Final[Mapping[str, Any]] = {
    "tools": ToolOptions,
    "prompts": PromptOptions,
    "resources": _UriAndOptions,
}


class Mark(NamedTuple):
    """The options of a decorator; `kind` is tools, prompts or resources."""

    kind: str
    options: Any


class MarkedFunction(NamedTuple):

    function: Callable[..., Any]
    mark: Mark
    cls: type[Any] | None = None
    attribute: str = ""

    @property
    def is_method(self) -> bool:
        cls = self.cls
        return cls is not None and not isinstance(getattr_static(cls, self.attribute), staticmethod)


@overload
def tool(function: FunctionT, /) -> FunctionT: ...
@overload
def tool(**options: Unpack[ToolOptions]) -> Callable[[FunctionT], FunctionT]: ...
def tool(function: Any = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Mark a function as a tool: parameters are arguments, the docstring describes it."""
    marked = _marking("tools", options)
    return marked if function is None else marked(function)


def resource(uri: str, /, **options: Unpack[ResourceOptions]) -> Callable[[FunctionT], FunctionT]:
    """Mark a function as the resource of a URI, or of all URIs of a template.

    The variables of the template are the parameters of the function.
    """
    check_uri(uri, "resource")
    return _marking("resources", dict(uri=uri, **options))


@overload
def prompt(function: FunctionT, /) -> FunctionT: ...
@overload
def prompt(**options: Unpack[PromptOptions]) -> Callable[[FunctionT], FunctionT]: ...
def prompt(function: Any = None, /, **options: Unpack[PromptOptions]) -> Any:
    """Mark a function as a prompt; see `tool`."""
    marked = _marking("prompts", options)
    return marked if function is None else marked(function)


def check_uri(uri: object, decorator: str) -> None:
    # Without a URI, the function is the first argument.
    if not isinstance(uri, str):
        raise TypeError(f'@{decorator} needs a URI: @{decorator}("scheme://…")')


def check_function(function: object, decorator: str) -> None:
    if not callable(function):
        raise TypeError(f"@{decorator} takes one function; pass everything else by name: name=…")


def new_mark(kind: str, options: Mapping[str, Any]) -> Mark:
    unknown = options.keys() - _OPTIONS[kind].__annotations__.keys()
    if unknown:
        raise TypeError(f"@{kind.removesuffix('s')} has no option {min(unknown)}")
    return Mark(kind, options)


def _marking(kind: str, options: Mapping[str, Any]) -> Callable[[FunctionT], FunctionT]:
    mark = new_mark(kind, options)

    def mark_function(function: FunctionT) -> FunctionT:
        # A mark on a static or class method goes to the function inside, where it is found again.
        inner = getattr(function, "__func__", function)
        check_function(inner, kind.removesuffix("s"))
        setattr(inner, MARKS, (mark, *_all_marks(inner)))
        return function

    return mark_function


def marks_of(value: object) -> tuple[Mark, ...]:
    # Servers of other packages may have marked the same function.
    return tuple(mark for mark in _all_marks(value) if isinstance(mark, Mark))


def _all_marks(value: object) -> tuple[object, ...]:
    marks: Any = getattr(function_of(value), MARKS, ())
    # Some objects claim to have every attribute.
    return cast(tuple[object, ...], marks) if isinstance(marks, tuple) else ()


def function_of(value: Any) -> Any:
    """Return the function inside a static or class method, or the value itself."""
    is_wrapped = isinstance(value, (staticmethod, classmethod))
    return cast(Any, value).__func__ if is_wrapped else value
