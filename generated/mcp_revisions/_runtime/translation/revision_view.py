"""How one server or client, written for one revision, appears in others.

A face is made when a peer of its revision comes: only then are the models of that revision, and the
tables that translate into it, loaded.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Generic, TypeVar

from ..core.json import JSONObject
from ..core.losses import Loss, LossReport
from ..core.models.base import WireModel, validator_of
from ..core.revision import Revision
from ..core.spec import EraName, Role
from ..messages.method_table import MethodTable
from ..rules import capabilities
from ..rules.handlers import Handlers, merged
from ..rules.server_negotiation import Offer

SideT = TypeVar("SideT", bound=Handlers)

OnLoss = Callable[[Loss], object] | None


@dataclass(frozen=True, slots=True)
class RevisionView(Generic[SideT]):
    """A side in one revision: the table it is spoken to with, what it declares, what it is called.

    `declared` and `identity` are as they go over the wire. `adapters` is what the package of the
    revision has to join a side to a peer in another one; None for a side in its own.
    """

    side: SideT
    table: MethodTable
    declared: JSONObject
    identity: JSONObject
    adapters: ModuleType | None = None

    def introduction(self, result: type[WireModel]) -> dict[str, Any]:
        """Return the members of a result that name this side and its capabilities.

        They are read as from the wire, where names of Python are those of no member.
        """
        said = {"capabilities": self.declared, "server_info": self.identity}
        # Building resolves annotations that name classes defined further down.
        result.model_rebuild()
        there: dict[str, Any] = {
            name: field.annotation for name, field in result.model_fields.items()
        }
        return {name: validator_of(there[name])(said[name]) for name in said.keys() & there.keys()}


class RevisionViews(Generic[SideT]):
    """The views of some sides: of all `revisions`, or of each side's own revision.

    Raises `ValueError` if `revisions` are given and there are none.
    """

    def __init__(
        self,
        sides: Mapping[str, SideT],
        revisions: Iterable[Revision] | None = None,
        on_loss: OnLoss = None,
    ) -> None:
        self._sides = sides
        self._revisions = {one.id: one for one in revisions or ()}
        self._on_loss = on_loss
        self._made: dict[str, RevisionView[SideT]] = {}
        if revisions is not None and not self._revisions:
            raise ValueError("there has to be a revision to speak")
        eras: dict[str, EraName] = {id: one.era for id, one in self._revisions.items()}
        if revisions is None:
            eras = {id: side.TABLE.rules.era for id, side in sides.items()}
        self.offer = Offer(dict(sorted(eras.items())))
        """What can be agreed on with a peer. Revisions are named by dates, so names sort."""

    def __getitem__(self, revision: str) -> RevisionView[SideT]:
        view = self._made.get(revision)
        if view is None:
            view = self._made[revision] = self._make(revision)
        return view

    @property
    def sides(self) -> Iterable[SideT]:
        """The sides themselves."""
        return self._sides.values()

    def _make(self, revision: str) -> RevisionView[SideT]:
        side = self._sides.get(revision)
        if side is not None:
            own = side.__mcp_runtime__
            return RevisionView(side, side.TABLE, own.declaration(), own.identity())
        side = self._sides[_nearest(revision, self._sides)]
        wire = self._revisions[revision]
        adapters = _adapters(side.TABLE.revision, wire)
        table: MethodTable = adapters.translating_table(
            side.TABLE,
            wire.load().methods.TABLE,
            wire.module.rpartition(".")[0],
            LossReport(side.TABLE.revision, revision, self._on_loss),
        )
        identity = table.outward("Implementation", side.__mcp_runtime__.identity())
        return RevisionView(side, table, _declared(side, table), identity, adapters)


def _nearest(revision: str, known: Iterable[str]) -> str:
    """Return the oldest of `known` that is newer than `revision`, or else the newest of all."""
    newer = [one for one in known if one > revision]
    return min(newer) if newer else max(known)


def _adapters(own: str, revision: Revision) -> ModuleType:
    """Return what joins a side of the revision `own` to a peer that speaks `revision`.

    Only a package of several revisions has it: the others need nothing of what translates. Raises
    `LookupError` where it is missing.
    """
    package = revision.module.rpartition(".")[0]
    name = f"{package}.translate.adapters"
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):
            raise
        raise LookupError(f"{package} has no table between {own} and {revision.id}") from None


def _declared(side: Handlers, table: MethodTable) -> JSONObject:
    """Return the capabilities that a side declares on the wire, by what it handles and sends."""
    role: Role = side.ROLE
    handled = side.__mcp_runtime__.answered(table.revision)
    native = table.wire
    asked = (*native.requests.items(), *native.input_requests.items())
    needs = [need for method, spec in asked if method in handled for need in spec.requires]
    for method in side.SENDS:
        spec = native.notifications.get(method)
        needs += () if spec is None else spec.requires
    said = side.__mcp_runtime__.declaration_in(table.revision)
    name = "ClientCapabilities" if role == "client" else "ServerCapabilities"
    carried: Mapping[str, Any] = table.outward(name, said)
    # A table adds what a peer of the other revision cannot say; of our own side all is known.
    kept = {key: value for key, value in carried.items() if key in said}
    return merged(capabilities.declare(capabilities.needed(needs, role)), kept)
