"""Functions as clients see them: their parameters and their return values.

What does not need the types is checked as soon as a class is made. The types are resolved later,
when everything that annotations name is defined.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeAlias, Union, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from ..server.base import SessionBase

Function: TypeAlias = Callable[..., Any]

EMPTY: Final = inspect.Parameter.empty

_UNFIT: Final[Mapping[Any, str]] = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only, but clients send arguments by name",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of arguments, but each one needs a schema",
    inspect.Parameter.VAR_KEYWORD: "takes arguments of any name, but each one needs a schema",
}

_BY_NAME: Final = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter that a client sets; `wire` is its name on the wire."""

    name: str
    wire: str
    annotation: Any
    default: Any

    @property
    def info(self) -> FieldInfo:
        if isinstance(self.default, FieldInfo):
            return self.default
        return FieldInfo.from_annotation(self.annotation)

    @property
    def required(self) -> bool:
        default = self.default
        return default is EMPTY or (isinstance(default, FieldInfo) and default.is_required())


@dataclass(frozen=True, slots=True)
class Signature:
    """A function as clients see it; `where` names it in messages."""

    where: str
    parameters: tuple[Parameter, ...]
    sessions: tuple[str, ...]
    """The parameters that take the request context."""
    returns: Any
    """The return annotation; `EMPTY` if there is none."""


def named(function: Function) -> str:
    """Return the name of a function for messages."""
    return getattr(function, "__qualname__", repr(function)).replace("<locals>.", "")


def check_shape(function: Function, *, method: bool) -> list[str]:
    """Return the names of a function's parameters; raise `TypeError` if a client cannot set one."""
    where = named(function)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{where} is a generator, but a client gets one result")
    names: list[str] = []
    for parameter in _parameters(function, method):
        reason = _UNFIT.get(parameter.kind)
        if reason is None and parameter.annotation is EMPTY:
            reason = "has no annotation, so its type is not known"
        if reason is not None:
            raise TypeError(f"{where}: the parameter {parameter.name} {reason}")
        names.append(parameter.name)
    return names


def signature_of(function: Function, *, method: bool) -> Signature:
    """Return the signature with its types; raise `TypeError` for a name that is not defined."""
    where = named(function)
    try:
        # A decorator may wrap the function in another module, which lacks the names of the
        # annotations.
        hints = get_type_hints(inspect.unwrap(function), include_extras=True)
    except NameError as error:
        raise TypeError(f"{where}: an annotation uses an unknown name: {error}") from error
    found = [
        _parameter(where, one, hints.get(one.name, one.annotation))
        for one in _parameters(function, method)
    ]
    sessions = tuple(one.name for one in found if _is_session(one.annotation))
    parameters = tuple(one for one in found if one.name not in sessions)
    wires = [one.wire for one in parameters]
    for one in parameters:
        if wires.count(one.wire) > 1:
            raise TypeError(f"{where}: two parameters have the name {one.wire}")
    return Signature(where, parameters, sessions, hints.get("return", EMPTY))


def _parameter(where: str, parameter: inspect.Parameter, annotation: Any) -> Parameter:
    found = Parameter(parameter.name, parameter.name, annotation, parameter.default)
    if _is_session(annotation):
        return found
    info = found.info
    # Field(alias="from") gives a name that a Python parameter cannot have; a validation alias comes
    # first, because it is the name that is read.
    alias = info.validation_alias or info.alias or found.wire
    at_fault = f"{where}: the parameter {parameter.name} has"
    if not isinstance(alias, str):
        raise TypeError(f"{at_fault} several aliases, but clients use one name")
    if parameter.default is EMPTY and not info.is_required():
        raise TypeError(
            f"{at_fault} its default inside the annotation, where Python does not use it"
        )
    return replace(found, wire=alias)


def _parameters(function: Function, method: bool) -> Iterator[inspect.Parameter]:
    parameters = iter(inspect.signature(function).parameters.values())
    if method and not _is_self(first := next(parameters, None)):
        found = f"and this one takes {first.name if first else 'nothing'}"
        advice = "write self before the rest, or make it a @staticmethod"
        raise TypeError(f"{named(function)}: a method takes self first, {found}: {advice}")
    return parameters


def _is_self(parameter: inspect.Parameter | None) -> bool:
    # A wrapper may take anything.
    if parameter is None or parameter.kind in _BY_NAME:
        return False
    anything = parameter.kind is inspect.Parameter.VAR_POSITIONAL
    return anything or parameter.name in ("self", "cls") or parameter.name.startswith("_")


def _is_session(annotation: Any) -> bool:
    # A function that is also called without a client takes `Session | None = None`.
    found = [one for one in arms(annotation) if one is not NoneType]
    return found != [] and all(
        isinstance(one, type) and issubclass(one, SessionBase) for one in found
    )


def arms(annotation: Any) -> list[Any]:
    """Return the types that a value may have, without what annotates them."""
    annotation = getattr(annotation, "__value__", annotation)  # the value of a type alias
    origin = get_origin(annotation)
    if origin is Annotated:
        return arms(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [inner for arm in get_args(annotation) for inner in arms(arm)]
    return [annotation]


def described(function: Function) -> str | None:
    """Return the first paragraph of a function's docstring, on one line."""
    paragraph = (inspect.getdoc(function) or "").split("\n\n", 1)[0]
    return " ".join(paragraph.split()) or None
