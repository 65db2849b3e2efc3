"""Files that are not MCP schemas, and invalid names of revisions."""

import json
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.generate import generate
from support import tables
from support.generated.schema_folders import schemas_of
from support.revisions import OLD, STATELESS
from support.running import Ran, Run
from support.unit import schemas
from support.unit.damaged_files import damages, toml
from support.unit.schemas import Json, errors_of, record

NOT_JSON = {
    "nothing": b"",
    "a word": b"schema",
    "cut off": b'{"$defs": {',
    "not UTF-8": b'{"$defs": {"\xff": {}}}',
    "UTF-16": '{"$defs": {}}'.encode("utf-16"),
    "a member twice": b'{"$defs": {"A": {}, "A": {}}}',
    "NaN": b'{"$defs": {"A": {"minimum": NaN}}}',
    "a number beyond all": b'{"$defs": {"A": {"minimum": 1e999}}}',
    "an endless number": b'{"$defs": {"A": {"minimum": ' + b"9" * 5000 + b"}}}",
    "half a character": b'{"$defs": {"A": {"description": "\\ud800"}}}',
    "nested beyond reading": b"[" * 100_000 + b"]" * 100_000,
    "HTML": b"<!DOCTYPE html><html></html>",
}


def test_invalid_json_is_refused() -> None:
    for name, content in NOT_JSON.items():
        with tables.case(name):
            with pytest.raises(ProblemError) as caught:
                generate(
                    GenerationOptions(("draft",), {"draft": GivenFile("broken.json", content)})
                )
            (problem,) = caught.value.problems
            assert (problem.code, problem.place) == ("not-json", "broken.json")


NOT_A_SCHEMA: dict[str, Any] = {
    "null": None,
    "a boolean": True,
    "a number": 1,
    "a list": [],
    "a text": "schema",
    "no definitions": {"type": "object"},
    "definitions that are a list": {"$defs": []},
    "definitions that are null": {"$defs": None},
    "two kinds of definitions": {"$defs": {}, "definitions": {}},
    "a definition that is a number": {"$defs": {"A": 1}},
    "a member that is a text": {"$defs": {"A": {"properties": {"x": "string"}}}},
    "alternatives that are an object": {"$defs": {"A": {"anyOf": {"x": {}}}}},
    "a dialect that is a list": {"$schema": [], "$defs": {"A": {}}},
    "a reference that is a number": {"$defs": {"A": {"$ref": 1}}},
}


def test_invalid_schema_is_refused() -> None:
    for name, document in NOT_A_SCHEMA.items():
        with tables.case(name):
            assert {problem.code for problem in errors_of(document)} == {"not-a-schema"}


def test_empty_definitions_are_no_protocol() -> None:
    (problem,) = errors_of({"$defs": {}})
    assert problem.code == "no-message-unions"


def test_violations_of_the_metaschema_are_shown_together() -> None:
    document = schemas.schema()
    document["$defs"]["TextBlock"]["type"] = "text"
    document["$defs"]["LinkBlock"]["required"] = "type"
    document["$defs"]["Token"]["minLength"] = -1
    found = errors_of(document)
    assert {problem.pointer for problem in found} == {
        "/$defs/TextBlock/type",
        "/$defs/LinkBlock/required",
        "/$defs/Token/minLength",
    }
    assert {problem.code for problem in found} == {"not-a-schema"}


def test_deep_nesting_is_refused() -> None:
    for depth, shape in product((61, 150, 400, 2000, 20_000), ("array", "map", "object", "union")):
        with tables.case((depth, shape)):
            opening = {
                "array": '{"type":"array","items":',
                "map": '{"type":"object","additionalProperties":',
                "object": '{"type":"object","properties":{"x":',
                "union": '{"anyOf":[{"type":"null"},',
            }[shape]
            closing = {"object": "}}", "union": "]}"}.get(shape, "}")
            text = json.dumps(schemas.schema()).replace(
                '"$defs": {',
                '"$defs": {"Deep": ' + opening * depth + "{}" + closing * depth + ",",
                1,
            )
            with pytest.raises(ProblemError) as caught:
                generate(
                    GenerationOptions(("draft",), {"draft": GivenFile("deep.json", text.encode())})
                )
            codes = {problem.code for problem in caught.value.problems}
            assert codes <= {"not-a-schema", "not-json"}


def test_nesting_that_a_human_could_write_is_accepted() -> None:
    for shape in ("array", "map", "object", "union"):
        with tables.case(shape):
            inner: Json = {"type": "string"}
            for _ in range(14):
                inner = {
                    "array": {"type": "array", "items": inner},
                    "map": {"type": "object", "additionalProperties": inner},
                    "object": record(x=inner),
                    "union": {"anyOf": [{"type": "array", "items": inner}, {"type": "null"}]},
                }[shape]
            document = schemas.schema()
            document["$defs"]["Deep"] = record(x=inner)
            schemas.make(document)


def test_revision_names_that_are_no_folder_are_refused() -> None:
    for name in (
        *("", ".", "..", "../x", "a/b", "a b"),
        *("a--b", "a_b", "x\n", 'x"""', "é", "v;import os"),
    ):
        with tables.case(name):
            with pytest.raises(ProblemError) as caught:
                schemas.make(schemas.schema(), name)
            (problem,) = caught.value.problems
            assert problem.code == "unsafe-name"


def test_revisions_that_would_share_a_folder_are_refused() -> None:
    given = {name: schemas.schema_file(schemas.schema()) for name in ("draft-1", "draft.1")}
    with pytest.raises(ProblemError) as caught:
        generate(GenerationOptions(("draft-1", "draft.1"), given))
    assert [problem.code for problem in caught.value.problems] == ["name-collision"]


