"""Server cards of the URLs that users name, with the classes of the package."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

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
    """Return the class of clients that read cards, of the newest revision that has them."""
    newest_first = (revision.load() for revision in reversed(protocol().REVISIONS))
    parts: Iterator[Any] = (module.__mcp_part__("server_card") for module in newest_first)
    return next(part for part in parts if part is not None).ServerCardClient


async def card_of(url: str, timeout: float) -> dict[str, Any] | None:
    """Return the card at a URL, or beside the endpoint there; None without one.

    The user trusts the host. Raise `CardError` for a card that cannot be used.
    """
    trusted, document = frozenset({urlsplit(url).hostname or ""}), published_documents()[CARD]
    policy = protocol().FetchPolicy(trusted_hosts=trusted, timeout=timeout)
    place = url if document.is_at(url) else document.beside(url)
    try:
        card = await card_client().read_card(place, policy=policy)
    except CardMissing:
        return None
    found: dict[str, Any] = card.to_wire()
    return found
