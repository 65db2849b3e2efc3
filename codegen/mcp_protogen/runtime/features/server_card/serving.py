"""Servers with a card, which they publish over HTTP beside their endpoint."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from hashlib import sha256
from types import ModuleType
from typing import Any, ClassVar, Final, Generic, TypeVar, cast

from pydantic_core import to_json

from ...core.documents import PublishedDocument
from ...core.json import JSONObject
from ...core.models.base import WireModel
from ...http.server.app import HttpApp
from ...http.server.asgi import HttpExchange
from ...http.server.resource_metadata import send_document
from ...http.server.routes import RouteResponse
from ...server.base import ServerBase
from ...server.serve import Server
from .card import CardError, catalog_of, check_card

CardT = TypeVar("CardT", bound=WireModel)
RemoteT = TypeVar("RemoteT", bound=WireModel)

_CARD: Final = "card"
_CATALOG: Final = "catalog"
_EXAMPLE: Final = "https://example.invalid/mcp"


class ServesCard(ServerBase[Any], Generic[CardT, RemoteT]):
    """A server with a card: `class Weather(ServerCardServer, mcp.App)`.

    Over HTTP, anyone may read the card and a catalogue of it, without a token. `http_app` raises
    `CardError` for a server that cannot have one.
    """

    DOCUMENTS: ClassVar[Mapping[str, PublishedDocument]]
    MODELS: ClassVar[ModuleType]
    public_url: str | None = None
    """The URL of the endpoint as clients know it.

    By default that of the protected resource, or else of the request.
    """

    def server_card(self, remote: RemoteT) -> CardT:
        """Return the card: the server's `info`, and its endpoint.

        It is called for each request. Override it to add members, or to return another card.
        """
        model: type[WireModel] = self.MODELS.ServerCard
        info, members = self.__mcp_runtime__.identity(), JSONObject(remotes=[remote.to_wire()])
        for name, field in model.model_fields.items():
            wire = field.alias or name
            if wire in info or isinstance(field.default, str):
                members[wire] = info.get(wire, field.default)
        check_card(members, self.DOCUMENTS[_CARD], info["name"])
        return cast(CardT, model.from_wire(members))

    @staticmethod
    def __mcp_publish__(
        server: Server, app: HttpApp
    ) -> Mapping[str, Callable[[HttpExchange], Awaitable[None]]]:
        """Return the handlers of the documents of a server, by path."""
        owner: Any = server() if isinstance(server, type) else server
        publisher = _Publisher(owner, app)
        documents: Mapping[str, PublishedDocument] = owner.DOCUMENTS
        return {
            document.beside(app.http.path): partial(publisher.answer, name)
            for name, document in documents.items()
        }


class _Publisher:
    def __init__(self, owner: ServesCard[Any, Any], app: HttpApp) -> None:
        self._owner = owner
        self._app = app
        resource = app.http.authentication and app.http.authentication.resource
        self._url = owner.public_url or (resource.url if resource else None)
        if self._url is None and "*" in app.http.allowed_hosts:
            # The card would say what the field Host says.
            raise CardError('allowed_hosts=["*"] and a server card need its public_url')
        self.card_at(self._url or _EXAMPLE)

    def card_at(self, url: str) -> JSONObject:
        """Return the card of the endpoint at a URL."""
        revisions = self._app.revisions
        spoken = [revision.id for revision in revisions or ()] or [self._owner.TABLE.revision]
        remote = self._owner.MODELS.Remote(
            type="streamable-http", url=url, supported_protocol_versions=spoken
        )
        card: JSONObject = self._owner.server_card(remote).to_wire()
        check_card(card, self._owner.DOCUMENTS[_CARD], type(self._owner).__name__)
        return card

    async def answer(self, name: str, exchange: HttpExchange) -> None:
        """Answer a request for a document; pages of any origin may read it."""
        scope = exchange.scope
        self._app.guard.check(exchange.fields.get(b"host"), None)
        origin = f"{scope.get('scheme', 'http')}://{exchange.field(b'host')}"
        url = self._url or f"{origin}{scope.get('root_path', '')}{self._app.http.path}"
        documents = self._owner.DOCUMENTS
        content, card = self.card_at(url), documents[_CARD]
        if name == _CATALOG:
            listed = [(content["name"], card.beside(url))]
            content = catalog_of(listed, documents[name], card)
        await _send(to_json(content), documents[name], exchange)


async def _send(content: bytes, document: PublishedDocument, exchange: HttpExchange) -> None:
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    fields = {**document.headers, "etag": tag}
    known = (exchange.field(b"if-none-match") or "").split(",")
    is_known = {"*", tag} & {entry.strip().removeprefix("W/") for entry in known}
    if is_known and exchange.scope["method"] in ("GET", "HEAD"):
        # RFC 9110, section 15.4.5: with the fields of the whole answer.
        await exchange.send(*RouteResponse(status=304, headers=fields).messages("GET"))
        return
    await send_document(content, exchange, {**fields, "content-type": document.media_type})
