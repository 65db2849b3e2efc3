"""Matching of types: by name, by shape, by place, by the mapping file."""

import json
from pathlib import Path

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.instep.audit.matching import modules_of_revision
from mcp_protogen.instep.audit.run_audit import Audit, AuditOptions, audit
from mcp_protogen.instep.audit.sdk import find
from support import formats
from support.audit.auditing import PYDANTIC, REVISION, ROOT, findings, run_audit, write_sdk

pytestmark = pytest.mark.usefixtures("vectors_made_once")


def matches_of(found: Audit) -> dict[str, tuple[str, str]]:
    """Return the matched types and the way of each match, by type of the schema."""
    return {row.type: (row.target, row.how) for row in found.matched if row.how}


def test_names_are_the_same_in_any_case(tmp_path: Path) -> None:
    source = f"{PYDANTIC}\n    class JsonRpcRequest(BaseModel):\n        method: str"
    assert matches_of(run_audit(tmp_path, source)) == {
        "JSONRPCRequest": ("sdk.JsonRpcRequest", "name")
    }


def test_a_message_is_known_by_its_method(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    class Invoke(BaseModel):
        method: Literal["tools/call"]
        params: dict[str, Any]
    """
    assert matches_of(run_audit(tmp_path, source))["CallToolRequest"] == ("sdk.Invoke", "shape")


def test_a_type_is_known_by_its_members_and_constants(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    class Sound(BaseModel):
        type: Literal["audio"]
        data: str
        mimeType: str
        annotations: Any = None
        meta: Any = Field(None, alias="_meta")
    Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert"]
    """
    found = matches_of(run_audit(tmp_path, source))
    assert found["AudioContent"] == ("sdk.Sound", "shape")
    assert "ImageContent" not in found
    assert found["LoggingLevel"] == ("sdk.Level", "shape")


def test_two_types_of_one_shape_are_none(tmp_path: Path) -> None:
    twins = "".join(
        f"\n    class {name}(BaseModel):\n        progressToken: str\n        progress: float\n"
        "        total: float | None = None\n        message: str | None = None\n"
        "        meta: Any = Field(None, alias='_meta')\n"
        for name in ("One", "Two")
    )
    assert "ProgressNotificationParams" not in matches_of(run_audit(tmp_path, PYDANTIC + twins))


def test_a_class_of_the_same_name_about_something_else_is_not_meant(tmp_path: Path) -> None:
    source = (
        f"{PYDANTIC}\n    class Task(BaseModel):\n        coroutine: str\n        thread: int\n"
    )
    assert "Task" not in matches_of(run_audit(tmp_path, source))


def test_a_class_of_the_same_name_and_members_is_not_meant_where_these_hold_something_else(
    tmp_path: Path,
) -> None:
    source = """
        import dataclasses
        from typing import Any
        @dataclasses.dataclass
        class ServerCapabilities:
            experimental: list[str] | None = None
            logging: bool = False
            prompts: bool = False
            tools: bool = False
            tasks: dict[str, Any] | None = None
        @dataclasses.dataclass
        class Annotations:
            audience: str | None = None
            priority: str | None = None
            last_modified: str | None = None
        """
    assert matches_of(run_audit(tmp_path, source)) == {"Annotations": ("sdk.Annotations", "name")}


def test_inline_objects_are_found_in_their_place(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    class Toolbox(BaseModel):
        listChanged: str | None = None

    class ServerCapabilities(BaseModel):
        tools: Toolbox | None = None
    """
    found = run_audit(tmp_path, source)
    assert matches_of(found)["ServerCapabilitiesTools"] == ("sdk.Toolbox", "place")
    assert ("field-type", "ServerCapabilities.tools.listChanged") in findings(found)


def test_a_class_for_each_way_to_use_a_type_stands_for_it_together(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    class Root(BaseModel):
        uri: int

    class RootWithText(BaseModel):
        uri: str

    class RootWithNumber(BaseModel):
        uri: float
    """
    assert ("field-type", "Root.uri") not in findings(run_audit(tmp_path, source))


def test_modules_of_the_revision_come_before_others() -> None:
    modules = ("sdk", "sdk.v2025_11_25", "sdk.v2026_07_28")
    assert modules_of_revision(modules, "2025-11-25") == {"sdk.v2025_11_25"}
    assert modules_of_revision(modules, "2025-06-18") == {"sdk"}
    assert modules_of_revision(modules[2:], "2025-11-25") == {"sdk.v2026_07_28"}


def test_types_of_another_revision_are_not_taken(tmp_path: Path) -> None:
    package = tmp_path / "sdk"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for revision, type_ in (("2025_11_25", "str"), ("2026_07_28", "int")):
        source = f"import typing\nclass Root(typing.TypedDict):\n    uri: {type_}\n"
        (package / f"v{revision}.py").write_text(source)
    found = audit(find(str(package)), "2025-11-25", AuditOptions(vectors=False))
    assert matches_of(found) == {"Root": ("sdk.v2025_11_25.Root", "name")}


def test_the_revision_is_the_one_that_the_sdk_claims(tmp_path: Path) -> None:
    constants = "LATEST_PROTOCOL_VERSION = '2025-03-26'\nOTHER = '2026-07-28'\n"
    quick = AuditOptions(vectors=False)
    claiming = audit(write_sdk(tmp_path / "a", ROOT + constants), None, quick)
    silent = audit(write_sdk(tmp_path / "b", ROOT), None, quick)
    assert claiming.comparison.before == "2025-03-26"
    assert silent.comparison.before == "2026-07-28"


def mapping(folder: Path, text: str, name: str = "mapping.toml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_a_mapping_file_says_what_stands_for_what(tmp_path: Path) -> None:
    source = f"{PYDANTIC}\n    class Anchor(BaseModel):\n        uri: int\n"
    toml = mapping(tmp_path, '[types]\nRoot = "sdk.Anchor"\nTool = false\nIcon = {use = false}')
    found = run_audit(tmp_path / "sdk", source, mapping=toml)
    assert matches_of(found)["Root"] == ("sdk.Anchor", "mapping")
    assert "field-type" in {code for code, _ in findings(found)}
    assert not {("type-missing", "Tool"), ("type-missing", "Icon")} & findings(found).keys()
    assert "1 by mapping" in found.summary


def test_reasons_of_a_mapping_file_are_shown_with_what_is_left_out(tmp_path: Path) -> None:
    content = json.dumps({"types": {"Tool": {"use": False, "reason": "we have none"}}})
    found = run_audit(tmp_path / "sdk", ROOT, mapping=mapping(tmp_path, content, "m.json"))
    assert next(row for row in found.matched if row.type == "Tool").reason == "we have none"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[types]\nTol = "sdk.Root"', "no type Tol"),
        ('[types]\nTool = "sdk.Rot"', "no type sdk.Rot"),
        ("[types]\nTool = true", "neither"),
        ("Tool = false", "one table"),
        ("[types", "TOML|Expected"),
    ],
)
def test_a_mapping_that_cannot_be_used_is_one_problem(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=f"bad-mapping.*({said})"):
        run_audit(tmp_path / "sdk", ROOT, mapping=mapping(tmp_path, text))


def test_a_mapping_file_is_described_by_its_schema() -> None:
    good = {"types": {"Tool": "a.B", "Icon": False, "Root": {"use": False, "reason": "because"}}}
    assert formats.faults("audit-mapping", good) == []
    assert formats.faults("audit-mapping", {"types": {"Tool": True}})


@pytest.mark.parametrize(
    "source",
    [
        """
        import dataclasses
        @dataclasses.dataclass
        class Annotations:
            audience: list[str] | None = None
            priority: str | None = None
            last_modified: str | None = None
        """,
        """
        import typing
        class Annotations(typing.TypedDict, total=False):
            audience: list[str]
            priority: str
            lastModified: typing.Required[str]
        """,
    ],
    ids=["dataclass", "typed dictionary"],
)
def test_dataclasses_and_typed_dictionaries_are_read(source: str, tmp_path: Path) -> None:
    found = findings(run_audit(tmp_path, source))
    about = {(code, item) for code, item in found if item.startswith("Annotations")}
    expected = {("field-type", "Annotations.priority")}
    if "TypedDict" in source:
        expected.add(("field-required", "Annotations.lastModified"))
    assert about == expected


def test_names_in_python_are_read_as_wire_names_only_where_there_are_no_aliases(
    tmp_path: Path,
) -> None:
    source = f"""{PYDANTIC}
    class Annotations(BaseModel):
        audience: Any = None
        last_modified: Any = None
    """
    assert ("field-extra", "Annotations.last_modified") in findings(run_audit(tmp_path, source))


def test_names_of_what_is_defined_further_down_are_resolved(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    class ListRootsResult(BaseModel):
        roots: list["Root"]
        meta: Any = Field(None, alias="_meta")

    class Root(BaseModel):
        uri: str
    """
    found = findings(run_audit(tmp_path, source))
    assert not any(item.startswith("ListRootsResult") for _, item in found)


def test_revision_is_part_of_the_result(tmp_path: Path) -> None:
    assert run_audit(tmp_path, ROOT).comparison.before == REVISION


WIRE = f"""{PYDANTIC}
    class Tool(BaseModel):
        name: str
        inputSchema: dict[str, Any]

    class PingRequest(BaseModel):
        method: Literal["ping"]

    class ListToolsRequest(BaseModel):
        method: Literal["tools/list"]

    class ListPromptsRequest(BaseModel):
        method: Literal["prompts/list"]
    """
OWN_TOOL = """
    class Tool(BaseModel):
        name: str
        parameters: dict[str, Any]
    """


@pytest.mark.parametrize(
    "uses",
    [
        "Request = wire.PingRequest | wire.ListToolsRequest | wire.ListPromptsRequest",
        "Listed = list[wire.Tool]",
    ],
    ids=["messages", "one type"],
)
def test_foreign_message_classes_are_audited(
    uses: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own classes of the same names have other purposes."""
    package = tmp_path / "wire"
    write_sdk(package, WIRE, "_types")
    (package / "__init__.py").write_text("")
    own = f"{PYDANTIC}\n    from wire import _types as wire\n    {uses}\n{OWN_TOOL}"
    write_sdk(tmp_path, own, "framework")
    monkeypatch.chdir(tmp_path)
    found = audit(find("framework"), REVISION, AuditOptions(vectors=False))
    assert matches_of(found)["Tool"] == ("wire._types.Tool", "name")
    assert matches_of(found)["PingRequest"] == ("wire._types.PingRequest", "name")
    assert [(note.code, note.place) for note in found.comparison.notes] == [
        ("speaks-through", "framework")
    ]
    assert "come from wire," in found.comparison.notes[0].message


def test_a_type_of_another_package_beside_ones_own_messages_is_no_more_than_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sdk(tmp_path, WIRE, "wire")
    # Messages without the method are known by their names.
    own = WIRE.replace("method: Literal", "params: Literal")
    write_sdk(tmp_path, f"{own}\n    import wire\n    Listed = list[wire.Tool]\n", "sdk")
    monkeypatch.chdir(tmp_path)
    found = audit(find("sdk"), REVISION, AuditOptions(vectors=False))
    assert found.comparison.notes == ()
    assert matches_of(found)["Tool"] == ("sdk.Tool", "name")


@pytest.mark.parametrize("more", [True, False], ids=["more", "as many"])
def test_own_messages_count_if_they_are_more_than_those_of_another_package(
    more: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("ping", "tools/list", "prompts/list")
    classes = "".join(
        f"class Request{index}(BaseModel):\n    method: Literal[{name!r}]\n"
        for index, name in enumerate(names)
    )
    head = "from typing import Literal\nfrom pydantic import BaseModel\n"
    (tmp_path / "other.py").write_text(head + classes)
    (tmp_path / "sdk.py").write_text(
        f"from other import *\n{head}{classes.replace('Request', 'Own')}"
        + "class More(BaseModel):\n    method: Literal['tools/call']\n" * more
    )
    monkeypatch.chdir(tmp_path)
    found = audit(find("sdk"), REVISION, AuditOptions(vectors=False))
    assert [note.code for note in found.comparison.notes] == ["speaks-through"] * (not more)
    own = {"CallToolRequest": ("sdk.More", "shape")}
    assert (own.items() <= matches_of(found).items()) == more
