"""The official SDK's client, generation 2; see `driving.py` for its input and output."""

import asyncio
import warnings
from typing import Any

import mcp.client.session as session_module
import mcp_types as types
from driving import CHANGES, Host, SignIn, Steps, drive, view_of
from mcp import Client, MCPError
from mcp.client.auth import OAuthClientProvider
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from mcp.shared.subscriptions import ResourceUpdated, ToolsListChanged

KINDS: dict[Any, str] = dict(zip((ResourceUpdated, ToolsListChanged), CHANGES, strict=True))
NEWEST = session_module.LATEST_HANDSHAKE_VERSION

warnings.simplefilter("ignore")


class Generation2(Steps):
    def failures(self) -> Any:
        return MCPError

    async def watch(self, uri: str, changes: int, tool: str, arguments: Any) -> Any:
        if self.client.protocol_version != "2026-07-28":
            return await super().watch(uri, changes, tool, arguments)
        listening = self.client.listen(tools_list_changed=True, resource_subscriptions=[uri])
        async with listening as changed, asyncio.timeout(10):
            await self.call(tool, arguments)
            return {"heard": sorted([KINDS[type(await anext(changed))] for _ in range(changes)])}


def provider(address: str, oauth: Any) -> OAuthClientProvider:
    """Return a provider of tokens by code; `document` of `oauth` is the client's metadata URL."""
    user = SignIn()

    async def authorization_result() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**user.redirected)

    return OAuthClientProvider(
        address,
        OAuthClientMetadata(client_name="mcp 2", redirect_uris=[oauth["redirect_uri"]]),
        user,
        user.open,
        authorization_result,
        oauth.get("document"),
    )


def server(address: Any, oauth: Any = None) -> Any:
    """Return the server as the client takes it: by HTTP+SSE if it ends so."""
    if oauth is not None:
        authorized = create_mcp_http_client(auth=provider(address, oauth))
        return streamable_http_client(address, http_client=authorized)
    if not isinstance(address, str):
        return StdioServerParameters(command=address[0], args=address[1:], env=None)
    return sse_client(address) if address.endswith("/sse") else address


async def run_visit(visit: Any) -> Any:
    host = Host(types, visit)
    pinned = host.revision not in ("2026-07-28", "newest")
    session_module.LATEST_HANDSHAKE_VERSION = host.revision if pinned else NEWEST
    client = Client(
        server(host.server, host.oauth),
        mode="legacy" if pinned else "auto",
        log_level="debug",
        cache=None,
        **host.callbacks(),
    )
    async with client:
        return await view_of(Generation2, client, host)


drive(run_visit)
