"""A revision that does not exist yet is generated and tested like the real ones.

The copy runs the existing tests, which do not know the new revision.
"""

import json
import sys
from pathlib import Path

import pytest
from support.folders import GENERATED, ROOT, TESTS
from support.generated.golden_package import PACKAGE
from support.generated.next_revision import METHOD, NEXT, Checkout, add_next, copy_checkout
from support.revisions import NEWEST, OLD, REVISIONS
from support.tables import case, some

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("next revision")]

FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("generated", "http", "sessions", "toolkit")
    for path in (TESTS / folder).glob("test_*.py")
    if path != Path(__file__)  # the copy need not make copies
)

SERVER = """
'''A server with a tool, over standard input and output; with "loud", it writes what it must not.'''

import sys

from mcp_revisions.vNEXT import App

app = App("measuring", version="1.0.0")


@app.tool
def measure(uri: str) -> int:
    '''Measure a resource.'''
    return len(uri)


if sys.argv[1:] == ["loud"]:
    print("ready", flush=True)
app.run()
""".replace("vNEXT", f"v{NEXT.replace('-', '_')}")


TRANSLATE = """
import json, sys
from mcp_revisions import translate

values = json.loads(sys.argv[1])
print(json.dumps([translate(value, *way, type=name).value for name, *way, value in values]))
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    made = copy_checkout(tmp_path_factory.mktemp("next"))
    add_next(made)
    package = made.generated / PACKAGE.name
    everything = ("--revision", "all", "--with", "all", "--extension", "all")
    options = (*everything, "--runtime", "mcp_protogen.runtime", "--out", str(package))
    said = made.run("-m", "mcp_protogen", *options)
    assert "warning" not in said
    (made.folder / "server.py").write_text(SERVER)
    return made


def mcp_gen(checkout: Checkout, command: str, server: str, *options: str, code: int = 0) -> str:
    """Run a command on a server that finds the same code as the command."""
    run = ("-m", "mcp_protogen", command, server, *options)
    return checkout.run(*run, "--env", f"PYTHONPATH={checkout.path}", code=code)


def test_next_revision_needs_only_its_own_files(checkout: Checkout) -> None:
    said = json.loads(checkout.run("-m", "mcp_protogen", "revisions", "--format", "json"))
    assert [entry["revision"] for entry in said["revisions"]] == [*REVISIONS, NEXT]
    # Existing files stay the same, except for the lists of revisions.
    changed = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.suffix in (".py", ".lock")
        and path.read_bytes() != (checkout.generated / path.relative_to(GENERATED)).read_bytes()
    }
    assert changed == {"__init__.py", "mcp-gen.lock"}


def test_next_revision_passes_tests_of_all_revisions(
    checkout: Checkout, pytestconfig: pytest.Config
) -> None:
    # Elsewhere any revision of an era will do, and the newest is taken. The slowest is left to
    # --all: made-up values for its types and tables, some of which sessions use.
    cheap = ("--of", NEXT, "-k", "not test_differential and not test_translations")
    chosen = () if pytestconfig.getoption("--all") else cheap
    options = ("-n0", "-p", "no:cacheprovider", *chosen)
    checkout.run("-m", "pytest", *options, *some(FILES, 6, "next revision"))


def test_moved_and_renamed_members_arrive_from_all_revisions(checkout: Checkout) -> None:
    named, dated = [{"name": "a"}], {"lastModified": "2026-01-01", "priority": 1}
    moved = {"history": {"modified": "2026-01-01"}, "priority": 1}
    titled = {"type": "ref/prompt", "name": "a", "title": "A"}
    cases: list[tuple[str, str, str, object, object]] = [
        *(
            ("ModelPreferences", old, NEXT, {"hints": named}, {"suggestions": named})
            for old in REVISIONS
        ),
        *(
            ("ModelPreferences", NEXT, old, {"suggestions": named}, {"hints": named})
            for old in REVISIONS
        ),
        *(("Annotations", old, NEXT, dated, moved) for old in REVISIONS[-2:]),
        ("Annotations", NEXT, NEWEST, moved, dated),
        ("ModelPreferences", NEWEST, NEXT, {"hints": [{}]}, {"suggestions": [{"name": "any"}]}),
        ("PromptReference", NEWEST, NEXT, titled, {"type": "ref/prompt", "name": "a"}),
    ]
    given = [(name, source, destination, value) for name, source, destination, value, _ in cases]
    said = checkout.run("-c", TRANSLATE, json.dumps(given))
    for asked, translated in zip(cases, json.loads(said), strict=True):
        with case(asked[:3]):
            assert translated == asked[4]


def test_a_server_of_it_is_inspected_by_the_rules_without_an_end(checkout: Checkout) -> None:
    report = json.loads(mcp_gen(checkout, "inspect", "server.py", "--format", "json"))
    assert report["findings"] == []
    spoken = {entry["revision"] for entry in report["server"]["spoken"] if entry["spoken"]}
    assert NEXT in spoken

    loud = f"{sys.executable} server.py loud"
    options = ("--revision", NEXT, "--format", "json")
    (found,) = json.loads(mcp_gen(checkout, "inspect", loud, *options, code=1))["findings"]
    assert (found["code"], found["sessions"][0]) == ("not-a-message", f"{NEXT} over stdio")
    assert f"/specification/{NEXT}/" in found["page"]
    assert f"to {NEXT})" in checkout.run("-m", "mcp_protogen", "explain", "not-a-message")


def test_a_server_of_it_is_called_and_bridged(checkout: Checkout) -> None:
    call = ("measure", "uri=file:///a", "--format", "json")
    bridge = f"{sys.executable} -m mcp_protogen bridge --server-revision {NEXT} --to server.py"
    bridged = f"{bridge} --env PYTHONPATH={checkout.path}"
    for revision in (NEXT, OLD):
        with case(revision):
            said = mcp_gen(checkout, "call", bridged, *call, "--revision", revision)
            assert [entry["text"] for entry in json.loads(said)["content"]] == ["9"]


def test_projects_are_written_in_it(checkout: Checkout) -> None:
    said = checkout.run("-m", "mcp_protogen", "new", "measuring", "--revision", NEXT, "--yes")
    assert f"a server written in {NEXT}" in said
    server = f"{sys.executable} -m measuring"
    code = f"PYTHONPATH={checkout.folder / 'measuring' / 'src'}"
    call = ("call", server, "time_in", "zone=UTC", "--format", "json", "--env", code)
    told = json.loads(checkout.run("-m", "mcp_protogen", *call, "--revision", NEXT))
    assert told["structuredContent"]["zone"] == "UTC"


def test_the_pages_of_the_site_are_made_of_it(checkout: Checkout) -> None:
    made = "from website.made import MADE; print(*(MADE[one]() for one in {}))"
    said = checkout.run("-c", made.format(["reference-messages", "reference-servers", "protocol"]))
    for text in (METHOD, "on_measure_resource", NEXT, f"v{NEXT.replace('-', '_')}"):
        with case(text):
            assert text in said
