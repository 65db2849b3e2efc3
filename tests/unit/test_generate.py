"""The generator as a whole: unknown revisions, and the same bytes wherever it runs."""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs import patches, sources
from mcp_protogen.pipeline.package import Package
from mcp_protogen.pipeline.plans.tables import all_tables
from support.programs import run_program
from support.unit import schemas
from support.unit.schemas import STRING, Json, record, ref, union

# The two smallest.
SEVERAL = ("2024-11-05", "2025-03-26")


def next_draft(document: Json) -> Json:
    """Return a next draft: a new method, type and capability, a removed method, a renamed type."""
    definitions: Json = document["$defs"]
    definitions["PaintRequest"] = schemas.message(
        "walls/paint",
        record(("colour",), colour={**ref("Colour"), "description": "Which {@link Colour | one}."}),
    )
    definitions["PaintRequest"]["description"] = "Asks for a coat of {@link Colour}."
    definitions["PaintResult"] = record(("coats",), coats={"type": "integer"})
    definitions["PaintResult"]["description"] = "What {@link PaintRequest | painting} came to."
    definitions["Colour"] = {"type": "string", "enum": ["red", "blue"], "description": "A colour."}
    definitions["ClientRequest"]["anyOf"].append(ref("PaintRequest"))
    definitions["ServerCapabilities"]["properties"]["walls"] = record(
        repaint={"type": "boolean", "description": "May paint twice."}
    )
    return document


def rename_type(document: Json, old: str, new: str) -> Json:
    text = json.dumps(document).replace(f'"#/$defs/{old}"', f'"#/$defs/{new}"')
    found: Json = json.loads(text)
    found["$defs"][new] = found["$defs"].pop(old)
    return found


def tiny() -> Json:
    made = next_draft(schemas.schema())
    made["$defs"]["ServerRequest"] = union("AskRequest")
    made["$defs"]["ClientRequest"] = union("SayRequest", "PaintRequest")
    del made["$defs"]["PingRequest"]
    return rename_type(made, "LinkBlock", "ReferenceBlock")


@pytest.fixture(scope="module")
def draft() -> Package:
    return schemas.make(tiny())


