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
UNKNOWN: Json = {"type": "hologram", "depth": 3.0, "note": None}


def _models(revision: str) -> Any:
    return load(revision).models


def _read(revision: str, name: str, value: Any) -> Any:
    return validator_of(getattr(_models(revision), name))(value)


def _errors(revision: str, name: str, value: Any) -> list[Any]:
    with pytest.raises(ValidationError) as refused:
        _read(revision, name, value)
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


def _request(revision: str, method: str, params: Json) -> Json:
    message: Json = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    if revision not in HANDSHAKE:
        version = {"io.modelcontextprotocol/protocolVersion": revision}
        params["_meta"] = {**version, "io.modelcontextprotocol/clientCapabilities": {}}
    return message


def _result(revision: str, **members: Any) -> Json:
    """Return a result on the wire; since 2026-07-28 each has a type."""
    return {"resultType": "complete", **members} if revision not in HANDSHAKE else members


@pytest.mark.shows("S2-33")
def test_undeclared_members_survive_with_their_nulls() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            block = {**TEXT, "x-vendor": {"a": [None, 1.0]}, "nothing": None}
            wire = _result(revision, content=[block], later=None)
            for result in (
                _models(revision).CallToolResult.from_wire(wire),
                _models(revision).CallToolResult.from_json(json.dumps(wire)),
            ):
                assert result.to_wire() == wire
                assert json.loads(result.to_json()) == wire


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


@pytest.mark.shows("S2-26")
def test_content_of_an_unknown_kind_survives() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            wire = _result(revision, content=[TEXT, UNKNOWN])
            result = _models(revision).CallToolResult.from_wire(wire)
            assert type(result.content[1]).__name__ == "UnknownContent"
            assert result.content[1].type == "hologram"
            assert result.to_wire() == wire


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


def test_a_request_without_a_name_is_one_error() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            found = _errors(revision, "ClientRequest", _request(revision, "tools/call", {}))
            assert [problem.pointer for problem in found] == ["/params/name"]


def test_a_method_the_revision_does_not_have_is_one_error() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            assert (
                len(_errors(revision, "ClientRequest", _request(revision, "tools/invent", {}))) == 1
            )


def test_optional_members_may_be_absent_but_not_null() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            models = _models(revision)
            wire = _result(revision, tools=[])
            if revision not in HANDSHAKE:
                wire |= {"ttlMs": 0, "cacheScope": "private"}
            assert models.ListToolsResult.from_wire(wire).next_cursor is None
            with pytest.raises(ValidationError):
                models.ListToolsResult.from_wire({**wire, "nextCursor": None})


def test_none_in_an_optional_member_writes_nothing() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            models = _models(revision)
            given: Json = (
                {"ttl_ms": 0, "cache_scope": "private"} if revision not in HANDSHAKE else {}
            )
            for absent in ({"next_cursor": None}, {"nextCursor": None}):
                result = models.ListToolsResult(tools=[], **given, **absent)
                assert "nextCursor" not in result.to_wire()
                assert "nextCursor" not in json.loads(result.to_json())
            result.next_cursor = "3"
            assert result.to_wire()["nextCursor"] == "3"
            result.next_cursor = None
            assert "nextCursor" not in result.to_wire()


def test_a_member_that_may_be_null_keeps_null_apart_from_absent() -> None:
    models = _models("2025-11-25")
    times = {"createdAt": "2025-11-25T00:00:00Z", "lastUpdatedAt": "2025-11-25T00:00:00Z"}
    wire = {"taskId": "1", "status": "working", "ttl": None, **times}
    assert models.Task.from_wire(wire).to_wire() == wire
    made = models.Task(
        task_id="1", status="working", ttl=None, created_at=times["createdAt"], last_updated_at=""
    )
    assert made.to_wire()["ttl"] is None
    with pytest.raises(ValidationError):
        models.Task.from_wire({**times, "taskId": "1", "status": "working"})


