"""Offers of servers: revisions of one era, of the other, and of both."""

from mcp_protogen.runtime.rules.server_negotiation import Offer

OLD = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEW = "2026-07-28"
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def offer(*ids: str) -> Offer:
    return Offer({id: "handshake" if id in OLD else "stateless" for id in ids})


LEGACY, MODERN, DUAL = offer(*OLD), offer(NEW), offer(*OLD, NEW)
