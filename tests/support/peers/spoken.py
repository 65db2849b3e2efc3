"""The revisions of the installed peers: data about them, not about us.

For every other revision, tests check that our side refuses it, and that a class of it works with
the peers in their revisions.
"""

from typing import Final

GENERATION_1: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The Python SDK of generation 1, the TypeScript SDK, and the reference server made with that."""
GENERATION_2: Final = (*GENERATION_1, "2026-07-28")
"""The Python SDK of generation 2."""
NEWEST: Final = {
    "mcp 1": GENERATION_1[-1],
    "mcp 2": GENERATION_2[-1],
    "fastmcp": GENERATION_2[-1],
    "TypeScript 1": GENERATION_1[-1],
    "TypeScript 2": GENERATION_2[-1],
}
"""What each client chooses at a server that speaks all."""
WITHOUT: Final = {("fastmcp", "2026-07-28"): ("watch",)}
"""Steps that a client has no method for in a revision."""
CODES: Final = {("TypeScript 2", "-32002"): -32602}
"""Codes that a client shows as another one, here that of its newest revision."""
LOSES_PROGRESS: Final = ("TypeScript 1", "TypeScript 2")
"""Clients that lose progress, and call it an error, if it arrives together with the answer."""