def test_a_member_of_any_type_keeps_null_apart_from_absent() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            log = _models(revision).LoggingMessageNotificationParams
            assert log.from_wire({"level": "info", "data": None}).to_wire() == {
                "level": "info",
                "data": None,
            }
            assert log(level="info", data=None).to_wire() == {"level": "info", "data": None}
            error = _models(revision).Error if revision >= "2025-11-25" else None
            if error is not None:
                assert error(code=1, message="").to_wire() == {"code": 1, "message": ""}
                assert error(code=1, message="", data=None).to_wire() == {
                    "code": 1,
                    "message": "",
                    "data": None,
                }


def test_constructors_take_python_and_wire_names_and_write_wire_names() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            models = _models(revision)
            wire = {"type": "image", "data": "AA==", "mimeType": "image/png", "_meta": {"a": 1}}
            if revision < "2025-06-18":
                del wire["_meta"]
            meta = {"meta": wire["_meta"]} if "_meta" in wire else {}
            assert models.ImageContent(data="AA==", mime_type="image/png", **meta).to_wire() == wire
            assert models.ImageContent(**wire).to_wire() == wire


def test_the_wire_knows_wire_names_only() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            models = _models(revision)
            with pytest.raises(ValidationError):
                models.ImageContent.from_wire(
                    {"type": "image", "data": "", "mime_type": "image/png"}
                )
            wire = _result(revision, content=[], is_error=True)
            result = models.CallToolResult.from_wire(wire)
            assert result.is_error is None
            assert result.to_wire() == wire


def test_an_undeclared_member_named_like_a_python_name_does_not_hide_the_declared_one() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            wire = _result(revision, content=[], isError=False, is_error=True)
            result = _models(revision).CallToolResult.from_wire(wire)
            assert result.is_error is False
            assert result.to_wire() == wire


def test_constants_are_written_unasked_and_required_on_the_wire() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            text = _models(revision).TextContent
            assert text(text="hello").to_wire() == TEXT
            for wrong in (
                {"text": "hello"},
                {"text": "hello", "type": "image"},
                {"text": "", "type": None},
            ):
                with pytest.raises(ValidationError):
                    text.from_wire(wrong)


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


def test_integers_may_be_written_with_a_point_but_not_as_anything_else() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            error = "JSONRPCErrorResponse" if revision >= "2025-11-25" else "JSONRPCError"
            wire: Json = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32600.0, "message": ""}}
            code = _read(revision, error, wire).error.code
            assert (code, type(code)) == (-32600, int)
            for wrong in (True, "1", 1.5, None):
                wire["error"]["code"] = wrong
                assert [problem.pointer for problem in _errors(revision, error, wire)] == [
                    "/error/code"
                ]


@pytest.mark.parametrize("revision", REVISIONS)
def test_numbers_keep_their_spelling(revision: str) -> None:
    for written in ('{"priority":1}', '{"priority":1.0}', '{"priority":0.5}'):
        name = "Annotations" if revision != "2024-11-05" else None
        if name is not None:
            assert _models(revision).Annotations.from_json(written).to_json().decode() == written
    params = _models(revision).ProgressNotificationParams
    for written in ('{"progress":3,"progressToken":0}', '{"progress":3.0,"progressToken":""}'):
        assert json.loads(params.from_json(written).to_json()) == json.loads(written)


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


def test_a_result_type_is_written_unasked_and_required_on_the_wire() -> None:
    result = _models("2026-07-28").CallToolResult
    assert result(content=[]).to_wire() == {"content": [], "resultType": "complete"}
    with pytest.raises(ValidationError):
        result.from_wire({"content": []})


def test_known_values_of_an_open_string_are_told_and_others_are_taken() -> None:
    models = _models("2025-11-25")
    source = _source("v2025_11_25")
    assert "Known values: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`." in source
    content = models.TextContent(text="")
    result = models.CreateMessageResult(role="assistant", model="", content=content)
    result.stop_reason = "vendorReason"
    assert result.to_wire()["stopReason"] == "vendorReason"
