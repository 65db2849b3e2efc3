"""What one server offers: its tools, prompts, resources and templates, by name or URI.

What the class defines is built once for all instances. An instance that adds or removes something
gets a catalogue of its own.
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from .completions import Look, Source
from .decorators import Mark, PromptMark, ResourceMark, ToolMark, function_of, marks_of
from .invoke import Function
from .prompts import Prompt
from .resources import Resource, check_variables
from .revision_models import RevisionModels
from .signatures import check_shape, named
from .tools import Tool, name_of

PartT = TypeVar("PartT", bound=Tool | Prompt | Resource)


@dataclass(frozen=True, slots=True)
class Entry(Generic[PartT]):
    """One offered item and its function: an attribute of the server, or one passed to it."""

    part: PartT
    attribute: str
    function: Function | None = None

    def bound(self, owner: object) -> Function:
        """Return the function, bound to `owner` if it is a method."""
        if self.function is not None:
            return self.function
        bound: Function = getattr(owner, self.attribute)
        return bound


class Marked(NamedTuple):
    """A decorated function; `attribute` is its name in the class, if it is in one."""

    function: Function
    mark: Mark
    method: bool = False
    attribute: str = ""


class Registry(Generic[PartT]):
    """The registered items of one kind, in the order of registration."""

    def __init__(self, what: str, entries: dict[str, Entry[PartT]] | None = None) -> None:
        self._what = what
        self.entries: dict[str, Entry[PartT]] = entries or {}
        """The items by name or URI."""

    def add(self, entry: Entry[PartT]) -> None:
        """Register an item; raise `ValueError` if its name or URI is taken."""
        if entry.part.key in self.entries:
            raise ValueError(f"there is already a {self._what} {entry.part.key}")
        self.entries[entry.part.key] = entry

    def remove(self, key: str) -> None:
        """Remove an item; raise `LookupError` if there is none of that name or URI."""
        if key not in self.entries:
            raise LookupError(f"there is no {self._what} {key}")
        del self.entries[key]

    @property
    def items(self) -> list[Any]:
        """The items as a client sees them in a list."""
        return [entry.part.item for entry in self.entries.values()]

    def copy(self) -> "Registry[PartT]":
        """Return an independent copy."""
        return Registry(self._what, dict(self.entries))


class Registries:
    """Everything that one server offers."""

    def __init__(self, words: RevisionModels) -> None:
        self.words = words
        self.tools: Registry[Tool] = Registry("tool")
        self.prompts: Registry[Prompt] = Registry("prompt")
        self.resources: Registry[Resource] = Registry("resource")
        self.templates: Registry[Resource] = Registry("resource template")

    def copy(self) -> "Registries":
        """Return an independent copy, for one instance."""
        copied = Registries(self.words)
        copied.tools = self.tools.copy()
        copied.prompts = self.prompts.copy()
        copied.resources = self.resources.copy()
        copied.templates = self.templates.copy()
        return copied

    @property
    def completes(self) -> bool:
        """Return whether any item has completions."""
        prompts, templates = self.prompts.entries, self.templates.entries
        return any(one.part.completers for one in prompts.values()) or any(
            one.part.completers for one in templates.values()
        )

    def add(self, marked: Marked, look: Look = Source) -> None:
        """Register a function as what its decorator says.

        Raises `TypeError` and `ValueError`, which name the function and say what is wrong.
        """
        function, mark, method, attribute = marked
        given = None if attribute else function
        if isinstance(mark, ToolMark):
            tool = Tool(function, mark, self.words, method=method)
            self.tools.add(Entry(tool, attribute, given))
        elif isinstance(mark, PromptMark):
            prompt = Prompt(function, mark, self.words, method=method, look=look)
            self.prompts.add(Entry(prompt, attribute, given))
        elif isinstance(mark, ResourceMark):
            resource = Resource(function, mark, self.words, method=method, look=look)
            registry = self.templates if resource.template.variables else self.resources
            registry.add(Entry(resource, attribute, given))


def marked_in(cls: type[Any]) -> Iterator[Marked]:
    """Yield the decorated functions of a class.

    A function that overrides a decorated one is registered in its place; None in its place removes
    it.
    """
    marks: dict[str, tuple[Mark, ...]] = {}
    for base in reversed(cls.__mro__):
        for attribute, value in base.__dict__.items():
            marks[attribute] = marks_of(value) or marks.get(attribute, ())
    for attribute, listed in marks.items():
        found = inspect.getattr_static(cls, attribute, None) if listed else None
        if found is not None:
            method = not isinstance(found, staticmethod)
            yield from (Marked(function_of(found), mark, method, attribute) for mark in listed)


def catalogue_of(cls: type[Any], words: RevisionModels) -> Registries:
    """Return what all instances of a class offer; raise `TypeError` and `ValueError`."""
    catalogue = Registries(words)
    for marked in marked_in(cls):
        catalogue.add(marked, lambda given: _looked_up(cls, given))
    return catalogue


def _looked_up(cls: type[Any], given: Any) -> Source:
    """Return the attribute of a class that overrides the given value, or the value itself."""
    found = (name for base in cls.__mro__ for name, one in vars(base).items() if one is given)
    attribute = next(found, "")
    return Source(inspect.getattr_static(cls, attribute) if attribute else given, attribute)


def check(marked: Marked) -> None:
    """Raise `TypeError` or `ValueError` for a mark that cannot be right, whatever the types."""
    function, mark, method, attribute = marked
    if not inspect.isroutine(function):
        what = named(function)
        raise TypeError(f"{attribute or what}: {what} has a decorator, but is not a function")
    if mark.thread and inspect.iscoroutinefunction(function):
        raise TypeError(f"{named(function)}: a coroutine function cannot run in a thread")
    names = check_shape(function, method=method)
    try:
        if isinstance(mark, ToolMark):
            name_of(function, mark)
        elif isinstance(mark, ResourceMark):
            check_variables(function, mark, names)
    except ValueError as error:
        raise ValueError(f"{named(function)}: {error}") from error


KINDS: Final = ("tools", "prompts", "resources")
"""The kinds of lists, which may change while clients are connected."""
