"""Authorization servers and resources in which flows are played without sockets.

    world = World(server := AuthorizationServer(), resource := Resource([server]))
    tokens = play(flow, world)

A user agrees to everything at once. Unknown hosts are unreachable.
"""

from collections.abc import Mapping
from typing import Final

from mcp_protogen.runtime.features.auth.client.values import Refusal
from mcp_protogen.runtime.features.auth.errors import Unreachable
from mcp_protogen.runtime.features.auth.steps import (
    Assertion,
    AssertionRequest,
    AuthorizationRequest,
    AuthorizationResponse,
    Fetch,
    Fetched,
    Step,
)
from support.auth.authorization_server import AuthorizationServer
from support.auth.messages import Request, origin_of
from support.auth.playing import Given
from support.auth.resource import Resource


class World:
    """Servers by origin; answers the steps of a flow, as `play` wants it."""

    def __init__(self, *parts: AuthorizationServer | Resource) -> None:
        self.parts: Final = parts
        self.requests: Final[list[Request]] = []
        """Everything that anybody was asked."""

    def __call__(self, step: Step) -> Given:
        if isinstance(step, AuthorizationRequest):
            return self._open_page(step)
        if isinstance(step, AssertionRequest):
            value = step.source(step.audience)
            assert isinstance(value, str)
            return Assertion(value=value)
        return self._fetch(step)

    def call(self, resource: Resource, headers: Mapping[str, str] | None = None) -> Fetched:
        """Post to a resource; return the response."""
        given = {name.lower(): value for name, value in (headers or {}).items()}
        return self.respond(Request(method="POST", url=resource.url, headers=given))

    def refusal(self, resource: Resource, headers: Mapping[str, str] | None = None) -> Refusal:
        response = self.call(resource, headers)
        assert response.status in {401, 403}, response
        return Refusal(
            status=response.status, www_authenticate=(response.headers["www-authenticate"],)
        )

    def respond(self, request: Request) -> Fetched:
        """Return the response of the server at the URL's origin; raise `Unreachable`.

        Several servers may share an origin, such as a 2025-03-26 server that issues its own tokens.
        """
        self.requests.append(request)
        found = [part for part in self.parts if origin_of(_url(part)) == origin_of(request.url)]
        answer: Fetched | None = None
        for part in found:
            if part.stalls(request):
                break
            answer = part.answer(request)
            if answer.status != 404:
                return answer
        if answer is None:
            raise Unreachable(f"no server at {origin_of(request.url)}")
        return answer

    def _fetch(self, fetch: Fetch) -> Given:
        headers = {name.lower(): value for name, value in fetch.headers.items()}
        request = Request(
            method=fetch.method, url=fetch.url, headers=headers, body=fetch.body or b""
        )
        try:
            return self.respond(request)
        except Unreachable as error:
            return error

    def _open_page(self, page: AuthorizationRequest) -> Given:
        response = self.respond(Request(url=page.url))
        assert response.status == 302, response.body
        location = response.headers["location"]
        assert location.startswith(page.redirect_uri), location
        return AuthorizationResponse(url=location)


def _url(part: AuthorizationServer | Resource) -> str:
    return part.issuer if isinstance(part, AuthorizationServer) else part.url
