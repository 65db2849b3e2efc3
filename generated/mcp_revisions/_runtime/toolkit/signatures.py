"""What a function takes and gives, as far as clients are concerned.

What can be seen without the types is checked as soon as a class is made. Types are looked up later,
when all that annotations may name is there.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from ..session import SessionBase

EMPTY: Final = inspect.Parameter.empty

_UNFIT: Final[Mapping[Any, str]] = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional only, but arguments come by name",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of arguments, but each has to be described",
    inspect.Parameter.VAR_KEYWORD: "takes arguments of any name, but each has to be described",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter that a client fills in; `wire` is what clients call it."""

    name: str
    wire: str
    annotation: Any
    default: Any

    @property
    def info(self) -> FieldInfo:
        """What is said of it besides its type."""
        if isinstance(self.default, FieldInfo):
            return self.default
        return FieldInfo.from_annotation(self.annotation)

    @property
    def required(self) -> bool:
        """Whether a client has to fill it in."""
        default = self.default
        return default is EMPTY or (isinstance(default, FieldInfo) and default.is_required())


@dataclass(frozen=True, slots=True)
class Signature:
    """A function as clients see it; `where` names it in messages."""

    where: str
    parameters: tuple[Parameter, ...]
    sessions: tuple[str, ...]
    """The parameters that get the session."""
    returns: Any
    """The return annotation; `EMPTY` if there is none."""


def named(function: Callable[..., Any]) -> str:
    """How messages name a function."""
    return getattr(function, "__qualname__", repr(function)).replace("<locals>.", "")


def check_shape(function: Callable[..., Any], *, method: bool) -> list[str]:
    """The names of a function's parameters; raises `TypeError` for one that no client can fill in.

    The first one of a `method` is not counted.
    """
    where = named(function)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{where}: yields values one by one, but a client gets one result")
    names: list[str] = []
    for parameter in _parameters(function, method):
        reason = _UNFIT.get(parameter.kind)
        if reason is None and parameter.annotation is EMPTY:
            reason = "has no annotation, so nobody knows what to put there"
        if reason is not None:
            raise TypeError(f"{where}: the parameter {parameter.name} {reason}")
        names.append(parameter.name)
    return names


def signature_of(function: Callable[..., Any], *, method: bool) -> Signature:
    """The signature with its types; raises `TypeError` for names that annotations do not find."""
    where = named(function)
    try:
        # A decorator that wraps a function need not know the names of the function's module.
        hints = get_type_hints(inspect.unwrap(function), include_extras=True)
    except NameError as error:
        raise TypeError(f"{where}: an annotation names what is not there: {error}") from error
    found = [
        _parameter(where, one, hints.get(one.name, one.annotation))
        for one in _parameters(function, method)
    ]
    sessions = tuple(one.name for one in found if _is_session(one.annotation))
    parameters = tuple(one for one in found if one.name not in sessions)
    wires = [one.wire for one in parameters]
    for one in parameters:
        if wires.count(one.wire) > 1:
            raise TypeError(f"{where}: two parameters are called {one.wire}")
    return Signature(where, parameters, sessions, hints.get("return", EMPTY))


def _parameter(where: str, parameter: inspect.Parameter, annotation: Any) -> Parameter:
    found = Parameter(parameter.name, parameter.name, annotation, parameter.default)
    if _is_session(annotation):
        return found
    info = found.info
    # Field(alias="from") names what no parameter of Python can be called; where there is another
    # name to read it by, that one counts.
    alias = info.validation_alias or info.alias or found.wire
    at_fault = f"{where}: the parameter {parameter.name} has"
    if not isinstance(alias, str):
        raise TypeError(f"{at_fault} several names, but clients use one")
    if parameter.default is EMPTY and not info.is_required():
        raise TypeError(f"{at_fault} its default in its type, where Python does not find it")
    return replace(found, wire=alias)


def _parameters(function: Callable[..., Any], method: bool) -> Iterator[inspect.Parameter]:
    parameters = iter(inspect.signature(function).parameters.values())
    if method and next(parameters, None) is None:
        raise TypeError(f"{named(function)}: a method takes self first")
    return parameters


def _is_session(annotation: Any) -> bool:
    # A function that is also called without a client says `Session | None = None`.
    found = [one for one in arms(annotation) if one is not NoneType]
    return found != [] and all(
        isinstance(one, type) and issubclass(one, SessionBase) for one in found
    )


def arms(annotation: Any) -> list[Any]:
    """The types that a value may have, without what is said beside them."""
    annotation = getattr(annotation, "__value__", annotation)  # what an alias stands for
    origin = get_origin(annotation)
    if origin is Annotated:
        return arms(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [inner for arm in get_args(annotation) for inner in arms(arm)]
    return [annotation]


def described(function: Callable[..., Any]) -> str | None:
    """The first paragraph of a function's docstring, on one line."""
    paragraph = (inspect.getdoc(function) or "").split("\n\n", 1)[0]
    return " ".join(paragraph.split()) or None
