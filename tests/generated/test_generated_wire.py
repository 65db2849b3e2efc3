"""Members in generated classes: names, nulls, constants, unknowns, numbers and errors."""

import ast
import copy
import json
import pickle
import re
from itertools import product
from typing import Any

import pytest
from mcp_protogen.base.names import RESERVED_TYPES, type_name
from mcp_protogen.runtime.core.models.base import validator_of
from mcp_protogen.runtime.core.models.validation_errors import problems
from mcp_revisions import translate
from pydantic import ValidationError
from support import tables
from support.generated import oracle
from support.generated.golden_package import PACKAGE, REVISIONS, load
from support.revisions import HANDSHAKE

Json = dict[str, Any]

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
TEXT: Json = {"type": "text", "text": "hello"}


def _models(revision: str) -> Any:
    return load(revision).models


def _errors(revision: str, name: str, value: Any) -> list[Any]:
    with pytest.raises(ValidationError) as refused:
        validator_of(getattr(_models(revision), name))(value)
    found: list[Any] = problems(refused.value, value)
    return found


def _tree(revision: str) -> ast.Module:
    folder: str = load(revision).__name__.rpartition(".")[2]
    return ast.parse(_source(folder))


def _source(folder: str) -> str:
    """The text of all modules with models."""
    files = sorted((PACKAGE / folder / "models").glob("[a-z]*.py"))
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def _fields(model: Any) -> Json:
    fields: Json = model.model_fields
    return fields


def _result(revision: str, **members: Any) -> Json:
    """Return a result on the wire; since 2026-07-28 each has a type."""
    return {"resultType": "complete", **members} if revision not in HANDSHAKE else members


# Names for undeclared members: attributes, methods and slots of the class.
NAMES = (
    *("structured_content", "is_error", "result_type", "meta", "_private", "self", "copy"),
    *("model_fields", "model_extra", "model_fields_set", "from_json", "to_wire", "ANY_OF_REQUIRED"),
    *("__class__", "__dict__", "__pydantic_extra__", "__pydantic_private__"),
    *("__pydantic_fields_set__", "__pydantic_validator__"),
)


@pytest.mark.parametrize("value", [5, None])
def test_an_undeclared_member_is_kept_apart_whatever_it_is_called(value: Any) -> None:
    result = _models("2026-07-28").CallToolResult
    for name in NAMES:
        wire: Json = {"resultType": "complete", "content": [], name: value}
        read = result.from_wire(wire)
        copies = [read.model_copy(), read.model_copy(deep=True), copy.copy(read)]
        copies += [copy.deepcopy(read), pickle.loads(pickle.dumps(read))]
        for result_copy in (read, result.from_json(json.dumps(wire)), *copies):
            assert (result_copy, result_copy.to_wire(), json.loads(result_copy.to_json())) == (
                read,
                wire,
                wire,
            ), name
            assert result_copy.model_extra == {name: value}
            assert (result_copy.content, result_copy.structured_content, result_copy.is_error) == (
                [],
                None,
                None,
            )
            assert result_copy.model_fields_set.isdisjoint(
                {"structured_content", "is_error", "meta"}
            )
        assert translate(read, "2026-07-28", "2025-11-25").value.to_wire()[name] == value
        read.is_error = True
        assert read.to_wire() == {**wire, "isError": True}, name
        read.is_error, read.structured_content = None, None
        assert read.to_wire() == {**wire, "structuredContent": None}, name
        del read.structured_content
        assert (read.structured_content, read.to_wire()) == (None, wire), name
        assert read.model_extra == {name: value}


def test_a_null_and_an_undeclared_member_called_like_its_attribute_stay_apart() -> None:
    wire = _result("2026-07-28", content=[], structuredContent=None, structured_content=5)
    read = _models("2026-07-28").CallToolResult.from_wire(wire)
    assert read.to_wire() == wire
    assert "structured_content" in read.model_fields_set


def test_an_undeclared_member_meets_no_requirement() -> None:
    model = _models("2026-07-28").InputRequiredResult
    for name in ("input_requests", "request_state"):
        wire: Json = {"resultType": "input_required", name: {}}
        for read, value in ((model.from_wire, wire), (model.from_json, json.dumps(wire))):
            with pytest.raises(ValidationError, match="At least one of inputRequests"):
                read(value)
    result = model.from_wire({"resultType": "input_required", "requestState": "s"})
    result.meta = {"a": 1}
    assert result.to_wire()["requestState"] == "s"