@pytest.fixture(scope="module")
def module(draft: Package, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    with schemas.import_package(draft, tmp_path_factory.mktemp("draft"), "next_year") as package:
        yield package.load("draft")


def test_an_unknown_revision_says_whose_facts_it_lives_on(draft: Package) -> None:
    first = draft.warnings[0]
    assert (first.code, first.level) == ("derived-facts", Level.WARNING)
    assert "2026-07-28" in first.message
    assert {warning.level for warning in draft.warnings} == {Level.WARNING}


def test_missing_facts_are_reported(draft: Package) -> None:
    reported = {warning.pointer for warning in draft.warnings if warning.code == "derived-facts"}
    assert "/methods/walls~1paint" in reported
    assert "/capabilities/server/walls" in reported
    assert "/capabilities/server/walls.repaint" in reported


def test_a_method_that_is_gone_is_reported_once(draft: Package) -> None:
    about = [w for w in draft.warnings if w.pointer.startswith("/methods/prompts~1get")]
    assert [(w.code, w.pointer) for w in about] == [("facts-disagree", "/methods/prompts~1get")]


def test_a_new_method_is_in_the_table_with_direction_and_result(module: ModuleType) -> None:
    paint = module.methods.PAINT
    assert module.methods.REQUESTS["walls/paint"] is paint
    assert paint.senders == {"client"}
    assert paint.params is module.models.PaintRequestParams
    assert paint.results == (module.models.PaintResult,)
    assert paint.since == "draft"
    assert "prompts/get" not in module.methods.REQUESTS


def test_a_new_method_has_its_stubs_and_travels(module: ModuleType) -> None:
    assert callable(module.client.Client.paint)
    assert callable(module.server.Server.on_paint)
    read = module.models.PaintRequestParams.from_wire({"colour": "red", "more": 1})
    assert (read.colour, read.to_wire()) == ("red", {"colour": "red", "more": 1})
    with pytest.raises(ValueError):
        module.models.PaintRequestParams.from_wire({"colour": "mauve"})


def test_new_capabilities_are_there(module: ModuleType) -> None:
    assert module.capabilities.SERVER_WALLS.path == ("walls",)
    assert module.capabilities.SERVER_WALLS_REPAINT.flag


def test_a_renamed_type_goes_by_its_new_name(module: ModuleType) -> None:
    assert "ReferenceBlock" in module.models.__all__
    assert not {"LinkBlock", "ResourceLink"} & set(module.models.__all__)


def test_the_schemas_own_descriptions_are_used_with_their_links_as_words(draft: Package) -> None:
    files = [file for file in draft.files if file.path.startswith("vdraft/models/")]
    models = b"\n".join(file.content for file in files).decode()
    assert '"""Asks for a coat of Colour."""' in models
    assert '"""What painting came to."""' in models
    assert '"""Which one."""' in models
    assert '"""A colour."""' in models
    assert '"""May paint twice."""' in models
    assert "@link" not in models


def test_a_union_takes_in_arms_that_the_facts_do_not_know(
    published_bytes: Callable[[str], bytes],
) -> None:
    document = json.loads(published_bytes("2026-07-28"))
    definitions = document["$defs"]
    definitions["SmellContent"] = record(("type", "odour"), type={"const": "smell"}, odour=STRING)
    definitions["ContentBlock"]["anyOf"].append(ref("SmellContent"))
    (content,) = [t for t in schemas.read(document).ir.types if t.name == "ContentBlock"]
    assert "SmellContent" in repr(content)


def test_a_published_schema_in_place_of_its_pin_gives_the_same_tables(
    published_bytes: Callable[[str], bytes], several: Package
) -> None:
    given = GivenFile("mine.json", published_bytes("2025-03-26"))
    mine = generate(GenerationOptions(("2025-03-26",), {"2025-03-26": given}))
    assert not mine.warnings
    for name in ("capabilities", "client", "methods", "server"):
        path = f"v2025_03_26/{name}.py"
        assert schemas.text_of(mine, path) == schemas.text_of(several, path)
    models = "v2025_03_26/models/tools.py"
    assert schemas.text_of(mine, models) != schemas.text_of(several, models)


@pytest.fixture(scope="module")
def several() -> Package:
    return generate(GenerationOptions(SEVERAL))


def digest(package: Package) -> str:
    content = [(file.path, file.content, file.origin) for file in package.files]
    return hashlib.sha256(repr(content).encode()).hexdigest()


def test_generating_twice_gives_the_same_bytes(several: Package) -> None:
    again = generate(GenerationOptions(SEVERAL))
    assert digest(again) == digest(several)
    assert again.inputs == several.inputs


def test_files_are_sorted_and_each_is_there_once(several: Package) -> None:
    paths = [file.path for file in several.files]
    assert paths == sorted(set(paths))
    assert "mcp-gen.lock" not in paths


PROGRAM = """
import hashlib, sys
events = []
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        mode, flags = arguments[1], arguments[2]
        if (mode and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & 3):
            events.append(f"open {arguments[0]!r} {mode} {flags}")
    elif event.startswith(("socket.", "os.remove", "os.rename", "os.mkdir", "shutil.", "subproc")):
        events.append(f"{event} {arguments!r}")
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.generate import generate
sys.addaudithook(watch)
package = generate(GenerationOptions(tuple(sys.argv[1:])))
content = [(file.path, file.content, file.origin) for file in package.files]
print(hashlib.sha256(repr(content).encode()).hexdigest())
print("\\n".join(events))
"""


def elsewhere(folder: Path, surroundings: dict[str, str]) -> list[str]:
    """Return the output of the program in another process, folder and environment."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **surroundings}
    output = run_program(
        sys.executable, "-c", PROGRAM, *SEVERAL, cwd=folder, env=environment, timeout=60
    )
    return output.split("\n")


def test_generating_has_the_same_bytes_anywhere_and_no_side_effects(
    several: Package, tmp_path: Path
) -> None:
    for surroundings in (
        {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Pacific/Chatham"},
        {"PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8", "TZ": "UTC"},
    ):
        found, *events = elsewhere(tmp_path, surroundings)
        assert found == digest(several)
        assert [event for event in events if event and "/dev/null" not in event] == []
    assert not any(tmp_path.iterdir())


def owned_schema() -> GivenFile:
    """Return the patched schema of 2025-11-25 with a further required member."""
    folder = schema_folder() / "2025-11-25"
    entries: list[Json] = json.loads((folder / "patches.json").read_text())["patches"]
    document = patches.apply(json.loads((folder / "schema.json").read_text()), entries, "here")
    document["$defs"]["Tool"]["properties"]["owner"] = STRING
    document["$defs"]["Tool"]["required"].append("owner")
    return GivenFile("owned.json", json.dumps(document).encode())


def rules(**up: object) -> GivenFile:
    rule = {"at": ["Tool.owner"], "up": up, "reason": "Nobody owned it.", "source": "x"}
    document: Json = {"older": "2025-11-25", "became": {}, "rules": [rule], "errors": []}
    return GivenFile("rules.json", json.dumps(document).encode())


def problems_between(options: GenerationOptions) -> tuple[Problem, ...]:
    """Return the problems for which one revision does not lead to the other."""
    loaded = ((revision, sources.load(revision, options)) for revision in options.revisions)
    derived = {revision: derive_revision(source).ir for revision, source in loaded}
    with pytest.raises(ProblemError) as refused:
        all_tables(derived, options)
    return refused.value.problems


def test_undecided_differences_are_decided_by_rules() -> None:
    options = GenerationOptions(("2025-11-25", "draft"), schemas={"draft": owned_schema()})
    undecided = problems_between(options)
    (problem,) = [
        undecided_problem
        for undecided_problem in undecided
        if undecided_problem.level is Level.ERROR
    ]
    assert problem.code == "undecided-difference"
    assert "from 2025-11-25 to draft, Tool.owner: is required in draft" in problem.message
    package = generate(options._replace(rules={"draft": rules(add="nobody")}))
    (table,) = [file for file in package.files if file.path.endswith("translate/vdraft.py")]
    assert b'add={"owner": "nobody"}' in table.content
    assert package.inputs.revisions["draft"].rules != ""


def test_a_rule_that_stands_at_nothing_is_no_rule() -> None:
    misplaced = rules(add="nobody").content.replace(b"Tool.owner", b"Tool.ownr")
    given = GivenFile("rules.json", misplaced)
    options = GenerationOptions(
        ("2025-11-25", "draft"), schemas={"draft": owned_schema()}, rules={"draft": given}
    )
    found = {
        problem.code: problem
        for problem in problems_between(options)
        if problem.level is Level.ERROR
    }
    assert found.keys() == {"bad-rule", "undecided-difference"}
    assert found["bad-rule"].message.endswith("in direction up, Tool.ownr does not exist")
    assert (found["bad-rule"].place, found["bad-rule"].pointer) == ("rules.json", "/rules/0")


def test_a_single_revision_of_ones_own_needs_no_rules() -> None:
    package = generate(GenerationOptions(("draft",), schemas={"draft": owned_schema()}))
    assert not [file.path for file in package.files if file.path.startswith("translate/")]
