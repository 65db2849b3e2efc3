"""Views of a server or client in a revision other than its own."""

from types import ModuleType
from typing import TYPE_CHECKING

from ..core.json import JSONObject
from ..core.losses import LossReport
from ..core.revision import Revision
from ..core.spec import Role
from ..messages.extended_table import table_with
from ..rules import capabilities
from ..rules.handlers import Handlers, extended_by, merge_objects
from ..rules.wire_features import NOTHING
from .revision_view import HandlersT, OnLoss, RevisionView
from .table import TranslatingTable

if TYPE_CHECKING:
    from ..rules.wire_features import WireFeature


def translated_view(
    handlers: HandlersT,
    spoken: Revision,
    package: ModuleType,
    adapters: ModuleType,
    on_loss: OnLoss,
) -> RevisionView[HandlersT]:
    """Return a server or client as peers of the revision `spoken` see it."""
    own, runtime = handlers.TABLE, handlers.__mcp_runtime__
    losses = LossReport(own.revision, spoken.id, on_loss)
    feature = runtime.wire_feature()
    names = {base.__module__.rsplit(".", 2)[-2] for base in extended_by(type(handlers))}
    wire = table_with(spoken, names if feature is None else names | {feature.extension})
    untranslated = NOTHING if feature is None else feature.untranslated_members(wire)
    table = TranslatingTable(own, wire, package, losses, untranslated)
    identity = table.outward("Implementation", runtime.identity())
    declared = _wire_capabilities(handlers, table, feature)
    return RevisionView(handlers, table, declared, identity, adapters)


def _wire_capabilities(
    handlers: Handlers, table: TranslatingTable, feature: "WireFeature | None"
) -> JSONObject:
    role: Role = handlers.ROLE
    runtime, wire = handlers.__mcp_runtime__, table.wire
    handled = runtime.answered_methods(table.revision)
    requests = (*wire.requests.values(), *wire.input_requests.values())
    answered = (spec for spec in requests if table.own_name(spec.method) in handled)
    needs = [need for spec in answered for need in spec.requires]
    for method in runtime.sends():
        spec = wire.notifications.get(table.wire_name(method))
        needs += () if spec is None else spec.requires
    own = runtime.declaration_in(table.revision)
    if feature is not None:
        own = feature.without(own, wire)
    name = "ClientCapabilities" if role == "client" else "ServerCapabilities"
    # A translation adds members that the wire requires; here, absent means not declared.
    kept = {key: value for key, value in table.outward(name, own).items() if key in own}
    declared = merge_objects(
        capabilities.declare(capabilities.required_capabilities(needs, role)), kept
    )
    return declared if feature is None else merge_objects(declared, feature.capabilities_on(wire))
