"""The catalogue of a toolkit server: its own items, and those of mounted servers.

A class's items are built once for all instances, and copied for an instance that changes them.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from inspect import getattr_static, iscoroutinefunction, isroutine
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..rules.handlers import Handlers
from .decorators import Mark, MarkedFunction, function_of, marks_of
from .functions import check_shape, function_name
from .items import COMPLETE, Item, Tool, check_name, is_private, name_of, tool_name
from .revision_models import LISTS, RevisionModels, revision_models

if TYPE_CHECKING:
    from .mounts import Mount
    from .visibility import Visibility

SUBSCRIPTIONS: Final = ("resources/subscribe", "resources/unsubscribe")

# One lock, because changes are rare, and one may concern several servers.
LOCK: Final = Lock()


FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "tools": ("tools",),
    "prompts": ("prompts",),
    "resources": ("resources", "resource_templates"),
}
"""The lists of each kind of items, which change together."""


def kinds_with(has_items: Callable[[str], bool]) -> list[str]:
    return [kind for kind, fields in FIELDS.items() if any(map(has_items, fields))]


Lists: TypeAlias = dict[str, dict[str, Any]]
"""The items of each list by name or URI, in the order of registration."""


class Catalogue:
    def __init__(self, owner: Handlers, registered: Lists) -> None:
        self.owner: Final = owner
        self.models: Final = revision_models(owner.TABLE)
        self.registered = registered
        self.mounts: tuple[Mount, ...] = ()
        self.mounted_in: tuple[Catalogue, ...] = ()
        self.visibility: Visibility | None = None
        self.is_served = False
        """Whether clients may have read the lists."""
        self.lists = registered
        self.update_visible()
        self._lock = Lock()

    @contextmanager
    def changing(self) -> Generator[Lists, None, None]:
        """Yield a copy of the lists to change, and keep it if valid; raise `ValueError`."""
        # A lock of this server: registering may take long, or import modules.
        with self._lock:
            before = self.registered
            lists = {field: dict(items) for field, items in before.items()}
            yield lists
            with LOCK:
                self.registered = lists
                try:
                    self.check_names()
                    if self.is_served:
                        self.check_offered()
                except ValueError:
                    self.registered = before
                    raise
                self.update_visible()

    def update_visible(self) -> None:
        """Find the items that are visible to all clients, after a change."""
        registered = self.registered
        all_items = (item for items in registered.values() for item in items.values())
        self._has_scopes = any(item.scopes for item in all_items)
        lists = {
            field: {key: item for key, item in items.items() if self._is_fixed(item)}
            for field, items in registered.items()
        }
        if lists == registered:
            self.lists = registered
        else:
            # A URI may belong to several resources: the first visible one answers.
            self.lists = lists | {field: {} for field in FIELDS["resources"]}

    def switches(self) -> "Visibility":
        if self.visibility is None:
            from .visibility import Visibility

            self.visibility = Visibility()
        return self.visibility

    def _is_fixed(self, item: Item) -> bool:
        if self.visibility is None:
            return item.enabled is True
        return bool(self.visibility.is_enabled_for_all(item))

    @property
    def wants_scopes(self) -> bool:
        return self._has_scopes or any(mount.wants_scopes for mount in self.mounts)

    def names(self, field: str) -> dict[str, str]:
        """Return the server of each name or URI; raise `ValueError` if two have the same."""
        owners = dict.fromkeys(self.registered[field], name_of(self.owner))
        for mount in self.mounts:
            for key, server in mount.names(field).items():
                if key in owners:
                    both = f"that of {owners[key]} and that of {server}"
                    advice = "mount one of them under another prefix"
                    raise ValueError(f"two servers have the {_noun(field)} {key}, {both}: {advice}")
                if field == "tools":
                    check_name(key)
                owners[key] = server
        return owners

    def check_names(self) -> None:
        """Raise `ValueError` if a name occurs twice, here or above."""
        for field in LISTS if self.mounts or self.mounted_in else ():
            for root in self._roots():
                root.names(field)

    def _roots(self) -> "Iterator[Catalogue]":
        if not self.mounted_in:
            yield self
        for above in self.mounted_in:
            yield from above._roots()

    def check_offered(self) -> None:
        """Raise `ValueError` if an item needs a missing resource."""
        for items in self.registered.values():
            for item in items.values():
                item.check_offered(self.owns)

    def own_items(self, method: str, kind: str, key: str) -> Iterator[Item]:
        """Yield the server's own items that a request may be about."""
        fixed, *patterns = (self.registered[field] for field in FIELDS[kind])
        if key in fixed:
            yield fixed[key]
        for templates in patterns:
            for uri, template in templates.items():
                # A completion names the template, and a read request one of its URIs.
                if uri == key if method == COMPLETE else template.values(key) is not None:
                    yield template

    def has_items(self, field: str) -> bool:
        return bool(self.registered[field]) or any(mount.has_items(field) for mount in self.mounts)

    def has_completions(self) -> bool:
        lists = self.registered
        completing = (*lists["prompts"].values(), *lists["resource_templates"].values())
        return any(item.completers for item in completing) or any(
            mount.has_completions() for mount in self.mounts
        )

    def owns(self, uri: str) -> bool:
        if self.is_open("resources"):
            return is_private(uri)
        if any(self.own_items("resources/read", "resources", uri)):
            return True
        uris = ((mount, mount.prefix.strip("resources", uri)) for mount in self.mounts)
        return any(own is not None and mount.owns(own) for mount, own in uris)

    def makes_tasks(self) -> bool:
        return any(tool.task for tool in self.registered["tools"].values())

    def has_tasks(self) -> bool:
        return self.makes_tasks() or any(mount.has_tasks() for mount in self.mounts)

    def is_open(self, kind: str) -> bool:
        """Return whether handlers of the user's class may have further items."""
        users = self.owner.REQUESTS.keys() - self.toolkit_methods() - {*SUBSCRIPTIONS}
        return any(method.startswith(f"{kind}/") for method in users)

    def toolkit_methods(self) -> frozenset[str]:
        """Return the methods that the toolkit handles rather than the user."""
        toolkit = next(
            base for base in type(self.owner).__mro__ if vars(base).get("__mcp_reads_marks__")
        )
        return frozenset(
            method
            for method, (_, name) in self.owner.REQUESTS.items()
            if getattr(getattr(self.owner, name), "__func__", 0) is vars(toolkit).get(name)
        )


