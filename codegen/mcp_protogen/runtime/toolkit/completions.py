"""Suggestions for an argument of a prompt, or a variable of a template, as a user types."""

from collections.abc import Callable, Iterable, Mapping, Sized
from enum import Enum
from inspect import getattr_static, isawaitable, signature
from itertools import islice
from typing import Any, Final, Literal, get_args, get_origin

from .decorators import Completions, function_of
from .functions import Parameter, function_name, union_types

# The most values of one result ("Completion Results").
_MOST: Final = 100


class Completer:
    """Suggestions for one parameter, from values or a function, which `cls` may override."""

    def __init__(self, given: Any, cls: type[Any] | None = None) -> None:
        bases: tuple[type[Any], ...] = getattr(cls, "__mro__", ())
        names = (name for base in bases for name, value in vars(base).items() if value is given)
        self._attribute = next(names, "")
        self._given = getattr_static(cls, self._attribute) if self._attribute else given
        function = function_of(self._given)
        self._is_asked = callable(function)
        bound = self._attribute != "" and not isinstance(self._given, staticmethod)
        self._context = self._is_asked and _takes_context(function, bound)

    async def __call__(
        self, server: object, value: str, context: Mapping[str, str]
    ) -> dict[str, Any]:
        if not self._is_asked:
            start = value.casefold()
            options = map(_text, self._given)
            return _shorten([text for text in options if text.casefold().startswith(start)])
        function = getattr(server, self._attribute) if self._attribute else self._given
        found = function(value, context) if self._context else function(value)
        return _shorten(await found if isawaitable(found) else found)


def _takes_context(function: Callable[..., Any], bound: bool) -> bool:
    count = len(signature(function).parameters) - bound
    if count not in (1, 2):
        expected = "the text so far, and optionally the other arguments"
        raise TypeError(f"{function_name(function)}: a completion function must take {expected}")
    return count == 2


def _shorten(suggestions: Iterable[Any]) -> dict[str, Any]:
    if isinstance(suggestions, str):
        # A text is iterable too, but its letters are not suggestions.
        suggestions = [suggestions]
    # There may be very many, and a generator has no length.
    values = [_text(suggestion) for suggestion in islice(suggestions, _MOST + 1)]
    total: int | None = len(values)
    if more := len(values) > _MOST:
        total = len(suggestions) if isinstance(suggestions, Sized) else None
    return {"values": values[:_MOST], "total": total, "has_more": more}


def completers(
    label: str, parameters: Mapping[str, Parameter], given: Completions | None, cls: type | None
) -> Mapping[str, Completer]:
    found: dict[str, Completer] = {}
    for wire, parameter in parameters.items():
        if texts := [text for arm in union_types(parameter.annotation) for text in _texts(arm)]:
            found[wire] = Completer(texts)
    by_name = {parameter.name: wire for wire, parameter in parameters.items()}
    for name, source in (given or {}).items():
        if name not in by_name:
            raise TypeError(f"{label}: completions for {name}, which is not one of its parameters")
        if isinstance(source, str):
            hint = "give a list or a function"
            raise TypeError(f"{label}: completions for {name} must not be a single string: {hint}")
        found[by_name[name]] = Completer(source, cls)
    return found


def _texts(arm: Any) -> list[str]:
    if get_origin(arm) is Literal:
        return [_text(value) for value in get_args(arm) if value is not None]
    if isinstance(arm, type) and issubclass(arm, Enum):
        return [_text(member) for member in arm]
    return ["true", "false"] if arm is bool else []


def _text(value: Any) -> str:
    if isinstance(value, Enum):
        value = value.value
    return str(value).lower() if isinstance(value, bool) else str(value)
