"""What clients of each revision have of servers of each revision behind a gateway.

The measure is a client of the server's revision without a gateway. What is lost in a translation is
in the table of docs/translation.md, which `tests/peers/test_matrix.py` checks for bridges.
`test_gateway_peers.py` has the transports of a gateway.
"""

import asyncio

from support import tables
from support.gateway.gateways import behind, client_of, gateway
from support.json_types import JsonObject
from support.peers import features, matrix
from support.peers.features import FEATURES, Use
from support.peers.matrix import MARKS, PAGE, PAIRS, cells_of, in_words, server_of, verdict_on
from support.revisions import REVISIONS
from support.sessions.talking import pkg

QUESTIONS = frozenset({"elicitation", "sampling", "roots"})


async def use_behind(server: str, client: str) -> JsonObject:
    mcp = pkg.load(client)
    fronts = gateway(behind("up", server_of(server)(), questions=QUESTIONS))
    async with client_of(fronts, features.client_of(mcp), client) as one:
        return await features.outcomes(Use(one, mcp.models, "up_", "file:///up/a"))


async def test_features_behind_a_gateway_are_those_of_a_bridge() -> None:
    shown = cells_of(PAGE.read_text(encoding="utf-8"))
    natives = await matrix.runs("client", [(server, server) for server in REVISIONS])
    native = {run.server: run.seen for run in natives}
    found = await asyncio.gather(*(use_behind(*pair) for pair in PAIRS))
    for (server, client), seen in zip(PAIRS, found, strict=True):
        for feature in FEATURES:
            with tables.case((server, client, feature)):
                verdict = verdict_on(seen[feature], native[server][feature])
                expected = shown[server, in_words(feature), client]
                assert MARKS[verdict] == expected, repr(seen[feature])
