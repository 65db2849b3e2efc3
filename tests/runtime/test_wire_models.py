"""Models: values from the wire, values from Python, and their JSON."""

import json
import pickle
import sys
from copy import deepcopy
from types import ModuleType
from typing import Annotated, Any, Literal, Self

import pytest
from mcp_protogen.runtime.core.models import (
    Integer,
    Nullable,
    OpenUnion,
    UnknownContent,
    WireModel,
)
from mcp_protogen.runtime.core.models.added_members import narrow_to
from mcp_protogen.runtime.core.models.base import has_failed, text_of
from mcp_revisions.v2025_11_25 import models as m
from mcp_revisions.v2026_07_28 import models as stateless
from pydantic import BaseModel, Field, ValidationError, model_validator
from support.json_types import JsonObject
from support.tables import case

TEXT = {"type": "text", "text": "a"}
TASK: JsonObject = {
    "taskId": "1",
    "status": "working",
    "ttl": None,
    "createdAt": "2025-11-25T00:00:00Z",
    "lastUpdatedAt": "2025-11-25T00:00:00Z",
}


class Open(WireModel):
    expires: Annotated[Integer | None, Nullable] = None
    extra: Any = None
    kind: str
    size: Annotated[Integer | None, Field(ge=0)] = None


def write_both_ways(model: WireModel) -> Any:
    """Return the JSON of a model, after checking that both ways of writing agree."""
    wire = json.loads(model.to_json())
    assert model.to_wire() == wire
    assert json.loads(model.model_dump_json()) == wire
    assert model.model_dump() == wire
    return wire


class TestConstants:
    def test_are_filled_in_for_python_callers_and_written(self) -> None:
        assert write_both_ways(m.TextContent(text="a")) == TEXT

    def test_are_required_from_the_wire(self) -> None:
        with pytest.raises(ValidationError, match="type\n  Field required"):
            m.TextContent.from_wire({"text": "a"})
        with pytest.raises(ValidationError):
            m.TextContent.from_json(b'{"text": "a"}')

    def test_have_one_value(self) -> None:
        with pytest.raises(ValidationError):
            m.TextContent.from_wire({"text": "a", "type": "image"})

    def test_may_be_given_by_either_name_without_leaving_a_second_member(self) -> None:
        for name in ("result_type", "resultType"):
            members: JsonObject = {name: "input_required", "request_state": "s"}
            result = stateless.InputRequiredResult(**members)
            assert write_both_ways(result) == {"resultType": "input_required", "requestState": "s"}

    def test_survive_unchecked_construction(self) -> None:
        assert write_both_ways(m.TextContent.model_construct(text="a")) == TEXT
        assert write_both_ways(m.TextContent.model_construct({"text"}, text="a")) == TEXT

    def test_an_optional_literal_is_not_a_constant(self) -> None:
        schema: JsonObject = {"type": "object", "properties": {}}
        params: JsonObject = {"message": "m", "requestedSchema": schema}
        assert write_both_ways(m.ElicitRequestFormParams.from_wire(params)) == params


