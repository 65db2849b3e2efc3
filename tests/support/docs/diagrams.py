"""The diagrams in docs/negotiation.md, drawn from the rules that they show.

Run as a program it rewrites the drawings in place.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from mcp_protogen.runtime.core.connection_errors import (
    Disconnected,
    NegotiationError,
    RequestTimeout,
)
from mcp_protogen.runtime.core.errors import McpError
from mcp_protogen.runtime.core.spec import HANDSHAKE_ERA
from mcp_protogen.runtime.rules.client_negotiation import (
    Adopt,
    Answered,
    Ask,
    Negotiation,
    Outcome,
    Restart,
    Step,
)
from mcp_protogen.runtime.rules.lifecycle import State
from mcp_protogen.runtime.rules.server_negotiation import DISCOVER, INITIALIZE, Offer

from support.folders import ROOT

PAGE: Final = ROOT / "docs" / "negotiation.md"

_BLOCK: Final = re.compile(r"(<!-- drawn: (\w+) -->\n)```mermaid\n.*?```", re.S)
_OLD, _NEW = "2025-11-25", "2026-07-28"
_OFFER: Final = Offer({_OLD: "handshake", _NEW: "stateless"})


def drawn() -> Mapping[str, str]:
    """Each drawing by its name."""
    return {"handshake": _states(), "probe": _flow()}


def with_drawings(page: str) -> str:
    """The page with its drawings as they ought to be."""
    drawings = drawn()
    return _BLOCK.sub(lambda found: f"{found[1]}```mermaid\n{drawings[found[2]]}```", page)


# What may come of asking, in words, and as the machine is told.
_TO_DISCOVER: Final[Mapping[str, Outcome]] = {
    "lists a revision of ours": Answered({"supportedVersions": [_NEW]}),
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
    "a revision of ours": Answered({"protocolVersion": _OLD}),
    "another revision": Answered({"protocolVersion": "?"}),
    "an error that lists modern revisions": McpError(-32022, "", {"supported": [_NEW]}),
    "any other error": McpError(-32603, ""),
    "silence": RequestTimeout(INITIALIZE, 0),
    "the server ends": Disconnected(""),
}


def _states() -> str:
    """The states of a connection that opens follow each other in their order."""
    events = (f"result of {HANDSHAKE_ERA.opened_by}", "notifications/initialized")
    steps = zip(pairwise(State), events, strict=True)
    lines = [f"    {one.name} --> {other.name}: {event}" for (one, other), event in steps]
    first = next(iter(State)).name
    return "\n".join(["stateDiagram-v2", f"    [*] --> {first}", *lines]) + "\n"


def _flow() -> str:
    edges = list(_edges())
    nodes = dict.fromkeys(node for start, _, end in edges for node in (start, end))
    names = {node: f"n{number}" for number, node in enumerate(nodes)}
    lines = ["flowchart TD"]
    lines += [f'    {names[node]}["{node}"]' for node in nodes]
    joined: dict[tuple[str, str], list[str]] = {}
    for start, label, end in edges:
        joined.setdefault((start, end), []).append(label)
    for (start, end), labels in joined.items():
        lines.append(f'    {names[start]} -->|"{"<br>".join(labels)}"| {names[end]}')
    return "\n".join(lines) + "\n"


def _edges() -> Iterator[tuple[str, str, str]]:
    """Every way on from each node, which stands for the shortest way that leads to it."""
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
    negotiation = Negotiation(_OFFER)
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


if __name__ == "__main__":
    PAGE.write_text(with_drawings(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
