"""The target `pydantic`: the accepted values, and the options of its models."""

import re
from functools import cache
from math import inf, nan
from typing import Any, get_args

import pytest
from mcp_protogen.pipeline.target import LAYERS, TargetOptions
from pydantic import TypeAdapter, ValidationError
from support import tables
from support.targets import differential
from support.targets.target_modules import folder, module

pytestmark = pytest.mark.long

REVISION = "2025-11-25"
OPTIONS = TargetOptions("pydantic", LAYERS)


@cache
def _adapter(revision: str, name: str) -> TypeAdapter[Any]:
    return TypeAdapter(getattr(module(OPTIONS, revision), name))


def _accepts(subject: str, value: Any) -> bool:
    try:
        _adapter(*subject.split()).validate_python(value, strict=True)
    except ValidationError:
        return False
    return True


def test_models_accept_what_the_schema_accepts_but_for_known_differences() -> None:
    differential.require_agreement(
        _accepts,
        (
            differential.ANY_JSON_SCHEMA,
            differential.NULL_FOR_OPTIONAL,
            differential.EXACT_INTEGERS,
        ),
    )


def _text(**members: Any) -> str:
    options = TargetOptions("pydantic", **members)
    return (folder(options, (REVISION,)) / "v2025_11_25.py").read_text()


def test_required_members_have_no_default_and_optional_are_none() -> None:
    models = module(OPTIONS, REVISION)
    with pytest.raises(ValidationError):
        models.TextContent(text="no type")
    read = models.TextContent.model_validate({"type": "text", "text": "a", "own": 1})
    assert (read.annotations, read.model_extra) == (None, {"own": 1})
    written = read.model_dump(by_alias=True, exclude_unset=True)
    assert written == {"type": "text", "text": "a", "own": 1}


def test_members_are_given_by_either_name_and_written_by_that_of_the_wire() -> None:
    models = module(OPTIONS, REVISION)
    tool = models.Tool(name="a", input_schema={"type": "object"})
    assert tool == models.Tool(name="a", inputSchema={"type": "object"})
    assert tool.model_dump(by_alias=True, exclude_none=True)["inputSchema"] == {"type": "object"}


def test_wire_has_no_python_names() -> None:
    models = module(OPTIONS, REVISION)
    tool = {"name": "a", "input_schema": {"type": "object"}}
    for read in (models.Tool.model_validate, TypeAdapter(models.Tool).validate_python):
        with pytest.raises(ValidationError, match="inputSchema"):
            read(tool)
    assert models.Tool(**tool).input_schema == {"type": "object"}
    read = models.TextContent.model_validate_json('{"type": "text", "text": "a", "meta": 1}')
    assert (read.meta, read.model_extra) == (None, {"meta": 1})
    with pytest.raises(ValidationError, match="inputSchema"):
        models.ListToolsResult.model_validate({"tools": [tool]})


def test_numbers_that_json_does_not_have_are_refused() -> None:
    models = module(OPTIONS, REVISION)
    for value in (inf, nan, "1"):
        with tables.case(value), pytest.raises(ValidationError):
            models.Annotations(priority=value)
        with tables.case(value), pytest.raises(ValidationError):
            models.ProgressNotificationParams(progressToken=1, progress=value)


def test_models_extend_a_class_of_the_project() -> None:
    text = _text(base_class="own.wire:Base")
    assert "from own.wire import Base\n" in text
    assert "class Tool(Base):" in text
    assert "WireModel" not in text


def test_extra_members_are_ignored_where_a_type_is_not_open() -> None:
    text = _text(extra="ignore")
    first = r"\(WireModel\):\n(?: .*\n|\n)*?    model_config = ConfigDict\(extra=\"(\w+)\"\)"
    for name, extra in (("Tool", "ignore"), ("Result", "allow")):
        assert re.findall(f"class {name}{first}", text) == [extra]


def test_an_alias_is_a_class_around_a_value_but_a_union_of_results_is_not() -> None:
    models = module(TargetOptions("pydantic", root_models=True), REVISION)
    assert models.Cursor.model_validate("a").root == "a"
    with pytest.raises(ValidationError):
        models.Cursor.model_validate(1)
    block = models.ContentBlock.model_validate({"type": "text", "text": "a"})
    assert type(block.root) is models.TextContent
    assert get_args(models.AnyCallToolResult) == (models.CallToolResult, models.CreateTaskResult)


def test_tables_have_what_each_role_sends_and_gets() -> None:
    made = module(OPTIONS, REVISION)
    assert made.CLIENT_REQUESTS["tools/call"] is made.CallToolRequest
    assert made.SERVER_RESULTS["tools/call"] == made.AnyCallToolResult
    assert "tools/call" not in made.SERVER_REQUESTS
    assert made.CLIENT_RESULTS["roots/list"] is made.ListRootsResult
    assert made.METHODS["ping"].senders == {"client", "server"}
    assert not made.METHODS["ping"].params_required
    assert made.ERRORS[-32042].data is made.URLElicitationRequiredErrorErrorData
    assert ("sampling", "tools") in {capability.path for capability in made.CLIENT_CAPABILITIES}
    needed = {
        (requirement.path, requirement.level)
        for requirement in made.REQUIREMENTS["resources/subscribe"]
    }
    assert needed == {(("resources", "subscribe"), "MUST")}
    for name in ("CLIENT_REQUESTS", "METHODS", "REQUIREMENTS"):
        with pytest.raises(TypeError):
            getattr(made, name)["own"] = None


def test_tables_without_models_have_the_names_of_types() -> None:
    made = module(TargetOptions("pydantic", ("methods",)), REVISION)
    whole = module(OPTIONS, REVISION)
    for method, info in whole.METHODS.items():
        named = made.METHODS[method]
        assert named.message == info.message.__name__
        assert len(named.results) == len(info.results)
    assert made.SERVER_RESULTS["tools/call"] == "AnyCallToolResult"
