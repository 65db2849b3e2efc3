"""The decorators: each notes on a function what it is to clients, and gives the function back.

A function may be marked before there is a server, and may be several things at once. It stays what
it was: methods can be called and tested directly.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias, TypedDict, TypeVar, Unpack, cast, overload

from ..model import WireModel

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

# Each form apart, or type checkers know nothing of the parameters of a lambda.
_Function: TypeAlias = Callable[[str], object] | Callable[[str, Any], object]
_Method: TypeAlias = Callable[[Any, str], object] | Callable[[Any, str, Any], object]
Completions: TypeAlias = Mapping[str, _Function | _Method | Sequence[str]]
"""By parameter: what may stand there, or a function of what is typed so far that says so.

The function gets the text, and if it takes two arguments also those that are filled in already. It
may be a method of the class, and a coroutine function.
"""

_MARKS: Final = "__mcp_marks__"


class Options(TypedDict, total=False):
    """What can be said of a tool, a resource and a prompt alike."""

    name: str
    title: str
    description: str
    icons: Sequence[WireModel]
    meta: Mapping[str, Any]
    thread: bool


class ToolOptions(Options, total=False):
    """What can be said of a tool beyond what its function says."""

    annotations: WireModel
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    structured: bool


class ResourceOptions(Options, total=False):
    """What can be said of a resource beyond what its function says."""

    annotations: WireModel
    mime_type: str
    size: int
    completions: Completions


class PromptOptions(Options, total=False):
    """What can be said of a prompt beyond what its function says."""

    completions: Completions


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What tools, resources and prompts have in common; what is None is found in the function."""

    name: str | None = None
    title: str | None = None
    description: str | None = None
    icons: Sequence[WireModel] | None = None
    meta: Mapping[str, Any] | None = None
    thread: bool = False
    """Whether a plain function runs in a thread of its own, because it would block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMark(Mark):
    """A function is a tool."""

    annotations: WireModel | None = None
    input_schema: Mapping[str, Any] | None = None
    """Written by hand; the function then takes the session and the arguments as they came."""
    output_schema: Mapping[str, Any] | None = None
    structured: bool = True
    """Whether results are structured, where the function's return annotation allows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceMark(Mark):
    """A function is a resource, or all resources of a template."""

    uri: str
    annotations: WireModel | None = None
    mime_type: str | None = None
    size: int | None = None
    completions: Completions | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMark(Mark):
    """A function is a prompt."""

    completions: Completions | None = None


@overload
def tool(function: FunctionT, /) -> FunctionT: ...
@overload
def tool(**options: Unpack[ToolOptions]) -> Callable[[FunctionT], FunctionT]: ...
def tool(function: Any = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Mark a function as a tool: its parameters are the arguments, its docstring describes it."""
    return _marking("@tool", ToolMark(**options), function)


def resource(uri: str, /, **options: Unpack[ResourceOptions]) -> Callable[[FunctionT], FunctionT]:
    """Mark a function as the resource of a URI, or of all URIs of a template.

    The variables of the template are the parameters of the function.
    """
    # Who forgets the URI gives the function in its place.
    if not isinstance(uri, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError('@resource needs a URI: @resource("scheme://…")')
    mark = ResourceMark(uri=uri, **options)

    def marked(function: FunctionT) -> FunctionT:
        return noted(function, mark, "@resource")

    return marked


@overload
def prompt(function: FunctionT, /) -> FunctionT: ...
@overload
def prompt(**options: Unpack[PromptOptions]) -> Callable[[FunctionT], FunctionT]: ...
def prompt(function: Any = None, /, **options: Unpack[PromptOptions]) -> Any:
    """Mark a function as a prompt: its parameters are the arguments, its docstring describes it."""
    return _marking("@prompt", PromptMark(**options), function)


def _marking(decorator: str, mark: Mark, function: Any) -> Any:
    """The marked function, or what marks the function that is still to come."""
    marking = partial(noted, mark=mark, decorator=decorator)
    return marking if function is None else marking(function)


def noted(function: FunctionT, mark: Mark, decorator: str) -> FunctionT:
    """The same function, with one mark more."""
    # Of a static or class method, the function inside is what is found again.
    inner = getattr(function, "__func__", function)
    if not callable(inner):
        raise TypeError(f"{decorator} marks a function; say everything else by name: name=…")
    setattr(inner, _MARKS, (mark, *marks_of(inner)))
    return function


def marks_of(value: object) -> tuple[Mark, ...]:
    """What a function, or whatever else, is marked as."""
    marks: Any = getattr(function_of(value), _MARKS, ())
    # Some objects say of any attribute that they have it.
    return cast(tuple[Mark, ...], marks) if isinstance(marks, tuple) else ()


def function_of(value: Any) -> Any:
    """The function inside a static or class method; anything else as it is."""
    if not isinstance(value, (staticmethod, classmethod)):
        return value
    function: Any = cast(Any, value).__func__
    return function
