"""What joins a client of one era to a server of the other."""

from ..messages.envelope import client_envelope
from ..rpc.endpoint import Endpoint
from ..translation.revision_view import RevisionView
from ..translation.table import TranslatingTable
from .base import ClientBase, EraAdapter
from .to_handshake import ToHandshake
from .to_stateless import ToStateless


def era_adapter(
    view: RevisionView[ClientBase], endpoint: Endpoint, instructions: str | None
) -> EraAdapter:
    """Return the adapter of a client that is seen as `view` by a server of the other era."""
    table = view.table
    assert isinstance(table, TranslatingTable)
    if table.era.has_handshake:
        return ToHandshake(view.handlers, endpoint, table, instructions)
    envelope = client_envelope(table.revision, view.declared, view.identity)
    return ToStateless(view.handlers, endpoint, table, envelope)
