"""What a server of a toolkit has on offer: its own items, and those of the servers in it.

What a class defines is built once for all instances, and copied for one that changes.
"""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from inspect import getattr_static, iscoroutinefunction, isroutine
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..rules.handlers import Handlers
from .decorators import Mark, Marked, function_of, marks_of
from .functions import check_shape, function_name
from .items import COMPLETE, Item, Tool, check_name, is_private, name_of, tool_name
from .revision_models import LISTS, RevisionModels, revision_models

if TYPE_CHECKING:
    from .mounts import Mount
    from .visibility import Visibility

SUBSCRIPTIONS: Final = ("resources/subscribe", "resources/unsubscribe")

_READS_MARKS: Final = "__mcp_reads_marks__"

# Changes are seldom, and one may concern several servers.
LOCK: Final = Lock()


FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "tools": ("tools",),
    "prompts": ("prompts",),
    "resources": ("resources", "resource_templates"),
}
"""The lists of each kind of items, which change together."""


Lists: TypeAlias = dict[str, dict[str, Any]]
"""What a server offers: the items of each list by name or URI, in the order of registration."""


class Catalogue:
    """The items of one server, the servers that are mounted in it, and who sees what."""

    def __init__(self, owner: Handlers, registered: Lists) -> None:
        self.owner: Final = owner
        self.models: Final = revision_models(owner.TABLE)
        self.registered = registered
        self.mounts: tuple[Mount, ...] = ()
        self.mounted_in: tuple[Catalogue, ...] = ()
        self.visibility: Visibility | None = None
        self.is_served = False
        """Whether clients know what is on offer."""
        self.lists = registered
        """The items that every client sees."""
        self.show()
        self._lock = Lock()

    @contextmanager
    def changing(self) -> Generator[Lists, None, None]:
        """Change a copy of its lists, and take it if that is right; raise `ValueError`."""
        # Registering may take long, or import modules: other servers do not wait for it.
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
                self.show()

    def show(self) -> None:
        """Find out what is there for everybody, after a change."""
        registered = self.registered
        every = (item for items in registered.values() for item in items.values())
        self._has_scopes = any(item.scopes for item in every)
        lists = {
            field: {key: item for key, item in items.items() if self._is_fixed(item)}
            for field, items in registered.items()
        }
        if all(len(lists[field]) == len(registered[field]) for field in LISTS):
            self.lists = registered
        else:
            # A URI may belong to several resources: the first one that a client may see answers.
            self.lists = lists | {field: {} for field in FIELDS["resources"]}

    def switches(self) -> "Visibility":
        if self.visibility is None:
            from .visibility import Visibility

            self.visibility = Visibility()
        return self.visibility

    def _is_fixed(self, item: Item) -> bool:
        return (
            item.enabled is True
            if self.visibility is None
            else bool(self.visibility.is_enabled_for_all(item))
        )

    @property
    def wants_scopes(self) -> bool:
        return self._has_scopes or any(mount.wants_scopes for mount in self.mounts)

    def names(self, field: str) -> dict[str, str]:
        """Return the names or URIs, each with the name of its server; raise `ValueError`."""
        found = dict.fromkeys(self.registered[field], name_of(self.owner))
        for mount in self.mounts:
            for key, whose in mount.names(field).items():
                if key in found:
                    what = field.removesuffix("s").replace("_", " ")
                    both = f"that of {found[key]} and that of {whose}"
                    advice = "mount one of them under another prefix"
                    raise ValueError(f"the {what} {key} would be there twice, {both}: {advice}")
                if field == "tools":
                    check_name(key)
                found[key] = whose
        return found

    def check_names(self) -> None:
        """Raise `ValueError` if a name is there twice, here or above."""
        for field in LISTS if self.mounts or self.mounted_in else ():
            for root in self._roots():
                root.names(field)

    def _roots(self) -> "Iterator[Catalogue]":
        if not self.mounted_in:
            yield self
        for above in self.mounted_in:
            yield from above._roots()

    def check_offered(self) -> None:
        """Raise `ValueError` if an item needs a resource that is not there."""
        for items in self.registered.values():
            for item in items.values():
                item.check_offered(self.owns)

    def own(self, method: str, kind: str, key: str) -> Iterator[Item]:
        """Yield the items of its own that a request may be about."""
        fixed, *patterns = (self.registered[field] for field in FIELDS[kind])
        if key in fixed:
            yield fixed[key]
        for templates in patterns:
            # A completion names the template, and a request to read a URI of it.
            if method == COMPLETE and key in templates:
                yield templates[key]
            elif method != COMPLETE:
                yield from (
                    template for template in templates.values() if template.values(key) is not None
                )

    def offers(self, field: str) -> bool:
        return bool(self.registered[field]) or any(mount.offers(field) for mount in self.mounts)

    def completes(self) -> bool:
        lists = self.registered
        completing = (*lists["prompts"].values(), *lists["resource_templates"].values())
        return any(item.completers for item in completing) or any(
            mount.completes() for mount in self.mounts
        )

    def owns(self, uri: str) -> bool:
        if self.is_open("resources"):
            return is_private(uri)
        if any(self.own("resources/read", "resources", uri)):
            return True
        inner = ((mount, mount.prefix.own("resources", uri)) for mount in self.mounts)
        return any(own is not None and mount.owns(own) for mount, own in inner)

    def makes_tasks(self) -> bool:
        return any(tool.task for tool in self.registered["tools"].values())

    def has_tasks(self) -> bool:
        return self.makes_tasks() or any(mount.has_tasks() for mount in self.mounts)

    def is_open(self, kind: str) -> bool:
        """Return whether handlers of the user's class may know further items."""
        users = self.owner.REQUESTS.keys() - self.plain() - {*SUBSCRIPTIONS}
        return any(method.startswith(f"{kind}/") for method in users)

    def plain(self) -> frozenset[str]:
        """Return the methods that the toolkit handles, and not the user."""
        toolkit = next(base for base in type(self.owner).__mro__ if vars(base).get(_READS_MARKS))
        return frozenset(
            method
            for method, (_, name) in self.owner.REQUESTS.items()
            if getattr(getattr(self.owner, name), "__func__", 0) is vars(toolkit).get(name)
        )


