"""Foreign clients of both eras at foreign servers of both eras, through a gateway as a process."""

from collections.abc import Iterator
from typing import Final

import pytest
from support import tables
from support.gateway.matrix import FORMS, Form, gateway_before
from support.peers import visits
from support.peers.places import PROGRAMS, Command, python_with
from support.peers.spoken import CODES, NEWEST, WITHOUT
from support.peers.visits import Expected, Peers, Step
from support.revisions import STATELESS

# In one process, which starts the clients once.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("gateway")]

CHANGES: Final = ["notifications/resources/updated", "notifications/tools/list_changed"]
ADA: Final = {"action": "accept", "content": {"name": "ada"}}

CLIENTS: Final = {(name, "newest"): newest for name, newest in NEWEST.items()} | {
    (name, revision): revision
    for name in ("mcp 1", "mcp 2")
    for revision in ("2024-11-05", "2025-06-18")
}
"""The revision that each client speaks, by its name and the revision that it is given."""


def servers_of(form: Form) -> dict[str, Command]:
    """Return a server of each kind, by its name behind the gateway."""
    port = ("PORT",) if form == "http" else ()
    programs = {"one": ("mcp-1", "mcp1"), "two": ("mcp-2", "mcp2"), "fast": ("fastmcp", "fastmcp")}
    return {
        name: (python_with(environment), PROGRAMS / f"{program}_server.py", *port)
        for name, (environment, program) in programs.items()
    }


def rows_of(name: str, client: str, spoken: str) -> Iterator[tuple[Step, Expected]]:
    """Yield the steps of a client at a server, and their results without the gateway."""
    prefix, uri = f"{name}_", f"file:///{name}/a"
    full = name != "fast"

    def text_of(text: str) -> Expected:
        # fastmcp also gives structured content, in all revisions.
        return text if full else {"text": text}

    yield ("call", f"{prefix}echo", {"text": "hi"}), text_of("hi")
    words = ["at 1", "at 2", "at 3"] if spoken > "2024-11-05" else [None] * 3
    told = [[number, 3, word] for number, word in enumerate(words, 1)]
    yield ("call", f"{prefix}count", {"to": 3}, (), True), {"progress": told}
    yield ("call", f"{prefix}log", {}), text_of("done")
    if full:
        yield ("call", f"{prefix}sample", {}), "model sampled"
        yield ("call", f"{prefix}roots", {}), "file:///root"
    if spoken >= "2025-06-18" and (full or spoken < STATELESS):
        # fastmcp cannot ask clients of the stateless era in this way.
        asked = {"text": "accept ada", "asked": [f"{name}: Your name?"]}
        yield ("call", f"{prefix}ask", {}, [ADA]), asked
    yield ("read", uri), "content of a"
    yield ("prompt", f"{prefix}greet", {"name": "ada"}), "Greet ada"
    completed = ["ada", "alan"] if full else []
    yield ("complete", "prompt", f"{prefix}greet", "name", "a"), completed
    if full and "watch" not in WITHOUT.get((client, spoken), ()):
        yield ("watch", uri, 2, f"{prefix}change", {}), {"heard": CHANGES}
    yield ("cancel", f"{prefix}sleep"), "cancelled"
    # fastmcp has this code in all revisions.
    code = CODES.get((client, "-32002"), -32002) if full and spoken < STATELESS else -32602
    yield ("read", f"file:///{name}/none"), code
    yield ("call", f"{prefix}echo", {"text": "hi"}), text_of("hi")


@pytest.mark.parametrize("form", FORMS)
def test_foreign_clients_have_everything_of_foreign_servers(peers: Peers, form: Form) -> None:
    async def script() -> None:
        address = await peers.enter(gateway_before(form, **servers_of(form)))
        for client, given in tables.some([*CLIENTS], 3, f"clients over {form}"):
            spoken = CLIENTS[client, given]
            rows = [row for name in servers_of(form) for row in rows_of(name, client, spoken)]
            visitor = await peers.visitor(client)
            seen, _ = await visitor.visit(address, [step for step, _ in rows], given)
            with tables.case(given):
                visits.check(client, seen, rows, revision=spoken, server="gateway", errors=[])

    peers.run(script())
