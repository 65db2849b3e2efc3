"""The metadata of protected resources, served to anybody (RFC 9728, section 3)."""

from collections.abc import Mapping
from logging import getLogger
from typing import Final
from urllib.parse import urlsplit

from ...core.throttle import Throttle
from .. import headers
from .asgi import HttpExchange, HttpRefusal, Receive, Scope, Send
from .options import HttpOptions
from .protected_resource import WELL_KNOWN, ProtectedResource
from .routes import RouteResponse

_USUAL: Final = HttpOptions()
_READING: Final = ("GET", "HEAD", "OPTIONS")

# Pages of any origin may read where to get a token.
_FIELDS: Final = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": ", ".join(_READING),
    "access-control-allow-headers": "*",
    "content-type": headers.JSON,
}


async def tell_anybody(document: bytes, exchange: HttpExchange) -> None:
    """Answer with a document that pages of any origin may read; raise `HttpRefusal`."""
    method: str = exchange.scope["method"]
    if method not in _READING:
        allow = b"allow", ", ".join(_READING).encode()
        raise HttpRefusal(405, "Method not allowed", fields=[allow])
    content, status = (b"", 204) if method == "OPTIONS" else (document, 200)
    await exchange.send(*RouteResponse(content, status, _FIELDS).messages(method))


class MetadataApp:
    """An ASGI application that gives the documents of resources to anybody, and nothing else."""

    def __init__(self, documents: Mapping[str, bytes]) -> None:
        self._documents = documents
        self._log = Throttle(getLogger(__name__))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; raise `NotImplementedError` for what is no request over HTTP."""
        if scope["type"] != "http":
            # What ASGI asks of applications that know no lifespan.
            raise NotImplementedError(f"metadata is not served over {scope['type']}")
        exchange = HttpExchange(scope, receive, send, _USUAL.send_timeout, self._log)
        try:
            exchange.read_head(_USUAL.max_headers)
            # Frameworks differ in whether the path begins with where they mount an application.
            path: str = scope["path"]
            known = self._documents.get(path)
            if known is None:
                known = self._documents.get(scope.get("root_path", "") + path)
            if known is None:
                raise HttpRefusal(404, "There is no metadata of a resource here")
            await tell_anybody(known, exchange)
        except HttpRefusal as refused:
            await exchange.respond(refused.status, refused.body, refused.fields)


def metadata_app(*resources: ProtectedResource) -> MetadataApp:
    """Return an ASGI application with the metadata of resources, for the root of their host.

    That is for servers that are mounted below another path of an application, which then serves
    this below `/.well-known/oauth-protected-resource`. Of a single resource, the document is also
    that of the whole host. Raise `ValueError` for two resources with one document, and for none.
    """
    documents: dict[str, bytes] = {}
    for resource in resources:
        path = urlsplit(resource.metadata_url).path
        if path in documents:
            raise ValueError(f"{resource.url}: another resource has its metadata at {path}, too")
        documents[path] = resource.to_json()
    if not resources:
        raise ValueError("metadata_app needs at least one resource")
    if len(resources) == 1:
        (documents[WELL_KNOWN],) = documents.values()
    return MetadataApp(documents)