def register(marked: MarkedFunction, lists: Lists, models: RevisionModels) -> None:
    item = _item(marked, models)
    items = lists[item.field]
    if item.key in items:
        label, advice = function_name(marked.function), "give one of them another"
        hint = f"{advice} {'URI' if item.field.startswith('resource') else 'name: name=…'}"
        raise ValueError(f"{label}: there is already a {_noun(item.field)} {item.key}: {hint}")
    items[item.key] = item


def _noun(field: str) -> str:
    return field.removesuffix("s").replace("_", " ")


def _item(marked: MarkedFunction, models: RevisionModels) -> Item:
    kind, added = marked.mark.kind, models.added_items
    if added is not None and added.concerns(marked):
        item: Item = added.MAKERS[kind](marked, models)
        return item
    if "ui" in marked.mark.options:
        advice = "generate the package with --extension apps, and write AppsServer before Toolkit"
        wrong = "ui=… needs a server with the extension apps"
        raise TypeError(f"{function_name(marked.function)}: {wrong}: {advice}")
    if kind == "tools":
        return Tool(marked, models)
    from .prompts_and_resources import Prompt, Resource

    return (Prompt if kind == "prompts" else Resource)(marked, models)


def decorated_functions(cls: type[Any]) -> Iterator[MarkedFunction]:
    """Yield the decorated functions of a class; a subclass removes one by setting it to None."""
    marks: dict[str, tuple[Mark, ...]] = {}
    for base in reversed(cls.__mro__):
        for attribute, value in base.__dict__.items():
            marks[attribute] = marks_of(value) or marks.get(attribute, ())
    for attribute, listed in marks.items():
        value = getattr_static(cls, attribute, None) if listed else None
        if value is not None:
            yield from (MarkedFunction(function_of(value), mark, cls, attribute) for mark in listed)


def check_mark(marked: MarkedFunction) -> None:
    """Raise `TypeError` or `ValueError` for a mark that is invalid, whatever its types are."""
    function, mark, _, attribute = marked
    label = function_name(function)
    if not isroutine(function):
        if attribute:
            raise TypeError(f"{attribute}: {label} has a decorator, but is not a function")
        raise TypeError(f"{label} is not a function: write a function that calls it")
    if mark.options.get("thread") and iscoroutinefunction(function):
        raise TypeError(f"{label}: a coroutine function cannot run in a thread")
    names = check_shape(function, method=marked.is_method)
    try:
        if mark.kind == "tools":
            tool_name(function, mark.options)
        elif mark.kind == "resources":
            from .uri_templates import UriTemplate

            uri = mark.options["uri"]
            for variable in UriTemplate.parse(uri).names:
                # Further parameters are allowed: one may take the session.
                if variable not in names:
                    wrong = f"{uri} has {{{variable}}}, which is not a parameter"
                    raise TypeError(f"{label}: {wrong}: add {variable}: str")
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from error
