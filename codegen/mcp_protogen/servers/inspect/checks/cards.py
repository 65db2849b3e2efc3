"""Checks of server cards: their form, their header fields, and what they say of the server."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.runtime.features.server_card.card import secrets_in
from mcp_protogen.runtime.http.headers import media_type
from mcp_protogen.servers.connect.server_cards import CARD, CATALOG, published_documents
from mcp_protogen.servers.inspect.profile import server_info
from mcp_protogen.servers.inspect.rule_faults import Fault, fault
from mcp_protogen.servers.inspect.transcript import Exchange, Transcript

_CACHING: Final = ("cache-control", "etag")
_CORS: Final = "access-control-allow-origin"


def _document_in(transcript: Transcript, name: str) -> tuple[Exchange, dict[str, Any]] | None:
    """Return a document with the exchange that brought it; None without one."""
    exchange = transcript.first(f"server {name}")
    if exchange is None or exchange.status != 200 or not exchange.values:
        return None
    value, is_named = exchange.values[0], _media(exchange) == published_documents()[name].media_type
    # Some sites answer every path.
    return (exchange, value) if is_object(value) and (is_named or "$schema" in value) else None


def _media(exchange: Exchange) -> str:
    return media_type(exchange.answered.get("content-type"))


def form(transcript: Transcript) -> Iterator[Fault]:
    """Yield what the schema of cards does not allow, and secrets in a card."""
    if (found := _document_in(transcript, CARD)) is None:
        return
    exchange, card = found
    for code, problems in (
        ("card-invalid", published_documents()[CARD].problems(card)),
        ("card-secret", secrets_in(card)),
    ):
        for pointer, message in problems:
            item = f"ServerCard{pointer}"
            yield fault(code, item, message, exchange, pointer=pointer, got=card)


def header_fields(transcript: Transcript) -> Iterator[Fault]:
    """Yield header fields of a card that are missing or wrong, and a card that is sent again."""
    if (found := _document_in(transcript, CARD)) is None:
        return
    exchange, document = found[0], published_documents()[CARD]
    if (media := _media(exchange)) != document.media_type:
        message = f"the card has the type {media or 'of nothing'}, not {document.media_type}"
        yield fault("card-media-type", "Content-Type", message, exchange, got=media)
    usual, got = document.headers.get(_CORS), exchange.answered.get(_CORS, "")
    if usual is not None and got != usual:
        message = f"pages of other origins cannot read the card without {_CORS}: {usual}"
        yield fault("card-cors", _CORS, message, exchange, got=got)
    for name in _CACHING:
        if name not in exchange.answered:
            yield fault("card-not-cached", name, f"the card has no {name}", exchange, got="")
    again = transcript.first("server card again")
    if again is not None and again.status != 304:
        message = f"a card that has not changed gets the status {again.status}, not 304"
        yield fault("card-not-revalidated", "If-None-Match", message, again)


def claims(transcript: Transcript) -> Iterator[Fault]:
    """Yield what a card says otherwise than the server."""
    if (found := _document_in(transcript, CARD)) is None:
        return
    exchange, card = found
    for name, value in server_info(transcript).items():
        if name in card and card[name] != value:
            message = f"the card and the server differ in {name}: {value!r:.60} is the server's"
            yield fault("card-differs", name, message, exchange, pointer=f"/{name}", got=card[name])
    remotes = [remote for remote in _objects(card.get("remotes")) if _is_http(remote)]
    if remotes and not any(_leads_to(remote, transcript.url) for remote in remotes):
        urls = [remote.get("url") for remote in remotes]
        message = "no endpoint in the card is the one that is inspected"
        yield fault("card-endpoint", "remotes", message, exchange, pointer="/remotes", got=urls)
    for remote in remotes:
        listed = remote.get("supportedProtocolVersions")
        if is_array(listed) and _leads_to(remote, transcript.url):
            yield from _revisions(transcript, exchange, listed)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return filter(is_object, value if is_array(value) else ())


def _is_http(remote: Mapping[str, Any]) -> bool:
    return remote.get("type") == "streamable-http"


def _leads_to(remote: Mapping[str, Any], url: str) -> bool:
    named = str(remote.get("url", ""))
    # A user fills in names in braces.
    return "{" in named or named.rstrip("/") == url.partition("?")[0].rstrip("/")


def _revisions(transcript: Transcript, exchange: Exchange, listed: list[Any]) -> Iterator[Fault]:
    if transcript.is_spoken and transcript.revision not in listed:
        message = f"the server speaks {transcript.revision}, which the card does not list"
        yield fault("card-revisions", transcript.revision, message, exchange, got=listed)
    for revision in transcript.refused:
        if revision in listed:
            message = f"the card lists {revision}, which the server does not speak"
            yield fault("card-revisions", revision, message, exchange, got=listed)


def catalog(transcript: Transcript) -> Iterator[Fault]:
    """Yield entries for servers in a catalogue that lead nowhere."""
    if (found := _document_in(transcript, CATALOG)) is None:
        return
    exchange, value = found
    kind = published_documents()[CARD].media_type
    for number, entry in enumerate(_objects(value.get("entries"))):
        has = isinstance(entry.get("url"), str), is_object(entry.get("data"))
        if entry.get("type") == kind and (sum(has) != 1 or not entry.get("identifier")):
            message = "an entry for a server needs an identifier, and either url or data"
            pointer = f"/entries/{number}"
            yield fault("catalog-entry", "entries", message, exchange, pointer=pointer, got=entry)


CHECKS = (form, header_fields, claims, catalog)
