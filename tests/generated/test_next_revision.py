"""A revision that does not exist yet is generated and tested as those are that do.

What runs on the copy are the tests that are there; none of them is told of the new revision.
"""

import json
from pathlib import Path

import pytest
from support.folders import GENERATED, ROOT, TESTS
from support.generated.golden_package import PACKAGE
from support.generated.next_revision import METHOD, NEXT, Checkout, add_next, copied
from support.revisions import NEWEST, REVISIONS
from support.tables import some

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("next revision")]

FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("generated", "http", "sessions", "toolkit")
    for path in (TESTS / folder).glob("test_*.py")
    if path != Path(__file__)  # the copy need not make copies
)

PROGRAM = """
'''A server that measures resources, and a client that asks it, in a process of its own.'''

import asyncio
import sys

from mcp_revisions import REVISIONS, LocalError, connect, stdio_client, run_stdio
from mcp_revisions import vNEXT as mcp
from mcp_revisions.vNEXT import models as m


class Measuring(mcp.Server):
    async def on_measure_resource(
        self, session: mcp.Session, params: m.MeasureResourceRequestParams
    ) -> m.MeasureResourceResult:
        return m.MeasureResourceResult(bytes=len(params.uri))


async def measured(*arguments: str, older: bool = False) -> str:
    server = stdio_client([sys.executable, __file__, *arguments])
    spoken = REVISIONS[-2 if older else -1]
    async with connect(server, mcp.Client(), revisions=[spoken]) as client:
        try:
            params = m.MeasureResourceRequestParams(uri="file:///a")
            return f"{client.revision} {(await client.measure_resource(params)).bytes}"
        except LocalError as error:
            return f"{client.revision} {error}"


async def main() -> None:
    print(await measured("serve"))
    print(await measured("serve", "nothing"))
    print(await measured("serve", older=True))


if sys.argv[1:] == ["serve"]:
    run_stdio(Measuring(), revisions=REVISIONS)
elif sys.argv[1:]:
    run_stdio(mcp.Server(), revisions=REVISIONS)
else:
    asyncio.run(main())
""".replace("vNEXT", f"v{NEXT.replace('-', '_')}")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    made = copied(tmp_path_factory.mktemp("next"))
    add_next(made)
    package = made.generated / PACKAGE.name
    everything = ("--revision", "all", "--with", "all", "--extension", "all")
    options = (*everything, "--out", str(package))
    said = made.run("-m", "mcp_protogen", *options)
    assert "warning" not in said
    (made.generated / "program.py").write_text(PROGRAM)
    return made


def test_nothing_but_its_own_files_has_to_be_written(checkout: Checkout) -> None:
    said = json.loads(checkout.run("-m", "mcp_protogen", "revisions", "--format", "json"))
    assert [one["revision"] for one in said["revisions"]] == [*REVISIONS, NEXT]
    # What was there stays as it is, but for the lists of what there is.
    changed = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.suffix in (".py", ".lock")
        and path.read_bytes() != (checkout.generated / path.relative_to(GENERATED)).read_bytes()
    }
    assert changed == {"__init__.py", "mcp-gen.lock"}


def test_the_tests_of_all_revisions_hold_for_it(
    checkout: Checkout, pytestconfig: pytest.Config
) -> None:
    # Elsewhere any revision of an era will do, and the newest is taken. What takes longest is left
    # to --all: values made up for its types, and for its tables, of which sessions use some.
    cheap = ("--of", NEXT, "-k", "not test_differential and not test_translations")
    chosen = () if pytestconfig.getoption("--all") else cheap
    options = ("-n0", "-p", "no:cacheprovider", *chosen)
    checkout.run("-m", "pytest", *options, *some(FILES, 30, "next revision"))


def test_processes_speak_it_over_their_standard_streams(checkout: Checkout) -> None:
    ungated = f"{METHOD} needs the capability server.measuring, which is not declared"
    said = checkout.run("generated/program.py").splitlines()
    assert said == [f"{NEXT} 9", f"{NEXT} {ungated}", f"{NEWEST} {ungated}"]


def test_its_modules_are_typed(checkout: Checkout) -> None:
    options = ("--strict", "--config-file=", "--python-version=3.11", "--no-incremental")
    checkout.run("-m", "mypy", *options, "program.py", folder="generated")
