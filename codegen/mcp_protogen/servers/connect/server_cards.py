"""Server cards of the URLs that users name, with the classes of the package."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

from mcp_protogen.runtime.features.auth.fetch_policy import is_loopback
from mcp_protogen.runtime.features.server_card.card import CardMissing
from mcp_protogen.servers.connect.protocol import protocol

CARD: Final = "card"
CATALOG: Final = "catalog"
"""The names of documents in the facts."""


def published_documents() -> Mapping[str, Any]:
    """Return the documents of server cards by name, each a `PublishedDocument`."""
    documents: Mapping[str, Any] = card_client().DOCUMENTS
    return documents


@cache
def card_client() -> Any:
    """Return the class of clients that read cards, of the newest revision with the extension."""
    parts = (revision.load().__mcp_part__("server_card") for revision in protocol().REVISIONS)
    *_, newest = filter(None, parts)
    return newest.ServerCardClient


def policy_for(url: str, **limits: Any) -> Any:
    """Return the policy for documents of the URL of a user, who trusts its host."""
    host = urlsplit(url).hostname or ""
    # This machine is allowed as it is: its cards may name it otherwise.
    trusted = frozenset[str]() if is_loopback(host) else frozenset({host})
    return protocol().FetchPolicy(trusted_hosts=trusted, **limits)


async def card_of(url: str, timeout: float) -> dict[str, Any] | None:
    """Return the card at a URL, or beside the endpoint there; None without one.

    Raise `CardError` for a card that cannot be used.
    """
    document = published_documents()[CARD]
    place = url if document.is_at(url) else document.beside(url)
    try:
        card = await card_client().read_card(place, policy=policy_for(url, timeout=timeout))
    except CardMissing:
        return None
    found: dict[str, Any] = card.to_wire()
    return found
