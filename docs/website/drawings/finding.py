"""The way of a client to a revision: every path through the rules of `client_negotiation`."""

from collections.abc import Iterator, Mapping
from typing import Final

from mcp_protogen.runtime.core.connection_errors import (
    Disconnected,
    NegotiationError,
    RequestTimeout,
)
from mcp_protogen.runtime.core.errors import McpError
from mcp_protogen.runtime.rules.client_negotiation import (
    Adopt,
    Answered,
    Ask,
    Negotiation,
    Outcome,
    Restart,
    Step,
)
from mcp_protogen.runtime.rules.server_negotiation import DISCOVER, INITIALIZE, Offer

from website.drawings.graphs import Graph

_OLD, _NEW = "2025-11-25", "2026-07-28"
_OFFER: Final = Offer({_OLD: "handshake", _NEW: "stateless"})

# Outcomes of a request, in words, and as values for the rules.
_TO_DISCOVER: Final[Mapping[str, Outcome]] = {
    "lists a common revision": Answered({"supportedVersions": [_NEW]}),
    "lists handshake revisions only": Answered({"supportedVersions": [_OLD]}),
    "nothing in common": Answered({"supportedVersions": ["?"]}),
    "-32022 with the revision asked for": McpError(-32022, "", {"supported": [_NEW]}),
    "-32022 with handshake revisions only": McpError(-32022, "", {"supported": [_OLD]}),
    "-32021": McpError(-32021, "", {}),
    "any other error or answer": McpError(-32601, ""),
    "silence": RequestTimeout(DISCOVER, 0),
    "the server ends": Disconnected(""),
}
_TO_INITIALIZE: Final[Mapping[str, Outcome]] = {
    "a common revision": Answered({"protocolVersion": _OLD}),
    "another revision": Answered({"protocolVersion": "?"}),
    "an error that lists modern revisions": McpError(-32022, "", {"supported": [_NEW]}),
    "any other error": McpError(-32603, ""),
    "silence": RequestTimeout(INITIALIZE, 0),
    "the server ends": Disconnected(""),
}


def finding() -> Graph:
    """Return the steps of a client of both eras, by the outcome of each step."""
    edges = [*_edges()]
    ends = {end for _, _, end in edges} - {start for start, _, _ in edges}
    title = "How a client finds the revision to speak"
    return Graph(title=title, kind="flow", edges=edges, ends=frozenset(ends))


def _edges() -> Iterator[tuple[str, str, str]]:
    """Yield every edge from each node, which stands for the shortest path to it."""
    paths: list[tuple[Outcome, ...]] = [()]
    seen: set[str] = set()
    for path in paths:
        step = _after(path)
        here = _label(step, path)
        if here in seen or isinstance(step, (Adopt, Exception)):
            continue
        seen.add(here)
        asked = step.then if isinstance(step, Restart) else step
        outcomes = _TO_DISCOVER if asked.method == DISCOVER else _TO_INITIALIZE
        for label, outcome in outcomes.items():
            further = (*path, outcome)
            yield here, label, _label(_after(further), further)
            paths.append(further)


def _after(path: tuple[Outcome, ...]) -> Step:
    negotiation = Negotiation(_OFFER, restartable=True)
    step = negotiation.start()
    for outcome in path:
        step = negotiation.next(outcome)
    return step


def _label(step: Step, path: tuple[Outcome, ...]) -> str:
    match step:
        case Ask(method) if method == DISCOVER:
            return "send server/discover" + (" once more" if path else "")
        case Ask():
            return "send initialize"
        case Restart():
            return "open a new connection, send initialize"
        case Adopt(negotiated):
            return f"speak {negotiated.revision}"
        case NegotiationError():
            return "fail, naming both sides' revisions"
        case Exception():
            return "fail, saying what happened"
