"""Foreign clients of both eras at foreign servers of both eras, through a gateway as a process."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest
from support import tables
from support.gateway.processes import FORMS, Form, gateway_before
from support.json_types import JsonObject
from support.peers import visits
from support.peers.http_peers import ONLY_LOOPBACK
from support.peers.places import PROGRAMS, Command, node_modules, python_with
from support.peers.spoken import CODES, LOSES_PROGRESS, NEWEST, WITHOUT
from support.peers.visits import Expected, Peers, Step
from support.revisions import STATELESS

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("foreign clients")]

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
    port = () if form == "stdio" else ("PORT",)
    return {
        name: (python_with(f"mcp-{number}"), PROGRAMS / f"mcp{number}_server.py", *port)
        for number, name in enumerate(("one", "two"), 1)
    }


def rows_of(name: str, client: str, spoken: str) -> Iterator[tuple[Step, Expected]]:
    """Yield the steps of a client at a server, and their results without the gateway."""
    prefix, uri = f"{name}_", f"file:///{name}/a"
    yield ("call", f"{prefix}echo", {"text": "hi"}), "hi"
    words = ["at 1", "at 2", "at 3"] if spoken > "2024-11-05" else [None] * 3
    told = [[number, 3, word] for number, word in enumerate(words, 1)]
    yield ("call", f"{prefix}count", {"to": 3}, (), True), progress_for(client, told)
    yield ("call", f"{prefix}log", {}), "done"
    yield ("call", f"{prefix}sample", {}), "model sampled"
    yield ("call", f"{prefix}roots", {}), "file:///root"
    if spoken >= "2025-06-18":
        asked = {"text": "accept ada", "asked": [f"{name}: Your name?"]}
        yield ("call", f"{prefix}ask", {}, [ADA]), asked
    yield ("read", uri), "content of a"
    yield ("prompt", f"{prefix}greet", {"name": "ada"}), "Greet ada"
    yield ("complete", "prompt", f"{prefix}greet", "name", "a"), ["ada", "alan"]
    if "watch" not in WITHOUT.get((client, spoken), ()):
        yield ("watch", uri, 2, f"{prefix}change", {}), {"heard": CHANGES}
    yield ("cancel", f"{prefix}sleep"), "cancelled"
    code = CODES.get((client, "-32002"), -32002) if spoken < STATELESS else -32602
    yield ("read", f"file:///{name}/none"), code
    yield ("call", f"{prefix}echo", {"text": "hi"}), "hi"


def progress_for(client: str, told: list[list[Any]]) -> Expected:
    return {"progress": list if client in LOSES_PROGRESS else told}


def check(
    client: str, seen: JsonObject, rows: Sequence[tuple[Step, Expected]], spoken: str
) -> None:
    if client in LOSES_PROGRESS:
        seen["errors"] = [error for error in seen["errors"] if "unknown token" not in error]
    visits.check(client, seen, rows, revision=spoken, server="gateway", errors=[])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("form", FORMS[:2])
def test_foreign_clients_have_everything_of_foreign_servers(peers: Peers, form: Form) -> None:
    async def script() -> None:
        address = await peers.enter(gateway_before(form, **servers_of(form)))
        # Over stdio, each client starts a gateway and its servers.
        few = 1 if form == "stdio" else 2
        for client, given in tables.some([*CLIENTS], few, f"clients over {form}"):
            spoken = CLIENTS[client, given]
            rows = [row for name in servers_of(form) for row in rows_of(name, client, spoken)]
            visitor = await peers.visitor(client)
            seen, _ = await visitor.visit(address, [step for step, _ in rows], given)
            with tables.case(given):
                check(client, seen, rows, spoken)

    peers.run(script())


def rows_of_reference(client: str) -> Iterator[tuple[Step, Expected]]:
    """Yield the steps of a client at the reference server of the TypeScript SDK."""
    echo: Step = ("call", "ts_echo", {"message": "hi"})
    yield echo, "Echo: hi"
    counting = {"duration": 0.09, "steps": 3}
    told = [[1, 3, None], [2, 3, None], [3, 3, None]]
    name = "ts_trigger-long-running-operation"
    yield ("call", name, counting, (), True), progress_for(client, told)
    given = {"prompt": "?", "maxTokens": 9}
    yield ("call", "ts_trigger-sampling-request", given), re.compile('"sampled"')
    asked = {"text": re.compile("ada"), "asked": [re.compile("^ts: Please provide")]}
    yield ("call", "ts_trigger-elicitation-request", {}, [ADA]), asked
    uri = "demo://ts/resource/dynamic/text/1"
    yield ("read", uri), re.compile("^Resource 1: ")
    prompt = "ts_completable-prompt"
    yield ("prompt", prompt, {"department": "Sales", "name": "Eve"}), re.compile("Eve")
    yield ("complete", "prompt", prompt, "department", "S"), ["Sales", "Support"]
    if "watch" not in WITHOUT.get((client, NEWEST[client]), ()):
        yield ("watch", uri, 1, "ts_toggle-subscriber-updates", {}), {"heard": CHANGES[:1]}
    yield echo, "Echo: hi"


@pytest.mark.parametrize("form", FORMS)
def test_foreign_clients_have_everything_of_a_typescript_server(peers: Peers, form: Form) -> None:
    async def script() -> None:
        transport = "streamableHttp" if form == "http" else form
        program = node_modules() / "@modelcontextprotocol" / "server-everything" / "dist"
        command = ("node", "--require", ONLY_LOOPBACK, program / "index.js", transport)
        # It asks for roots at any time, which interrupts a call of the stateless era.
        questions = ("elicitation", "sampling")
        address = await peers.enter(gateway_before(form, questions, ts=command))
        for client in tables.some([*NEWEST], 1, f"clients over {form}"):
            spoken, visitor = NEWEST[client], await peers.visitor(client)
            steps = [*rows_of_reference(client)]
            seen, _ = await visitor.visit(address, [step for step, _ in steps])
            check(client, seen, steps, spoken)

    peers.run(script())