def test_an_unknown_revision_without_a_schema_is_refused() -> None:
    with pytest.raises(ProblemError) as caught:
        generate(GenerationOptions(("2025-11-26",)))
    assert caught.value.problems[0].code == "unknown-revision"


DRY = ("--with", "none", "--dry-run", "--no-cache", "--out", "pkg")
NEWEST = ("generate", "--revision", STATELESS, *DRY)
BOTH = ("generate", "--revision", f"{OLD},{STATELESS}", *DRY)
EXTENDED = ("generate", "--revision", STATELESS, "--extension", "all", *DRY)
# Files of a schema folder, and a command that reads each.
PINNED = {
    f"{STATELESS}/facts.json": NEWEST,
    f"{STATELESS}/translation.json": BOTH,
    f"{STATELESS}/patches.json": NEWEST,
    "descriptions.json": NEWEST,
    "pins.json": ("revisions",),
    "extensions/tasks/facts.json": EXTENDED,
    "extensions/apps/patches.json": EXTENDED,
    "extensions/pins.json": ("extensions",),
}
ENTRIES = [{"pointer": "/$defs/Tool/properties/title/type", "was": "string", "now": "number"}]
NAMES = {
    "modules": {OLD: "_old"},
    "types": {OLD: {"CompleteRequestParamsArgument": "Argument"}},
    "members": {OLD: {"Tool.inputSchema": "schema_of_input"}},
    "open": {OLD: ["Result"]},
}
SETTINGS = {"revisions": [OLD], "out": "pkg", "with": ["none"], "schemas": {OLD: "schema.json"}}
TYPES = ("generate", "--revision", OLD, "--target", "pydantic", "--dry-run", "--out", "pkg")
# Files of a user: their content, and a command that reads each.
GIVEN: dict[str, tuple[Any, tuple[str, ...]]] = {
    "patches.json": ({"patches": ENTRIES}, (*BOTH, "--patches", f"{OLD}=patches.json")),
    "names.json": (NAMES, (*TYPES, "--names", "names.json")),
    "pyproject.toml": (SETTINGS | {"patches": {"*": ENTRIES}}, ("generate", "--dry-run")),
    "rules.json": (
        json.loads((schema_folder() / OLD / "translation.json").read_bytes()),
        (*BOTH, "--schema", f"{OLD}=schema.json", "--rules", f"{OLD}=rules.json"),
    ),
    "schema.json": (
        json.loads((schema_folder() / OLD / "schema.json").read_bytes()),
        ("generate", "--revision", OLD, "--schema", "schema.json", *DRY),
    ),
    "mcp.json": (
        {"mcpServers": {"one": {"command": "false", "args": ["x"], "env": {"A": "b"}}}},
        ("list", "one", "--config", "mcp.json"),
    ),
}
# A setting may be right in itself; a patch may spoil what is right around it.
ELSEWHERE = {"pyproject.toml": "error[", "patches.json": "schema/"}


def has_named_its_fault(ran: Ran, *places: str) -> bool:
    """Return whether a run has succeeded, or named a file with its mistake."""
    said = ran.out + ran.err
    is_named = "error[" in said and any(place in said for place in places)
    return ran.code in (0, 1) or (ran.code == 2 and is_named and "internal-fault" not in said)


@pytest.mark.parametrize("name", [*PINNED])
def test_damaged_file_of_a_schema_folder_is_named(name: str, mcp_gen: Run, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(schema_folder(), tmp_path / "schema"))
    document = json.loads((folder / name).read_bytes())
    for damage in tables.some(damages(document), 3, name):
        with tables.case(damage), schemas_of(folder):
            (folder / name).write_text(json.dumps(damage.apply_to(document)))
            assert has_named_its_fault(mcp_gen(*PINNED[name]), Path(name).name, "schema/")


@pytest.mark.parametrize("name", [*GIVEN])
def test_damaged_file_of_a_user_is_named(name: str, mcp_gen: Run, tmp_path: Path) -> None:
    for file, (content, _) in GIVEN.items():
        if file != "pyproject.toml":
            (tmp_path / file).write_text(json.dumps(content))
    document, command = GIVEN[name]
    for damage in tables.some(damages(document), 3, name):
        with tables.case(damage):
            damaged = damage.apply_to(document)
            text = json.dumps(damaged)
            if name == "pyproject.toml":
                text = toml({"tool": {"mcp-gen": damaged}})[1:-1].replace("null", '"null"')
            (tmp_path / name).write_text(text)
            assert has_named_its_fault(mcp_gen(*command), name, ELSEWHERE.get(name, name))


def test_each_fault_of_the_files_of_a_schema_folder_is_found(mcp_gen: Run, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(schema_folder(), tmp_path / "schema"))
    for name in PINNED:
        file = folder / name
        file.write_text(json.dumps({**json.loads(file.read_bytes()), "unknown": 1}))
    (folder / OLD / "facts.json").write_text("{")
    (folder / OLD / "patches.json").unlink()
    (folder / OLD / "patches.json").mkdir()
    ran = mcp_gen("schema", "verify", "--schema-folder", str(folder), "--format", "json")
    assert ran.code == 1
    found = {(problem["place"], problem["code"]) for problem in json.loads(ran.out)["problems"]}
    assert found == {
        *((f"schema/{name}", "bad-form") for name in PINNED),
        (f"schema/{OLD}/facts.json", "not-json"),
        (f"schema/{OLD}/patches.json", "unreadable-source"),
    }
