"""The committed package is what the generator writes today."""

import json
from pathlib import Path

import pytest
from mcp_protogen.pipeline.commands import check
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.package import Package
from mcp_protogen.pipeline.parts import PARTS
from mcp_protogen.pipeline.reports.report import RunStatus
from mcp_protogen.pipeline.settings import Settings
from support.generated.golden_package import EXTENSIONS, PACKAGE, REVISIONS

# Generation is slow here, and done once for all of them.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("golden")]


@pytest.fixture(scope="module")
def package() -> Package:
    options = GenerationOptions(REVISIONS, parts=tuple(PARTS), extensions=EXTENSIONS)
    return generate(options._replace(runtime="mcp_protogen.runtime"))


def test_golden_package_has_every_pinned_revision() -> None:
    assert tuple(load_pins()) == REVISIONS


def test_generating_anew_gives_the_committed_bytes(package: Package) -> None:
    committed = {
        path.relative_to(PACKAGE).as_posix(): path.read_bytes()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.name != "mcp-gen.lock"
    }
    made = {file.path: file.content for file in package.files}
    assert made.keys() == committed.keys()
    stale = [path for path, content in made.items() if committed[path] != content]
    assert stale == [], "run `make golden` and read what changed"


def test_the_lock_says_that_it_is_up_to_date() -> None:
    report = check(Settings(revisions=REVISIONS, out=PACKAGE))
    assert report.status is RunStatus.FINE, report.drift


def test_the_lock_lists_the_committed_files(package: Package) -> None:
    lock = json.loads((PACKAGE / "mcp-gen.lock").read_bytes())
    assert lock["files"].keys() == {file.path for file in package.files}
    assert Path(PACKAGE / "py.typed").is_file()