def test_a_wrong_content_block_is_one_error() -> None:
    rows: list[tuple[Any, str]] = [
        ({"type": "text"}, "/content/0/text"),
        ({"type": "text", "text": 1}, "/content/0/text"),
        ({"type": "image", "data": ""}, "/content/0/mimeType"),
        ({"type": 1}, "/content/0"),
        ({}, "/content/0"),
        (None, "/content/0"),
    ]
    for revision, (block, pointer) in product(REVISIONS, rows):
        with tables.case((revision, block)):
            found = _errors(revision, "CallToolResult", _result(revision, content=[block]))
            assert len(found) == 1, found
            assert found[0].pointer.startswith(pointer)


def test_required_arguments_make_whole_message() -> None:
    """Constants and usual values are filled in: nothing the schema requires goes unwritten."""
    for revision in REVISIONS:
        with tables.case(revision):
            for name, subject in oracle.subjects(revision).items():
                model: Any = getattr(_models(revision), name)
                if not isinstance(model, type):
                    continue
                least = oracle.smallest_request(revision, subject)
                fields: Json = _fields(model)
                filled_in = {
                    field.alias or member
                    for member, field in fields.items()
                    if not field.is_required() and field.default is not None
                }
                given = {
                    member: value for member, value in least.items() if member not in filled_in
                }
                assert least.keys() <= model(**given).to_wire().keys(), name


@pytest.mark.shows("S4-17", "S4-19")
def test_formats_are_not_asserted() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            models = _models(revision)
            assert models.Root.from_wire({"uri": "not a uri"}).uri == "not a uri"
            assert models.ImageContent(data="not base64!", mime_type="").data == "not base64!"
            assert models.Resource.from_wire({"name": "", "uri": ""}).uri == ""


def test_levels_go_from_low_to_high() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            assert _models(revision).LoggingLevel.__value__.__args__ == LEVELS


def test_no_class_has_a_made_up_name() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            classes = [node.name for node in _tree(revision).body if isinstance(node, ast.ClassDef)]
            made_up = re.compile(r".*\d$|RootModel|.*Model\d*$|.*Params\d|Field\w*$")
            assert not [name for name in classes if made_up.fullmatch(name)]
            bases = {
                ast.unparse(base)
                for node in ast.walk(_tree(revision))
                if isinstance(node, ast.ClassDef)
                for base in node.bases
            }
            # `ToolResult` has what callers want of the result of a tool.
            assert bases == {"ToolResult", "WireModel"}


def test_no_type_can_have_a_name_that_its_module_imports() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            imported = {
                alias.name
                for node in ast.walk(_tree(revision))
                if isinstance(node, ast.ImportFrom) and node.level != 1
                for alias in node.names
            }
            assert "ToolResult" in imported
            assert imported <= RESERVED_TYPES


def test_unions_are_aliases_of_their_arms() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            definitions: Json = oracle.document(revision)["$defs"]
            for name, schema in definitions.items():
                if "anyOf" in schema and "properties" not in schema:
                    alias = getattr(_models(revision), type_name(name))
                    assert type(alias).__name__ == "TypeAliasType", name


def test_classes_and_members_have_one_definition_each_and_are_exported() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            tree = _tree(revision)
            named: list[str] = []
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    named.append(node.name)
                    members = [
                        item.target.id
                        for item in node.body
                        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
                    ]
                    assert len(members) == len(set(members)), node.name
                elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    named.append(node.targets[0].id)
            named = [name for name in named if name != "__all__"]
            assert len(named) == len(set(named))
            exported: list[str] = _models(revision).__all__
            assert exported == sorted(exported)
            assert set(exported) == set(named)


def test_known_values_of_an_open_string_are_told_and_others_are_taken() -> None:
    models = _models("2025-11-25")
    source = _source("v2025_11_25")
    assert "Known values: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`." in source
    content = models.TextContent(text="")
    result = models.CreateMessageResult(role="assistant", model="", content=content)
    result.stop_reason = "vendorReason"
    assert result.to_wire()["stopReason"] == "vendorReason"
