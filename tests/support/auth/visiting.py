"""A client that visits a resource in a world without sockets, as a program with OAuth does."""

from typing import Any, Final

from mcp_protogen.runtime.features.auth.client.flow import authorize, refresh
from mcp_protogen.runtime.features.auth.client.settings import OAuthSettings
from mcp_protogen.runtime.features.auth.client.values import Authorization, Refusal
from mcp_protogen.runtime.features.auth.steps import Fetched, Step

from .authorization_server import AuthorizationServer
from .playing import play
from .resource import Resource
from .token_requests import REDIRECT_URI
from .world import World


class Visit:
    """The knowledge of a client; `asked` has its steps."""

    def __init__(self, *parts: AuthorizationServer | Resource, **settings: Any) -> None:
        [self.resource] = [part for part in parts if isinstance(part, Resource)]
        self.world: Final = World(*parts)
        self.settings: Final = OAuthSettings(**settings)
        self.known = Authorization(url=self.resource.url)
        self.asked: list[Step] = []

    def authorize(self, refusal: Refusal | None = None, operation: str = "") -> Authorization:
        """Get tokens for the present refusal of the resource, or for `refusal`."""
        self.asked = []
        if refusal is None:
            refusal = self.world.refusal(self.resource, self._headers())
        flow = authorize(
            self.settings, self.known, refusal, operation=operation, redirect_uri=REDIRECT_URI
        )
        self.known = play(flow, self.world, self.asked)
        return self.known

    def refresh(self) -> Authorization:
        """Get new tokens without the user."""
        self.asked = []
        self.known = play(refresh(self.settings, self.known), self.world, self.asked)
        return self.known

    def call(self) -> Fetched:
        """Post to the resource with the present tokens."""
        return self.world.call(self.resource, self._headers())

    def _headers(self) -> dict[str, str]:
        tokens, dpop = self.known.tokens, self.settings.dpop
        if tokens is None:
            return {}
        headers = {"authorization": f"{tokens.token_type} {tokens.access_token}"}
        if dpop is not None and tokens.token_type == "DPoP":
            headers["dpop"] = dpop.proof("POST", self.resource.url, token=tokens.access_token)
        return headers
