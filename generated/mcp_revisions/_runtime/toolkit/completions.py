"""Suggestions for an argument of a prompt, or a variable of a resource template, as a user types.

For an enumeration, literals and booleans the type names the values. For any other type the author
of the function supplies them (2025-11-25, server/utilities/completion).
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sized
from enum import Enum
from itertools import islice
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args, get_origin

from .decorators import Completions, function_of
from .signatures import Parameter, arms, named

MOST: Final = 100
"""How many values one answer may have ("Completion Results")."""


class Completion(NamedTuple):
    """At most 100 suggestions, how many there are in all, and whether there are more."""

    values: list[str]
    total: int | None
    has_more: bool


NOTHING: Final = Completion([], 0, False)


class Source(NamedTuple):
    """The origin of suggestions: texts or a function; `attribute` is its name in the server."""

    given: Any
    attribute: str = ""


Look: TypeAlias = Callable[[Any], Source]
"""A function that finds out whether a value is an attribute of the server class."""


class Completer:
    """Suggestions for one parameter."""

    __slots__ = ("_attribute", "_context", "_given", "_is_asked")

    def __init__(self, source: Source) -> None:
        self._given, self._attribute = source
        function = function_of(self._given)
        self._is_asked = callable(function)
        bound = self._attribute != "" and not isinstance(self._given, staticmethod)
        self._context = self._is_asked and _takes_context(function, bound)

    async def __call__(self, owner: object, value: str, context: Mapping[str, str]) -> Completion:
        """Return the suggestions for the text so far and the arguments already known."""
        if not self._is_asked:
            return _cut(_beginning(value, self._given))
        function = getattr(owner, self._attribute) if self._attribute else self._given
        found = function(value, context) if self._context else function(value)
        return _cut(await found if inspect.isawaitable(found) else found)


def _takes_context(function: Callable[..., Any], bound: bool) -> bool:
    taken = len(inspect.signature(function).parameters) - bound
    if taken not in (1, 2):
        wants = "the text so far, and optionally the other arguments"
        raise TypeError(f"{named(function)}: a function for completions takes {wants}")
    return taken == 2


def _beginning(value: str, options: Iterable[Any]) -> list[str]:
    """Return the options that begin with the text, ignoring case."""
    typed = value.casefold()
    return [text for text in map(_text, options) if text.casefold().startswith(typed)]


def _cut(found: Iterable[Any]) -> Completion:
    if isinstance(found, str):
        # A text is iterable too, but its letters are not suggestions.
        found = [found]
    # There may be very many, and a generator cannot be counted.
    values = [_text(one) for one in islice(found, MOST + 1)]
    total = len(found) if isinstance(found, Sized) else None
    more = len(values) > MOST
    return Completion(values[:MOST], total if total is not None or more else len(values), more)


def completers(
    where: str,
    parameters: Mapping[str, Parameter],
    given: Completions | None,
    look: Look,
) -> Mapping[str, Completer]:
    """Return the completers of a function, by the names that clients use."""
    found = {wire: options for wire, one in parameters.items() if (options := _options(one))}
    made = {wire: Completer(Source(options)) for wire, options in found.items()}
    by_name = {one.name: wire for wire, one in parameters.items()}
    for name, source in (given or {}).items():
        if name not in by_name:
            raise TypeError(f"{where}: completions for {name}, which is not one of its parameters")
        if isinstance(source, str):
            raise TypeError(
                f"{where}: completions for {name} are one text: give a list or a function"
            )
        made[by_name[name]] = Completer(look(source))
    return made


def _options(parameter: Parameter) -> list[str]:
    """Return the values that a type names, as text."""
    return [text for arm in arms(parameter.annotation) for text in _texts(arm)]


def _texts(arm: Any) -> list[str]:
    if get_origin(arm) is Literal:
        return [_text(one) for one in get_args(arm) if one is not None]
    if isinstance(arm, type) and issubclass(arm, Enum):
        return [_text(one) for one in arm]
    return ["true", "false"] if arm is bool else []


def _text(value: Any) -> str:
    """Return a value in the form in which a client writes it."""
    if isinstance(value, Enum):
        value = value.value
    return str(value).lower() if isinstance(value, bool) else str(value)