class TestNullAndAbsent:
    """Three kinds of optional member: not nullable, nullable, and of any type."""

    def test_null_is_refused_where_the_schema_has_no_null(self) -> None:
        for member in ["isError", "structuredContent", "_meta"]:
            with case(member), pytest.raises(ValidationError, match=member):
                m.CallToolResult.from_wire({"content": [], member: None})

    def test_none_from_python_means_absent_there(self) -> None:
        assert write_both_ways(m.CallToolResult(content=[], is_error=None)) == {"content": []}
        by_wire_name: JsonObject = {"isError": None}
        assert write_both_ways(m.CallToolResult(content=[], **by_wire_name)) == {"content": []}
        assert write_both_ways(m.CallToolResult.model_construct(content=[], is_error=None)) == {
            "content": []
        }

    def test_none_assigned_later_removes_the_member(self) -> None:
        result = m.CallToolResult(content=[], is_error=True)
        result.is_error = None
        assert write_both_ways(result) == {"content": []}
        assert result.is_error is None
        assert "is_error" not in result.model_fields_set

    def test_none_from_a_copy_removes_the_member(self) -> None:
        result = m.CallToolResult(content=[], is_error=True)
        assert write_both_ways(result.model_copy(update={"is_error": None})) == {"content": []}

    def test_null_and_absent_stay_apart_where_null_is_allowed(self) -> None:
        for member in ["expires", "extra"]:
            with case(member):
                null: JsonObject = {"kind": "x", member: None}
                assert write_both_ways(Open.from_wire({"kind": "x"})) == {"kind": "x"}
                assert write_both_ways(Open.from_wire(null)) == null
                assert write_both_ways(Open(kind="x")) == {"kind": "x"}
                assert write_both_ways(Open(**null)) == null

    def test_members_that_are_absent_stay_so_in_a_model_of_the_base_class(self) -> None:
        class Extended(Open):
            later: int | None = None

        wire: JsonObject = {"kind": "x", "later": 1}
        narrowed = narrow_to(Extended.from_wire(wire), (Open,))
        assert type(narrowed) is Open
        assert write_both_ways(narrowed) == wire

    def test_a_required_member_may_be_nullable(self) -> None:
        assert write_both_ways(m.Task.from_wire(TASK)) == TASK
        with pytest.raises(ValidationError, match="ttl"):
            m.Task.from_wire({name: value for name, value in TASK.items() if name != "ttl"})

    @pytest.mark.shows("S2-33")
    def test_undeclared_members_keep_null(self) -> None:
        wire: JsonObject = {"content": [], "later": None, "deep": {"a": [None]}}
        assert write_both_ways(m.CallToolResult.from_wire(wire)) == wire

    def test_members_inside_a_foreign_model_are_left_out_too(self) -> None:
        class Record(BaseModel):
            result: m.CallToolResult

        record = Record(result=m.CallToolResult(content=[m.TextContent(text="a")]))
        assert json.loads(record.model_dump_json()) == {"result": {"content": [TEXT]}}

    def test_a_dump_may_ask_for_unset_members(self) -> None:
        assert m.Annotations(priority=1).model_dump(exclude_unset=False, by_alias=False) == {
            "priority": 1
        }


class TestNames:
    def test_python_may_use_both(self) -> None:
        assert m.CallToolResult(content=[], is_error=True).is_error is True
        by_wire_name: JsonObject = {"isError": True}
        assert m.CallToolResult(content=[], **by_wire_name).is_error is True

    def test_the_wire_knows_wire_names_only(self) -> None:
        wire: JsonObject = {"content": [], "is_error": True}
        for result in (
            m.CallToolResult.from_wire(wire),
            m.CallToolResult.model_validate(wire),
            m.CallToolResult.from_json(json.dumps(wire)),
        ):
            assert result.is_error is None
            assert write_both_ways(result) == wire

    def test_members_that_shadow_methods_are_only_data(self) -> None:
        wire: JsonObject = {
            "content": [],
            "to_wire": 1,
            "self": 2,
            "__class__": 3,
            "model_config": 4,
        }
        assert write_both_ways(m.CallToolResult.from_wire(wire)) == wire


class TestStrictness:
    def test_a_boolean_is_a_boolean(self) -> None:
        for value in ["true", 1, 0]:
            with case(value), pytest.raises(ValidationError):
                m.CallToolResult.from_wire({"content": [], "isError": value})

    def test_a_string_is_a_string(self) -> None:
        for value in [1, True, b"x", ["x"]]:
            with case(value), pytest.raises(ValidationError):
                m.CallToolRequestParams.from_wire({"name": value})

    def test_objects_are_taken_as_dictionaries_and_as_instances(self) -> None:
        for block in (TEXT, m.TextContent(text="a")):
            assert write_both_ways(m.CallToolResult(content=[block])) == {  # type: ignore[list-item]
                "content": [TEXT]
            }

    def test_assignment_is_checked(self) -> None:
        result = m.CallToolResult(content=[])
        with pytest.raises(ValidationError):
            result.is_error = "yes"  # type: ignore[assignment]
        result.is_error = False
        assert write_both_ways(result) == {"content": [], "isError": False}

    def test_bounds_are_checked(self) -> None:
        assert m.Annotations.from_wire({"priority": 1}).priority == 1
        with pytest.raises(ValidationError, match="less than or equal to 1"):
            m.Annotations.from_wire({"priority": 1.5})


