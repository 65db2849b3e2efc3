"""Discovery: the metadata of the resource, then of its authorization server.

basic/authorization/authorization-server-discovery; RFC 9728; RFC 8414.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from ....http.headers import PROTOCOL_VERSION
from ..challenge import token_param
from ..errors import InvalidMetadata, Unreachable
from ..steps import Fetch, Flow, fetch
from ..urls import SERVER_METADATA, covers, same_identifier, server_metadata_urls, split_url
from .documents import redact_url, resource_metadata, server_metadata
from .values import Refusal, ResourceMetadata, ServerMetadata

T = TypeVar("T")

_RESOURCE: Final = "/.well-known/oauth-protected-resource"

_HEADERS: Final = {"accept": "application/json"}
_OF_SERVER: Final = "authorization server's"


def find_resource(url: str, refusal: Refusal | None = None) -> Flow[ResourceMetadata | None]:
    """Return the metadata of the MCP server at `url`; None if it has none and names none."""
    root, path = _split(url, "URL of the server")
    place = token_param(refusal.www_authenticate, "resource_metadata") if refusal else None
    places = [f"{root}{_RESOURCE}{path}", f"{root}{_RESOURCE}"]
    if place is not None:
        _split(place, "resource_metadata in WWW-Authenticate")
        places.insert(0, place)
    found = yield from _read_first(places, resource_metadata, "server's", optional=place is None)
    if found is not None and not covers(found.resource, url):
        # RFC 9728, section 3.3, with the parents that MCP allows.
        other = redact_url(found.resource)
        raise InvalidMetadata(f"The metadata of {redact_url(url)} is for another resource, {other}")
    return found


def find_server(issuer: str, *, trailing_slash: bool = False) -> Flow[ServerMetadata]:
    """Return the metadata of an authorization server.

    Reject a document of another issuer (RFC 8414, section 3.3; OpenID Connect Discovery, section
    4.3).
    """
    _split(issuer, "issuer")
    places = server_metadata_urls(issuer)
    if not places:
        raise InvalidMetadata("An issuer must not have a query or a fragment")
    found = yield from _read_first(places, server_metadata, _OF_SERVER)
    assert found is not None
    return _of_issuer(found, issuer, trailing_slash)


def default_server(
    url: str, revision: str = "", *, trailing_slash: bool = False
) -> Flow[ServerMetadata]:
    """Return the metadata of an MCP server that issues its own tokens, as in 2025-03-26.

    Without a document, these are the default endpoints (basic/authorization, "Server Metadata
    Discovery"). `revision` is that of the client.
    """
    root, _ = _split(url, "URL of the server")
    headers = {**_HEADERS, **({PROTOCOL_VERSION: revision} if revision else {})}
    places = [f"{root}{SERVER_METADATA}"]
    reading = _read_first(places, server_metadata, _OF_SERVER, headers, optional=True)
    if (found := (yield from reading)) is not None:
        return _of_issuer(found, root, trailing_slash)
    return ServerMetadata(
        issuer=root,
        authorization_endpoint=f"{root}/authorize",
        token_endpoint=f"{root}/token",
        registration_endpoint=f"{root}/register",
        # The revision requires it of all clients.
        code_challenge_methods_supported=("S256",),
        is_document=False,
    )


def choose_issuer(
    listed: Sequence[str], known: Iterable[str | None], *, trailing_slash: bool = False
) -> str:
    matches = (
        issuer
        for wanted in known
        for issuer in listed
        if wanted and same_identifier(issuer, wanted, trailing_slash=trailing_slash)
    )
    return next(matches, listed[0])


def _of_issuer(found: ServerMetadata, issuer: str, trailing_slash: bool) -> ServerMetadata:
    if not same_identifier(found.issuer, issuer, trailing_slash=trailing_slash):
        other = redact_url(found.issuer)
        raise InvalidMetadata(f"The metadata of the issuer {issuer} belongs to another, {other}")
    return found


def _read_first(
    places: Iterable[str],
    read: Callable[[bytes], T],
    of: str,
    headers: Mapping[str, str] = _HEADERS,
    *,
    optional: bool = False,
) -> Flow[T | None]:
    """Return the first document; None if it is `optional` and all places answer 404."""
    answers: dict[str, int] = {}
    for place in dict.fromkeys(places):
        answer = yield from fetch(Fetch(url=place, headers=headers))
        if answer.is_document:
            try:
                return read(answer.body)
            except InvalidMetadata as error:
                raise InvalidMetadata(f"{error} ({redact_url(place)})") from None
        answers[place] = answer.status
    if optional and set(answers.values()) == {404}:
        return None
    said = ", ".join(f"{redact_url(url)} answered {code}" for url, code in answers.items())
    raise Unreachable(f"The {of} metadata was not found: {said}")


def _split(url: str, label: str) -> tuple[str, str]:
    if (parts := split_url(url)) is None:
        raise InvalidMetadata(f"The {label} is not an http(s) URL: {redact_url(url)}")
    path = "" if parts.path == "/" else parts.path
    return f"{parts.scheme}://{parts.netloc}", f"{path}?{parts.query}" if parts.query else path
