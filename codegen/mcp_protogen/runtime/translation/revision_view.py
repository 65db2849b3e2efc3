"""Views of a server or client, written for one revision, in other revisions.

A view is made when a peer of its revision connects: only then are its models and tables loaded.
"""

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from ..core.json import JSONObject
from ..core.models.base import WireModel, validator_of
from ..core.revision import Revision, load_generated
from ..core.spec import EraName
from ..messages.method_table import MethodTable
from ..rules.handlers import Handlers, merge_objects
from ..rules.server_negotiation import Offer

if TYPE_CHECKING:
    from ..core.losses import Loss

HandlersT = TypeVar("HandlersT", bound=Handlers)

OnLoss: TypeAlias = "Callable[[Loss], object] | None"


class RevisionView(NamedTuple, Generic[HandlersT]):
    """A server or client as its peers of one revision see it.

    `declared` are its capabilities and `identity` its name, as on the wire. `adapters` is the
    package's module for peers of another revision; None in the revision of `handlers`.
    """

    handlers: HandlersT
    table: MethodTable
    declared: JSONObject
    identity: JSONObject
    adapters: ModuleType | None = None

    def declaration(self) -> JSONObject:
        """Return its capabilities in its own revision, and those that only the wire can express."""
        runtime = self.handlers.__mcp_runtime__
        feature = runtime.wire_feature()
        if feature is None:
            return runtime.declaration()
        found: JSONObject = {
            name: self.declared[name] for name in feature.members if name in self.declared
        }
        return merge_objects(found, runtime.declaration())

    def introduction(self, result: type[WireModel]) -> dict[str, Any]:
        members = {"capabilities": self.declared, "server_info": self.identity}
        result.model_rebuild()
        fields: Mapping[str, Any] = result.__pydantic_fields__
        # Read as from the wire, where Python names do not exist.
        return {
            name: validator_of(fields[name].annotation)(value)
            for name, value in members.items()
            if name in fields
        }


class RevisionViews(dict[str, RevisionView[HandlersT]], Generic[HandlersT]):
    """The views of servers or clients in all `revisions`, by default each in its own.

    Raises `ValueError` if `revisions` is empty.
    """

    def __init__(
        self,
        handlers: Mapping[str, HandlersT],
        revisions: Iterable[Revision] | None = None,
        on_loss: OnLoss = None,
    ) -> None:
        self._handlers = handlers
        self._revisions = {revision.id: revision for revision in revisions or ()}
        self._on_loss = on_loss
        if revisions is not None and not self._revisions:
            raise ValueError("at least one revision is required")
        eras: dict[str, EraName] = {id: revision.era for id, revision in self._revisions.items()}
        if revisions is None:
            eras = {id: handler.TABLE.rules.era for id, handler in handlers.items()}
        self.offer = Offer(dict(sorted(eras.items())))
        """The revisions that may be agreed on. They are named by dates, so names sort."""

    def __missing__(self, revision: str) -> RevisionView[HandlersT]:
        return self.setdefault(revision, self._make(revision))

    @property
    def handlers(self) -> Iterable[HandlersT]:
        return self._handlers.values()

    def _make(self, revision: str) -> RevisionView[HandlersT]:
        handlers = self._handlers.get(revision)
        if handlers is not None:
            runtime, table = handlers.__mcp_runtime__, handlers.TABLE.with_losses(self._on_loss)
            return RevisionView(handlers, table, runtime.declaration(), runtime.identity())
        newer = (known for known in self._handlers if known > revision)
        handlers = self._handlers[min(newer, default=max(self._handlers))]
        spoken = self._revisions[revision]
        package = load_generated(spoken.module.rpartition(".")[0])
        adapters = adapters_of(package, handlers.TABLE.revision, revision)
        view: RevisionView[HandlersT] = adapters.translated_view(
            handlers, spoken, package, adapters, self._on_loss
        )
        return view


def adapters_of(package: ModuleType, own: str, wire: str) -> ModuleType:
    """Return the module for peers of another revision.

    Raise `LookupError` for a package of one revision, which has no such module.
    """
    adapters: ModuleType | None = package.__mcp_part__("translate.adapters")
    if adapters is None:
        raise LookupError(f"{package.__name__} has no tables from {own} to {wire}")
    return adapters
