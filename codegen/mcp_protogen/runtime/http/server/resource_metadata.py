"""The public metadata of protected resources (RFC 9728, section 3)."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from ...core.throttle import Throttle
from .. import headers
from .asgi import HttpExchange, HttpRefusal, Receive, Scope, Send
from .options import USUAL_HTTP
from .protected_resource import WELL_KNOWN, ProtectedResource
from .routes import RouteResponse
from .time_limits import SharedTimer

_READING: Final = ("GET", "HEAD", "OPTIONS")

# Pages of any origin may read it.
_FIELDS: Final = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": ", ".join(_READING),
    "access-control-allow-headers": "*",
    "content-type": headers.JSON,
}


async def send_document(
    document: object, exchange: HttpExchange, fields: Mapping[str, str] = _FIELDS, status: int = 200
) -> None:
    """Answer with a document; raise `HttpRefusal`."""
    method: str = exchange.scope["method"]
    if method not in _READING:
        raise HttpRefusal.not_allowed(_READING)
    content, status = (b"", 204) if method == "OPTIONS" else (document, status)
    await exchange.send(*RouteResponse(content, status, fields).messages(method))


class MetadataApp:
    """An ASGI application that serves only the metadata of resources."""

    def __init__(self, documents: Mapping[str, bytes]) -> None:
        self._documents = documents
        self._log = Throttle(__name__)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; raise `NotImplementedError` for other scopes than HTTP."""
        if scope["type"] != "http":
            # As ASGI asks of applications without a lifespan.
            raise NotImplementedError(f"metadata is not served over {scope['type']}")
        sending = SharedTimer(USUAL_HTTP.send_timeout)
        exchange = HttpExchange(scope, receive, send, sending, self._log)
        try:
            exchange.read_head(USUAL_HTTP.max_headers)
            # Frameworks differ in whether the path includes the mount.
            path: str = scope["path"]
            whole: str = scope.get("root_path", "") + path
            page = self._documents.get(path) or self._documents.get(whole)
            if page is None:
                raise HttpRefusal(404, "Not found: no resource has its metadata here")
            await send_document(page, exchange)
        except HttpRefusal as refused:
            await exchange.respond(refused.status, refused.body, refused.fields)
        finally:
            sending.close()


def metadata_app(*resources: ProtectedResource) -> MetadataApp:
    """Return an ASGI application with the metadata of resources, for the root of their host.

    Use it if a server is mounted below another path: serve this below
    `/.well-known/oauth-protected-resource`. A single resource's document is also that of the host.
    Raise `ValueError` for two resources with one document, or without resources.
    """
    documents: dict[str, bytes] = {}
    for resource in resources:
        path = urlsplit(resource.metadata_url).path
        if path in documents:
            raise ValueError(f"{resource.url}: another resource also has its metadata at {path}")
        documents[path] = resource.to_json()
    if not resources:
        raise ValueError("metadata_app needs at least one resource")
    if len(resources) == 1:
        (documents[WELL_KNOWN],) = documents.values()
    return MetadataApp(documents)