class TestIntegerAndNumber:
    def test_an_integer_stays_what_it_is(self) -> None:
        for value in [0, -1, 10**30]:
            assert m.TaskMetadata.from_wire({"ttl": value}).ttl == value

    def test_an_integer_may_be_written_with_a_fraction_of_zero(self) -> None:
        for text in [b"1.0", b"1e0", b"10.0e-1"]:
            with case(text):
                metadata = m.TaskMetadata.from_json(b'{"ttl": %b}' % text)
                assert metadata.ttl == 1
                assert type(metadata.ttl) is int
                assert metadata.to_json() == b'{"ttl":1}'

    def test_integer_field_refuses_other_values(self) -> None:
        for value in [1.5, True, False, "1", float("inf"), float("nan"), [1]]:
            with case(value):
                with pytest.raises(ValidationError) as caught:
                    m.TaskMetadata.from_wire({"ttl": value})
                assert [line["msg"] for line in caught.value.errors()] == [
                    "Input should be a valid integer"
                ]

    def test_a_number_keeps_its_spelling(self) -> None:
        for value in [3, 2.5, -0.25, 3.0, 10**30]:
            with case(value):
                params = m.ProgressNotificationParams.from_wire(
                    {"progress": value, "progressToken": "t"}
                )
                assert params.progress == value
                assert type(params.progress) is type(value)
                assert json.loads(params.to_json())["progress"] == value

    def test_number_field_refuses_other_values(self) -> None:
        for value in [True, "1", float("inf"), float("-inf"), float("nan")]:
            with case(value):
                with pytest.raises(ValidationError) as caught:
                    m.ProgressNotificationParams.from_wire(
                        {"progress": value, "progressToken": "t"}
                    )
                assert [line["msg"] for line in caught.value.errors()] == [
                    "Input should be a valid number"
                ]

    def test_bounds_apply_to_both(self) -> None:
        assert Open.from_wire({"kind": "x", "size": 0.0}).size == 0
        with pytest.raises(ValidationError, match="greater than or equal to 0"):
            Open.from_wire({"kind": "x", "size": -1})

    def test_arms_of_a_union_of_scalars_are_kept_apart(self) -> None:
        content: JsonObject = {"i": 3, "f": 2.5, "b": True, "s": "x", "l": ["x"]}
        result = m.ElicitResult.from_wire({"action": "accept", "content": content})
        assert write_both_ways(result)["content"] == content
        assert write_both_ways(result)["content"]["b"] is True


class TestOpenUnion:
    def test_a_known_tag_gives_its_arm(self) -> None:
        link = {"type": "resource_link", "name": "n", "uri": "u", "size": 1}
        result = m.CallToolResult.from_wire({"content": [TEXT, link]})
        assert [type(block) for block in result.content] == [m.TextContent, m.ResourceLink]
        assert write_both_ways(result) == {"content": [TEXT, link]}

    @pytest.mark.shows("S2-26")
    def test_an_unknown_tag_survives_whole(self) -> None:
        block = {"type": "hologram", "depth": 3, "parts": [{"a": None}], "text": 1}
        result = m.CallToolResult.from_wire({"content": [block]})
        assert type(result.content[0]) is UnknownContent
        assert write_both_ways(result) == {"content": [block]}

    def test_takes_instances_and_writes_them_as_what_they_are(self) -> None:
        class Signed(m.TextContent):
            signature: str

        content: list[m.ContentBlock] = [
            m.TextContent(text="a"),
            UnknownContent.from_wire({"type": "hologram", "depth": None}),
            Signed(text="b", signature="s"),
        ]
        assert write_both_ways(m.CallToolResult(content=content)) == {
            "content": [
                TEXT,
                {"type": "hologram", "depth": None},
                {"type": "text", "text": "b", "signature": "s"},
            ]
        }

    def test_an_instance_of_a_class_never_used_alone_can_be_written(self) -> None:
        class Caption(m.TextContent):
            language: str

        class Captions(WireModel):
            captions: list[Caption]

        captions = Captions.from_wire({"captions": [{**TEXT, "language": "fr"}]}).captions
        assert write_both_ways(m.CallToolResult(content=list(captions))) == {
            "content": [{**TEXT, "language": "fr"}]
        }

    def test_works_in_a_union_with_a_list(self) -> None:
        for content in (TEXT, [TEXT, {"type": "hologram"}]):
            wire = {"content": content, "role": "user"}
            assert write_both_ways(m.SamplingMessage.from_wire(wire)) == wire

    def test_needs_a_fallback(self) -> None:
        class Closed(WireModel):
            block: Annotated[m.TextContent | m.ImageContent, OpenUnion("type")]

        with pytest.raises(TypeError, match="open union"):
            Closed.from_wire({})


