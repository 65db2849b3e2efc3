"""A transport that does not exist yet: a fact of the next revision, and its modules.

All else serves it without a change: clients and servers of the package, and the commands.
"""

import json
import sys

import pytest
from support.generated.next_revision import NEXT, Checkout, copy_checkout
from support.rehearsals.__main__ import connect_sides, write_package
from support.rehearsals.adopting import decide, pin
from support.rehearsals.proposals import rehearsals
from support.revisions import OLD
from support.tables import case

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("http over stdio")]

SERVER = """
'''A server with a tool and a resource, over the transport that its argument names.'''

import sys

from mcp_revisions.vNEXT import App

app = App("measuring", version="1.0.0")


@app.tool
def measure(uri: str) -> int:
    '''Measure a resource.'''
    print("measuring")
    return len(uri)


@app.resource("note:a")
def note() -> str:
    '''A note.'''
    return "remember"


app.run(sys.argv[1])
""".replace("vNEXT", f"v{NEXT.replace('-', '_')}")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    (rehearsal,) = [found for found in rehearsals() if found.name == "http-over-stdio"]
    made = copy_checkout(tmp_path_factory.mktemp("transport"))
    pin(made, rehearsal)
    decide(made, rehearsal)
    write_package(made, rehearsal)
    connect_sides(made, rehearsal)
    (made.folder / "server.py").write_text(SERVER)
    return made


def mcp_gen(checkout: Checkout, command: str, *options: str, way: str, code: int = 0) -> str:
    """Run a command on the server, which speaks one transport, over the new one."""
    server = f"{sys.executable} {checkout.folder / 'server.py'} {way}"
    chosen = ("--transport", "stdio-v2", "--env", f"PYTHONPATH={checkout.path}")
    return checkout.run("-m", "mcp_protogen", command, server, *options, *chosen, code=code)


@pytest.mark.parametrize(
    ("command", "options", "shown"),
    [
        ("call", ("measure", "uri=file:///a", "--format", "json"), '"9"'),
        ("list", (), "Measure a resource."),
        ("read", ("note:a",), "remember"),
    ],
)
def test_commands_use_a_server_over_it(
    checkout: Checkout, command: str, options: tuple[str, ...], shown: str
) -> None:
    for revision in (NEXT, OLD):
        with case(revision):
            told = mcp_gen(checkout, command, *options, "--revision", revision, way="stdio-v2")
            assert shown in told


def test_a_server_over_it_is_inspected(checkout: Checkout) -> None:
    report = json.loads(mcp_gen(checkout, "inspect", "--format", "json", way="stdio-v2"))
    assert report["findings"] == []
    spoken = {entry["revision"] for entry in report["server"]["spoken"] if entry["spoken"]}
    assert spoken == {NEXT}


def test_a_bridge_reaches_a_server_over_it(checkout: Checkout) -> None:
    server = f"{sys.executable} {checkout.folder / 'server.py'} stdio-v2"
    bridge = f"{sys.executable} -m mcp_protogen bridge --transport stdio-v2"
    bridged = f"{bridge} --to '{server}' --env PYTHONPATH={checkout.path}"
    call = ("-m", "mcp_protogen", "call", bridged, "measure", "uri=file:///a", "--format", "json")
    environment = ("--env", f"PYTHONPATH={checkout.path}")
    for revision in (NEXT, OLD):
        with case(revision):
            assert '"9"' in checkout.run(*call, *environment, "--revision", revision)


def test_a_server_over_another_transport_is_refused_at_once(checkout: Checkout) -> None:
    for command in ("list", "inspect"):
        with case(command):
            mcp_gen(checkout, command, way="stdio", code=2)
