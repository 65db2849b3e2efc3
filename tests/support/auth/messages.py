"""HTTP messages as values, and the forms of OAuth."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An HTTP request; names of `headers` are in lower case."""

    method: str = "GET"
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""

    @property
    def query(self) -> dict[str, str]:
        """Return the parameters of the URL; a repeated parameter is an error."""
        return _once(parse_qsl(urlsplit(self.url).query, keep_blank_values=True))

    @property
    def form(self) -> dict[str, str]:
        """Return the parameters of the body; a repeated parameter is an error."""
        return _once(parse_qsl(self.body.decode(), keep_blank_values=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An HTTP response; names of `headers` are in lower case."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""


class Fault(Exception):
    """An error response of an endpoint (RFC 6749, sections 4.1.2.1 and 5.2)."""

    def __init__(
        self,
        error: str,
        description: str = "",
        status: int = 400,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{error}: {description}")
        self.error = error
        self.description = description
        self.status = status
        self.headers = headers or {}

    def response(self) -> Response:
        members = {"error": self.error, "error_description": self.description}
        return json_response(members, self.status, self.headers)


NOT_FOUND = Response(
    status=404, headers={"content-type": "text/html"}, body=b"<!doctype html><p>Not found"
)


def json_response(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a response that must not be cached (RFC 6749, section 5.1)."""
    fields = {"content-type": "application/json", "cache-control": "no-store", **(headers or {})}
    return Response(status=status, headers=fields, body=json.dumps(value).encode())


def redirect_to(url: str, parameters: Mapping[str, str] | None = None) -> Response:
    more = urlencode(parameters or {})
    separator = "" if not more else "&" if urlsplit(url).query else "?"
    return Response(status=302, headers={"location": f"{url}{separator}{more}"})


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def replace_members(members: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Replace some members; None leaves one out."""
    return {name: value for name, value in {**members, **others}.items() if value is not None}


def _once(pairs: list[tuple[str, str]]) -> dict[str, str]:
    names = [name for name, _ in pairs]
    if len(names) != len(set(names)):
        raise Fault("invalid_request", "a parameter is there twice")
    return dict(pairs)