class TestAnyOfRequired:
    def test_refuses_an_object_without_any(self) -> None:
        with pytest.raises(ValidationError, match="inputRequests, requestState"):
            stateless.InputRequiredResult.from_wire({"resultType": "input_required"})
        with pytest.raises(ValidationError, match="inputRequests, requestState"):
            stateless.InputRequiredResult()
        with pytest.raises(ValidationError, match="inputRequests, requestState"):
            stateless.InputRequiredResult(request_state=None)

    def test_takes_an_object_with_one(self) -> None:
        values: list[JsonObject] = [{"inputRequests": {}}, {"requestState": ""}]
        for member in values:
            with case(member):
                wire = {"resultType": "input_required", **member}
                assert write_both_ways(stateless.InputRequiredResult.from_wire(wire)) == wire

    def test_any_of_required_is_checked_on_assignment(self) -> None:
        result = stateless.InputRequiredResult(request_state="a")
        result.request_state = "b"
        assert write_both_ways(result) == {"resultType": "input_required", "requestState": "b"}


class TestInstances:
    def test_can_be_copied_and_pickled(self) -> None:
        result = m.CallToolResult.from_wire({"content": [TEXT], "later": None})
        for copy in (deepcopy(result), pickle.loads(pickle.dumps(result))):
            assert copy == result
            assert write_both_ways(copy) == write_both_ways(result)

    def test_a_subclass_has_rules_of_its_own(self) -> None:
        class Sized(m.TextContent):
            size: int | None = None
            unit: Literal["byte"] = "byte"

        m.TextContent(text="a")
        assert write_both_ways(Sized(text="a", size=None)) == {**TEXT, "unit": "byte"}

    def test_the_json_schema_of_a_subclass_has_its_usual_values(self) -> None:
        class Marked(m.TextContent):
            flag: bool = Field(True, alias="isFlag")
            names: list[str] = Field(["a"], alias="ofNames")
            other: int | None = Field(None, alias="orOther")

        members = Marked.model_json_schema()["properties"]
        usual = [members[name]["default"] for name in ("isFlag", "ofNames", "orOther")]
        assert usual == [True, ["a"], None]
        marked = Marked.from_wire({**TEXT, "flag": "odd"})
        assert (marked.flag, write_both_ways(marked)) == (True, {**TEXT, "flag": "odd"})

    def test_classes_may_refer_to_themselves(self) -> None:
        tree: JsonObject = {"children": [{"children": []}]}
        assert write_both_ways(Tree.from_wire(tree)) == tree
        with pytest.raises(ValidationError):
            Tree.from_wire({"children": [{"children": None}]})
        assert write_both_ways(Tree(children=[Tree(children=None)])) == {"children": [{}]}

    def test_validators_of_a_subclass_leave_the_rules_in_force(self) -> None:
        class Checked(m.CallToolResult):
            kind: Literal["checked"] = "checked"

            @model_validator(mode="before")
            @classmethod
            def before(cls, value: object) -> Any:
                return value

            @model_validator(mode="after")
            def after(self) -> Self:
                return self

        assert write_both_ways(Checked(content=[], is_error=None)) == {
            "content": [],
            "kind": "checked",
        }
        for member in ("kind", "isError"):
            wire: JsonObject = {"content": [], "kind": "checked", "isError": True}
            wire[member] = None
            with pytest.raises(ValidationError):
                Checked.from_wire(wire)

    def test_a_wire_name_is_no_attribute(self) -> None:
        result = m.CallToolResult(content=[], is_error=True)
        with pytest.raises(AttributeError, match="isError is called is_error in Python"):
            result.isError = None  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue]
        assert write_both_ways(result) == {"content": [], "isError": True}

    def test_a_copy_takes_both_names(self) -> None:
        result = m.CallToolResult(content=[], is_error=True)
        for name in ("is_error", "isError"):
            assert write_both_ways(result.model_copy(update={name: False})) == {
                "content": [],
                "isError": False,
            }


