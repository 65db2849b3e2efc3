"""The members of `_meta` that the protocol itself reads and writes.

In the stateless era each request names its revision, its sender and the sender's capabilities
(2026-07-28, basic, "_meta"); in both eras it may ask for progress. Reading is lenient here: the
models have validated the message before.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..core.json import OBJECT, is_object, json_text, read_json
from .jsonrpc import NOTHING

PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
PROGRESS_TOKEN: Final = "progressToken"


def meta_in(params: object) -> Mapping[str, Any]:
    """Return the `_meta` of params; empty if absent."""
    meta = params.get("_meta") if is_object(params) else None
    return meta if is_object(meta) else NOTHING


def client_capabilities(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    declared = meta.get(CLIENT_CAPABILITIES, NOTHING)
    return declared if type(declared) is OBJECT else NOTHING


def client_envelope(
    revision: str, capabilities: Mapping[str, Any], info: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the `_meta` members that identify a client in each request of the stateless era."""
    return {PROTOCOL_VERSION: revision, CLIENT_CAPABILITIES: capabilities, CLIENT_INFO: info}


def members(meta: Mapping[str, Any]) -> bytes:
    """Return the members of an object as JSON text, without the braces."""
    return json_text(meta)[1:-1]


def overlaid(below: bytes, above: bytes) -> bytes:
    """Merge such members of two objects; `above` overrides `below`."""
    return members(read_json(b"{%b}" % below) | read_json(b"{%b}" % above))
