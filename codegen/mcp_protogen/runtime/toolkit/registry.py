"""What one server offers: its tools, prompts, resources and templates, by name or URI.

What the class defines is built once for all instances. An instance that adds or removes something
gets a registry of its own.
"""

import inspect
from collections.abc import Iterator
from typing import Any, TypeVar

from .decorators import Mark, Marked, PromptMark, ResourceMark, ToolMark, function_of, marks_of
from .items import Item, Prompt, Resource, Tool, tool_name
from .revision_models import RevisionModels
from .signatures import check_shape, named
from .uri_templates import UriTemplate

ItemT = TypeVar("ItemT", bound=Item)


class Registry:
    """The items of one server, by name or URI, in the order of registration."""

    def __init__(self, models: RevisionModels) -> None:
        self.models = models
        self.tools: dict[str, Tool] = {}
        self.prompts: dict[str, Prompt] = {}
        self.resources: dict[str, Resource] = {}
        self.templates: dict[str, Resource] = {}

    def copy(self) -> "Registry":
        copied = Registry(self.models)
        copied.tools, copied.prompts = dict(self.tools), dict(self.prompts)
        copied.resources, copied.templates = dict(self.resources), dict(self.templates)
        return copied

    @property
    def kinds(self) -> dict[str, tuple[dict[str, Any], ...]]:
        """The items by the kind of list, which may change while clients are connected."""
        return {
            "tools": (self.tools,),
            "prompts": (self.prompts,),
            "resources": (self.resources, self.templates),
        }

    @property
    def completes(self) -> bool:
        items: list[Prompt | Resource] = [*self.prompts.values(), *self.templates.values()]
        return any(item.completers for item in items)

    def add(self, marked: Marked) -> None:
        """Register a function as its decorator says; raise `TypeError` and `ValueError`."""
        mark = marked.mark
        if isinstance(mark, ToolMark):
            _add(self.tools, Tool(marked, mark, self.models), "tool")
        elif isinstance(mark, PromptMark):
            _add(self.prompts, Prompt(marked, mark, self.models), "prompt")
        elif isinstance(mark, ResourceMark):
            resource = Resource(marked, mark, self.models)
            if resource.template.variables:
                _add(self.templates, resource, "resource template")
            else:
                _add(self.resources, resource, "resource")

    def remove(self, kind: str, key: str) -> None:
        """Remove an item; raise `LookupError` if there is none of that name or URI."""
        for items in self.kinds[kind]:
            if key in items:
                del items[key]
                return
        raise LookupError(f"there is no {kind.removesuffix('s')} {key}")


def _add(items: dict[str, ItemT], item: ItemT, what: str) -> None:
    if item.key in items:
        raise ValueError(f"there is already a {what} {item.key}")
    items[item.key] = item


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
            yield from (Marked(function_of(found), mark, cls, attribute) for mark in listed)


def check(marked: Marked) -> None:
    """Raise `TypeError` or `ValueError` for a mark that cannot be right, whatever the types."""
    function, mark, _, attribute = marked
    where = named(function)
    if not inspect.isroutine(function):
        raise TypeError(f"{attribute or where}: {where} has a decorator, but is not a function")
    if mark.thread and inspect.iscoroutinefunction(function):
        raise TypeError(f"{where}: a coroutine function cannot run in a thread")
    names = check_shape(function, method=marked.is_method)
    try:
        if isinstance(mark, ToolMark):
            tool_name(function, mark)
        elif isinstance(mark, ResourceMark):
            for variable in UriTemplate.parse(mark.uri).names:
                # Further parameters may be there: one of them may take the request context.
                if variable not in names:
                    raise TypeError(
                        f"{where}: {mark.uri} has {{{variable}}}, which is not a parameter"
                    )
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