class Tree(WireModel):
    children: list["Tree"] | None = None
    size: Annotated[int | None, Field(ge=0)] = None


def test_the_first_of_a_long_line_of_classes_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    head = f"from {WireModel.__module__} import WireModel\nclass Link0(WireModel):\n    x: str\n"
    links = [
        f"class Link{number}(WireModel):\n    next: 'Link{number - 1}'\n"
        for number in range(1, 150)
    ]
    wire: Any = {"x": "end"}
    for _ in links:
        wire = {"next": wire}
    apart = f"from {WireModel.__module__} import WireModel\nfrom line import Link148\n{links[-1]}"
    for case_, sources in (
        ("in one module", {"line": head + "".join(links)}),
        ("in two", {"line": head + "".join(links[:-1]), "end": apart}),
    ):
        with case(case_):
            for name, source in sources.items():
                module = ModuleType(name)
                monkeypatch.setitem(sys.modules, name, module)
                exec(source, vars(module))
            last: type[WireModel] = vars(sys.modules[[*sources][-1]])["Link149"]
            assert last.from_wire(wire).to_wire() == wire


def test_a_large_ring_of_classes_reads_as_a_small_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 300
    source = f"from typing import *\nfrom {WireModel.__module__} import WireModel\n"
    source += "from pydantic import Field\n"
    for number in range(size):
        following = [f"Link{(number + step) % size}" for step in (1, 2)]
        source += f"class Link{number}(WireModel):\n"
        source += f"    kind: Literal['{number}'] = '{number}'\n    note: str | None = None\n"
        source += (
            f"    next: Annotated['{following[0]} | {following[1]}', Field(discriminator='kind')]"
        )
        source += " | None = None\n"
    module = ModuleType("ring")
    monkeypatch.setitem(sys.modules, "ring", module)
    exec(source, vars(module))
    first: type[WireModel] = vars(module)["Link0"]

    def nest(last: JsonObject) -> JsonObject:
        for number in range(78, -1, -2):
            last = {"kind": str(number), "next": last}
        return last

    wire = nest({"kind": "80", "note": "end", "more": [None]})
    for read in (first.from_wire(wire), first.from_json(json.dumps(wire))):
        assert read.to_wire() == json.loads(read.to_json()) == wire
        assert read.model_copy(deep=True) == read
    wrong: tuple[tuple[JsonObject, str], ...] = (
        ({"kind": "80", "note": 1}, "string_type"),
        ({"kind": "81"}, "union_tag_invalid"),
    )
    for last, kind in wrong:
        with case(kind), pytest.raises(ValidationError) as caught:
            first.from_wire(nest(last))
        (error,) = caught.value.errors()
        assert (error["type"], error["loc"].count("next")) == (kind, 40)


def test_a_result_of_a_tool_and_its_json_say_the_same() -> None:
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    for failed in (True, False):
        wire: JsonObject = {"content": [TEXT, image, TEXT], "isError": failed}
        for result in (wire, m.CallToolResult.from_wire(wire)):
            assert (has_failed(result), text_of(result)) == (failed, "a\na")
    assert (has_failed({}), text_of({})) == (False, "")
