"""A revision split into a model and its wires: the package made of it is the same, byte by byte."""

import json
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from mcp_protogen.base.canonical import pretty
from mcp_protogen.pipeline.inputs.wires import FILE
from support.folders import ROOT
from support.generated.golden_package import PACKAGE
from support.generated.next_revision import Checkout, copy_checkout
from support.json_types import read_json
from support.programs import run_program
from support.rehearsals.__main__ import write_package
from support.rehearsals.proposals import FOLDER, Rehearsal
from support.revisions import REVISIONS
from support.tables import case

pytestmark = pytest.mark.long

REHEARSAL: Final = Rehearsal("data-model", (read_json(FOLDER / "data-model.json"),))
REVISION: Final = REHEARSAL.base
LOCK: Final = "mcp-gen.lock"
ABOUT_THE_SOURCE: Final = ("published", "schema", "spec_commit")
"""The members of a lock that tell which published file a revision was read from."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A copy of the checkout with the newest revision as a model and its wires."""
    made = copy_checkout(tmp_path_factory.mktemp("split"))
    model, wires = REHEARSAL.split(REHEARSAL.publish(read_json(snapshot(made))))
    published = made.folder / "published.json"
    published.write_text(json.dumps(model))
    made.run("-m", "mcp_protogen", "schema", "add", REVISION, "--from", str(published))
    (made.schema / REVISION / FILE).write_bytes(pretty(wires))
    return made


def snapshot(checkout: Checkout) -> Path:
    return checkout.schema / REVISION / "schema.json"


def contents(package: Path) -> dict[str, bytes]:
    files = (
        path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    return {path.relative_to(package).as_posix(): path.read_bytes() for path in files}


def read_lock(content: bytes) -> Any:
    """Return a lock without what it tells of the published file of the split revision."""
    lock = json.loads(content)
    for member in ABOUT_THE_SOURCE:
        del lock["revisions"][REVISION][member]
    return lock


def test_the_package_of_a_model_and_its_wires_is_the_same(checkout: Checkout) -> None:
    assert "MCPRequest" in read_json(snapshot(checkout))["$defs"]
    write_package(checkout, REHEARSAL)
    before, after = contents(PACKAGE), contents(checkout.generated / PACKAGE.name)
    locks = [read_lock(files.pop(LOCK)) for files in (before, after)]
    assert [name for name in before if before[name] != after.get(name)] == []
    assert after.keys() == before.keys()
    assert locks[0] == locks[1]


def test_commands_about_schemas_read_a_model_and_its_wires(checkout: Checkout) -> None:
    run = ("-m", "mcp_protogen")
    for command in (("schema", "verify"), ("schema", "draft-facts", REVISION, "--check")):
        with case(command):
            checkout.run(*run, *command)
    against = (*run, "diff", REVISIONS[-2], REVISION)
    assert checkout.run(*against) == run_program(sys.executable, *against, cwd=ROOT)


def test_an_update_tells_what_a_changed_model_means_on_the_wire(checkout: Checkout) -> None:
    changed = read_json(snapshot(checkout))
    changed["$defs"]["CompleteRequestParams"]["required"].remove("argument")
    published = checkout.folder / "source" / "schema" / REVISION / "schema.json"
    published.parent.mkdir(parents=True)
    published.write_text(json.dumps(changed))
    update = ("update", REVISION, "--source", "source", "--format", "json")
    (found,) = json.loads(checkout.run("-m", "mcp_protogen", *update, code=1))["revisions"]
    finding = found["finding"]
    assert finding["pointers"] == ["/$defs/CompleteRequestParams/required"]
    assert {patch["fit"] for patch in finding["patches"]} == {"fits"}
    items = {change["item"] for change in finding["comparison"]["changes"]}
    assert items == {"CompleteRequest.params.argument"}
