"""Requests to the servers of tests as values, and the forms of OAuth."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from mcp_protogen.runtime.features.auth.steps import Fetched
from support.auth.playing import document, parameters_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An HTTP request; names of `headers` are in lower case."""

    method: str = "GET"
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""

    @property
    def query(self) -> dict[str, str]:
        return parameters_in(urlsplit(self.url).query)

    @property
    def form(self) -> dict[str, str]:
        return parameters_in(self.body.decode())


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

    def response(self) -> Fetched:
        members = {"error": self.error, "error_description": self.description}
        return document(members, self.status, **self.headers)


def redirect_to(url: str, parameters: Mapping[str, str] | None = None) -> Fetched:
    more = urlencode(parameters or {})
    separator = "" if not more else "&" if urlsplit(url).query else "?"
    return Fetched(status=302, headers={"location": f"{url}{separator}{more}"})


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def replace_members(members: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Replace some members; None leaves one out."""
    return {name: value for name, value in {**members, **others}.items() if value is not None}
