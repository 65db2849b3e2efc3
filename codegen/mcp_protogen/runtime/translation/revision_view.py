"""How a server or client, written for one revision, appears in others.

A view is made when a peer of its revision connects: only then are its models and tables loaded.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from ..core.json import JSONObject
from ..core.models.base import WireModel, validator_of
from ..core.revision import Revision, load_generated
from ..core.spec import EraName, Role
from ..messages.method_table import MethodTable
from ..rules import capabilities
from ..rules.handlers import Handlers, extended_by, merged
from ..rules.server_negotiation import Offer

if TYPE_CHECKING:
    from ..core.extensions import Extension
    from ..core.losses import Loss
    from ..rules.wire_features import WireFeature

HandlersT = TypeVar("HandlersT", bound=Handlers)

OnLoss: TypeAlias = "Callable[[Loss], object] | None"


@dataclass(frozen=True, slots=True)
class RevisionView(Generic[HandlersT]):
    """A server or client as its peers of one revision see it.

    `declared` are its capabilities and `identity` its name, as they go over the wire. `adapters` is
    the package's module for peers of another revision; None in the revision of `handlers`.
    """

    handlers: HandlersT
    table: MethodTable
    declared: JSONObject
    identity: JSONObject
    adapters: ModuleType | None = None

    def declaration(self) -> JSONObject:
        """Return its capabilities in its own words, and those for which only the wire has some."""
        runtime = self.handlers.__mcp_runtime__
        feature = runtime.wire_feature()
        if feature is None:
            return runtime.declaration()
        found: JSONObject = {
            name: self.declared[name] for name in feature.members if name in self.declared
        }
        return merged(found, runtime.declaration())

    def introduction(self, result: type[WireModel]) -> dict[str, Any]:
        """Return those members of a result that hold the capabilities and the name."""
        members = {"capabilities": self.declared, "server_info": self.identity}
        # Building resolves annotations that name classes defined further down.
        result.model_rebuild()
        fields = result.__pydantic_fields__
        types: dict[str, Any] = {name: field.annotation for name, field in fields.items()}
        # They are read as from the wire, where names of Python are those of no member.
        return {
            name: validator_of(types[name])(value)
            for name, value in members.items()
            if name in types
        }


class RevisionViews(dict[str, RevisionView[HandlersT]], Generic[HandlersT]):
    """The views of servers or clients in all `revisions`, or else each in its own revision.

    Raises `ValueError` if `revisions` is empty.
    """

    def __init__(
        self,
        handlers: Mapping[str, HandlersT],
        revisions: Iterable[Revision] | None = None,
        on_loss: OnLoss = None,
    ) -> None:
        self._handlers = handlers
        self._revisions = {one.id: one for one in revisions or ()}
        self._on_loss = on_loss
        if revisions is not None and not self._revisions:
            raise ValueError("there has to be a revision to speak")
        eras: dict[str, EraName] = {id: one.era for id, one in self._revisions.items()}
        if revisions is None:
            eras = {id: one.TABLE.rules.era for id, one in handlers.items()}
        self.offer = Offer(dict(sorted(eras.items())))
        """What can be agreed on with a peer. Revisions are named by dates, so names sort."""

    def __missing__(self, revision: str) -> RevisionView[HandlersT]:
        view = self[revision] = self._make(revision)
        return view

    @property
    def handlers(self) -> Iterable[HandlersT]:
        return self._handlers.values()

    def _make(self, revision: str) -> RevisionView[HandlersT]:
        handlers = self._handlers.get(revision)
        if handlers is not None:
            runtime = handlers.__mcp_runtime__
            declared, identity = runtime.declaration(), runtime.identity()
            return RevisionView(handlers, handlers.TABLE, declared, identity)
        newer = [one for one in self._handlers if one > revision]
        handlers = self._handlers[min(newer) if newer else max(self._handlers)]
        spoken, own = self._revisions[revision], handlers.TABLE
        package = load_generated(spoken.module.rpartition(".")[0])
        adapters = adapters_of(package, own.revision, revision)
        from ..core.losses import LossReport

        losses = LossReport(own.revision, revision, self._on_loss)
        feature = handlers.__mcp_runtime__.wire_feature()
        wire = _wire_of(spoken, handlers, feature)
        seen_to = () if feature is None else (feature.untranslated(wire),)
        table: MethodTable = adapters.TranslatingTable(own, wire, package, losses, *seen_to)
        identity = table.outward("Implementation", handlers.__mcp_runtime__.identity())
        declared = _declared(handlers, table, feature)
        return RevisionView(handlers, table, declared, identity, adapters)


def _wire_of(revision: Revision, handlers: Handlers, feature: "WireFeature | None") -> MethodTable:
    names = {one.__module__.rsplit(".", 2)[-2] for one in extended_by(type(handlers))}
    return table_with(revision, names if feature is None else names | {feature.extension})


def table_with(revision: Revision, names: Collection[str]) -> MethodTable:
    """Return the table of a revision, with extensions of these names that the package has."""
    module = revision.load()
    core: MethodTable = module.methods.TABLE
    found = map(module.__mcp_part__, sorted(names))
    extensions: tuple[Extension, ...] = tuple(one.EXTENSION for one in found if one is not None)
    if not extensions:
        return core
    from ..messages.extended_table import ExtendedTable

    return ExtendedTable(core, extensions)


def adapters_of(package: ModuleType, own: str, wire: str) -> ModuleType:
    """Return the module for peers of another revision.

    Raises `LookupError` for a package of one revision, which has no such module.
    """
    adapters: ModuleType | None = package.__mcp_part__("translate.adapters")
    if adapters is None:
        raise LookupError(f"{package.__name__} has no table between {own} and {wire}")
    return adapters


def _declared(handlers: Handlers, table: MethodTable, feature: "WireFeature | None") -> JSONObject:
    role: Role = handlers.ROLE
    handled = handlers.__mcp_runtime__.answered(table.revision)
    wire = table.wire
    requests = (*wire.requests.items(), *wire.input_requests.items())
    needs = [need for method, spec in requests if method in handled for need in spec.requires]
    for method in handlers.__mcp_runtime__.sends():
        spec = wire.notifications.get(method)
        needs += () if spec is None else spec.requires
    own = handlers.__mcp_runtime__.declaration_in(table.revision)
    if feature is not None:
        own = feature.without(own, wire)
    name = "ClientCapabilities" if role == "client" else "ServerCapabilities"
    # A translation adds members that the wire requires; here, absent means not declared.
    kept = {key: value for key, value in table.outward(name, own).items() if key in own}
    declared = merged(capabilities.declare(capabilities.needed(needs, role)), kept)
    return declared if feature is None else merged(declared, feature.declared(wire))