def catalogue_of(server: Any) -> Catalogue:
    found: Catalogue = server.__mcp_runtime__.catalogue
    return found


def register(marked: Marked, lists: Lists, models: RevisionModels) -> None:
    item = _item(marked, models)
    items = lists[item.field]
    if item.key in items:
        what = item.field.removesuffix("s").replace("_", " ")
        where, advice = function_name(marked.function), "give one of them another"
        wanted = f"{advice} {'URI' if item.field.startswith('resource') else 'name: name=…'}"
        raise ValueError(f"{where}: there is already a {what} {item.key}: {wanted}")
    items[item.key] = item


def _item(marked: Marked, models: RevisionModels) -> Item:
    kind = marked.mark.kind
    if models.ui is not None and models.ui.concerns(marked):
        made: Item = models.ui.MAKERS[kind](marked, models)
        return made
    if "ui" in marked.mark.options:
        advice = "generate the package with --extension apps, and write AppsServer before Toolkit"
        wrong = "ui=… needs a server with the extension apps"
        raise TypeError(f"{function_name(marked.function)}: {wrong}: {advice}")
    if kind == "tools":
        return Tool(marked, models)
    from .completed_items import Prompt, Resource

    return (Prompt if kind == "prompts" else Resource)(marked, models)


def marked_in(cls: type[Any]) -> Iterator[Marked]:
    """Yield the decorated functions of a class; None in place of one removes it."""
    marks: dict[str, tuple[Mark, ...]] = {}
    for base in reversed(cls.__mro__):
        for attribute, value in base.__dict__.items():
            marks[attribute] = marks_of(value) or marks.get(attribute, ())
    for attribute, listed in marks.items():
        found = getattr_static(cls, attribute, None) if listed else None
        if found is not None:
            yield from (Marked(function_of(found), mark, cls, attribute) for mark in listed)


def check(marked: Marked) -> None:
    """Raise `TypeError` or `ValueError` for a mark that cannot be right, whatever the types."""
    function, mark, _, attribute = marked
    where = function_name(function)
    if not isroutine(function):
        if attribute:
            raise TypeError(f"{attribute}: {where} has a decorator, but is not a function")
        raise TypeError(f"{where} is not a function: write a function that calls it")
    if mark.options.get("thread") and iscoroutinefunction(function):
        raise TypeError(f"{where}: a coroutine function cannot run in a thread")
    names = check_shape(function, method=marked.is_method)
    try:
        if mark.kind == "tools":
            tool_name(function, mark.options)
        elif mark.kind == "resources":
            from .uri_templates import UriTemplate

            uri: str = mark.options["uri"]
            for variable in UriTemplate.parse(uri).names:
                # Further parameters may be there: one of them may take the request context.
                if variable not in names:
                    wrong = f"{uri} has {{{variable}}}, which is not a parameter"
                    raise TypeError(f"{where}: {wrong}: add {variable}: str")
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
