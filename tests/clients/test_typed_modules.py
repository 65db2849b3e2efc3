"""Generated modules: their Python, and their safety against hostile servers."""

import ast
import inspect
import re
from typing import Any

import black
import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.emit.formatting import HEAD
from mcp_protogen.servers.clients.contract import DEEPEST, MOST_ITEMS, read_contract
from mcp_revisions.v2026_07_28.methods import TABLE
from support.tables import case
from support.typed_clients.contracts import (
    ADD,
    ASK,
    ECHO,
    FORECAST,
    FREE,
    OBJECT,
    PLACE,
    TREE,
    USUAL,
    Json,
    contract_of,
    module_of,
    problems_of,
    text_of,
    tool,
    usual_module,
)

TEXT: Json = {"type": "string"}
COUNT: Json = {"type": "integer"}


def signature(module: Any, method: str) -> str:
    return str(inspect.signature(getattr(module.WeatherClient, method))).replace(
        "weather_client.", ""
    )


def test_a_method_has_the_arguments_of_its_tool_and_returns_its_model() -> None:
    assert signature(usual_module(), "get_forecast") == (
        "(self, *, city: str, days: int = 3,"
        " units: Optional[Literal['celsius', 'fahrenheit']] = None,"
        " near: GetForecastNear | None = None,"
        " nick: str | None | mcp_protogen.runtime.rpc.peer.Omitted = OMITTED,"
        " class_: str | None = None) -> Forecast"
    )


def test_results_without_a_schema_are_the_content_and_wrapped_ones_are_unwrapped() -> None:
    module = usual_module()
    assert signature(module, "echo").endswith("models.tools_results.CallToolResult")
    assert signature(module, "add") == "(self, *, a: int, b: int) -> int"
    assert signature(module, "free") == (
        "(self, arguments: dict[str, typing.Any] | None = None)"
        " -> mcp_revisions.v2026_07_28.models.tools_results.CallToolResult"
    )


def test_result_is_unwrapped_if_it_is_the_only_member_and_required() -> None:
    for members, required, unwrapped in (
        ({"result": COUNT}, ["result"], True),
        ({"result": COUNT}, [], False),
        ({"result": COUNT, "unit": TEXT}, ["result"], False),
        ({"sum": COUNT}, ["sum"], False),
    ):
        with case((members, required)):
            returns = {"type": "object", "properties": members, "required": required}
            method = signature(module_of(tool(returns=returns)), "look")
            assert method.endswith("-> int") is unwrapped


def test_both_classes_have_the_same_methods() -> None:
    module = usual_module()
    for name in ("get_forecast", "add", "echo", "free", "grow"):
        with case(name):
            waiting = inspect.signature(getattr(module.SyncWeatherClient, name))
            assert waiting == inspect.signature(getattr(module.WeatherClient, name))


def test_docstrings_have_what_the_server_says() -> None:
    doc = inspect.getdoc(usual_module().WeatherClient.get_forecast)
    assert doc == (
        "Forecast.\n\nGet the forecast for a city.\n\n:param city: Where.\n\n"
        "The server says: Reads only."
    )


def test_a_recursive_type_that_arguments_and_results_share_is_one_model() -> None:
    module = module_of(TREE)
    assert signature(module, "grow") == "(self, *, root: Node) -> GrowResult"
    leaf = module.Node(name="leaf")
    assert module.Node(name="root", inner=[leaf]).to_wire() == {
        "name": "root",
        "inner": [{"name": "leaf"}],
    }


def test_models_check_exclusive_bounds_beside_others() -> None:
    members: Json = {
        "above": {"type": "number", "exclusiveMinimum": 0},
        "below": {**COUNT, "maximum": 9, "exclusiveMaximum": 5},
        "old": {**COUNT, "minimum": 0, "exclusiveMinimum": True},
    }
    first, second = (
        {"type": "object", "properties": {"both": {**COUNT, "exclusiveMinimum": least}, **more}}
        for least, more in ((1, {"some": {"enum": [0, 1]}}), (3, {"some": members["above"]}))
    )
    looked = tool(returns={"allOf": [{"properties": members}, first, second]})
    model = module_of(looked).LookResult
    right: Json = {"above": 0.5, "below": 4, "both": 4, "some": 1, "old": 0}
    assert model.from_wire(right).to_wire() == right
    for name, wrong in {"above": 0, "below": 5, "both": 3, "some": 0, "old": -1}.items():
        with case(name), pytest.raises(ValueError, match=name):
            model.from_wire({name: wrong})
    # In draft 4 this is a boolean, which no later one knows.
    assert problems_of(looked) == ["exclusiveMinimum is not checked by the models: look"]


def test_definitions_of_one_name_that_differ_are_two_models() -> None:
    def of(kind: str) -> Json:
        members = {"x": {"type": kind}}
        return {"$defs": {"Point": {"type": "object", "properties": members, "required": ["x"]}}}

    point = {"at": {"$ref": "#/$defs/Point"}}
    module = module_of(
        tool("one", properties=point, **of("integer")),
        tool("two", properties=point, **of("string")),
    )
    assert module.OnePoint(x=1).to_wire() == {"x": 1}
    assert module.TwoPoint(x="1").to_wire() == {"x": "1"}


def test_names_that_meet_are_told_apart_and_said() -> None:
    tools = (
        tool("get-x"),
        tool("getX"),
        tool("get_x"),
        tool("list"),
        tool("connect"),
        tool("天气"),
    )
    names: list[str] = [*vars(module_of(*tools).WeatherClient)]
    methods = {name for name in names if not name.startswith("_")}
    assert methods - {"CONNECT"} == {"get_x", "get_x_2", "get_x_3", "list_", "connect_", "tool"}
    assert problems_of(*tools) == [
        "tools 'get-x' and 'getX' would both be called get_x",
        "tools 'get-x' and 'get_x' would both be called get_x",
    ]
    assert hasattr(module_of(*tools, methods={"天气": "weather"}).WeatherClient, "weather")


def test_whatever_a_server_says_stays_text() -> None:
    source = text_of(
        *(schema for text in HOSTILE for schema in hostile(text)),
        prompts=[
            {"name": text, "title": text, "description": text, "arguments": [{"name": text}]}
            for text in HOSTILE
        ],
        templates=[
            {"name": text, "description": text, "uriTemplate": f"x:{text}{{{text}}}{{?y}}"}
            for text in HOSTILE
        ],
    )
    tree = ast.parse(source)
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert calls == {"Field", "self._call", "self._result", "self._beside"}
    assert {type(node) for node in tree.body} == {ast.Expr, ast.ImportFrom, ast.ClassDef}
    assert not re.search("[\x00-\x09\x0b-\x1f\u2028\u202e]", source)
    exec(compile(source, "hostile_client.py", "exec"), {"__name__": "hostile_client"})


HOSTILE = (
    '"""\nimport os; os.abort()\n"""',
    "'''; __import__('os').abort() #",
    "\\",
    "x\\\nimport os",
    "{{ 7 * 7 }}{% raw %}",
    '"); raise SystemExit(("',
    "\u202eevil\u2028\x00\x1b[31m",
    "a" * 500,
    "def",
    "__class__",
    "model_config",
    "self",
)


def hostile(text: str) -> tuple[Json, ...]:
    """Return tools with a text in every place for one."""
    inner: Json = {
        "type": "object",
        "title": text,
        "description": text,
        "properties": {text: {"const": text}, "b": {"type": "string", "pattern": text}},
        "required": [text],
        "customBasePath": text,
        "x-python-type": text,
    }
    schema: Json = {
        "type": "object",
        "title": text,
        "description": text,
        "$defs": {text: inner},
        "properties": {
            text: {"enum": [text, "x"], "default": text, "description": text},
            "inner": inner,
            "named": {"$ref": f"#/$defs/{text.replace('~', '~0').replace('/', '~1')}"},
            "far": {"$ref": f"http://127.0.0.1:1/{text}"},
        },
        "required": [text],
    }
    return (
        {"name": text, "title": text, "description": text, "inputSchema": schema},
        {"name": f"{text}2", "inputSchema": schema, "outputSchema": schema},
    )


def test_references_to_elsewhere_are_not_followed() -> None:
    for ref in (
        "http://127.0.0.1:1/x",
        "file:///etc/passwd",
        "other.json#/x",
        "#anchor",
        "#/no",
        "#/$defs/no",
    ):
        with case(ref):
            looked = tool(properties={"x": {"$ref": ref}}, required=["x"])
            assert signature(module_of(looked), "look").startswith("(self, *, x: Any)")
            assert problems_of(looked) == [f"the reference {ref!r} is not followed"]


def test_members_that_are_called_like_keywords_are_members() -> None:
    for name in ("const", "default", "enum", "examples", "properties"):
        with case(name):
            members = {name: {"$ref": "http://127.0.0.1:1/x"}, "size": {"type": "integer"}}
            looked = tool(properties={"at": {"type": "object", "properties": members}})
            assert problems_of(looked) == ["the reference 'http://127.0.0.1:1/x' is not followed"]
            assert module_of(looked).LookAt(size=1).to_wire() == {"size": 1}


def test_a_schema_that_is_no_type_is_any_value_and_others_stay() -> None:
    cases: tuple[Any, ...] = (
        {"$dynamicRef": "#x"},
        False,
        {"type": "x"},
        {"enum": []},
        {"anyOf": 3},
        {"allOf": [{"type": "array"}, {"type": "integer"}]},
        7,
    )
    for broken in cases:
        with case(broken):
            looked = tool(properties={"x": broken, "y": {"type": "string"}}, required=["x", "y"])
            assert signature(module_of(looked), "look").startswith("(self, *, x: Any, y: str)")


def test_schema_with_an_empty_list_of_types_is_any_value() -> None:
    empty: Json = {"type": []}
    members = {
        "alone": empty,
        "items": {"type": "array", "items": empty},
        "arm": {"anyOf": [{"type": "string"}, empty]},
        "values": {"type": "object", "additionalProperties": empty},
        "inside": {"type": "object", "properties": {"x": empty}},
    }
    rows = {"type": "object", "properties": {"rows": {"type": "array", "items": empty}}}
    module = module_of(
        tool("take", properties=members),
        tool("give", returns=rows),
        tool("list_all", returns={"type": "array", "items": empty}),
        tool("other", properties={"text": {"type": "string"}}),
    )
    for name in members:
        with case(name):
            found = inspect.signature(module.WeatherClient.take).parameters[name]
            assert "Any" in str(found.annotation) and "dict" not in str(found.annotation)
    assert module.GiveResult.from_wire({"rows": [1, "x"]}).to_wire() == {"rows": [1, "x"]}
    assert signature(module, "list_all") == "(self) -> Any"
    assert "text: str | None = None" in signature(module, "other")


UNIONS: dict[str, tuple[Json, str]] = {
    "anyOf": (
        {"anyOf": [{"properties": {"a": TEXT}, "required": ["a"]}, {"properties": {"b": COUNT}}]},
        "a: str | None = None, b: int | None = None",
    ),
    "oneOf with a constant": (
        {
            "oneOf": [
                {"properties": {"op": {"const": "add"}, "x": TEXT}, "required": ["op", "x"]},
                {"properties": {"op": {"const": "drop"}, "x": COUNT}, "required": ["op"]},
                {"type": "null"},
            ]
        },
        "op: Literal['add', 'drop'], x: str | int | None = None",
    ),
    "members of the root first": (
        {
            "properties": {"op": TEXT, "v": {}},
            "anyOf": [{"properties": {"op": {"const": "a"}, "v": COUNT}}, {"required": ["op"]}],
        },
        "op: str | None = None, v: int | None = None",
    ),
    "references": (
        {"oneOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"properties": {"a": COUNT}}}},
        "a: int | None = None",
    ),
    "conditions": (
        {
            "properties": {"k": TEXT},
            "if": {"properties": {"k": {"const": "a"}}},
            "then": {"properties": {"size": {**COUNT, "default": 3}}},
            "dependentSchemas": {"k": {"properties": {"b": TEXT}, "required": ["b"]}},
        },
        "k: str | None = None, size: int | None = None, b: str | None = None",
    ),
    "a loop": (
        {"anyOf": [{"$ref": "#"}, {"properties": {"a": COUNT}}]},
        "a: int | None = None",
    ),
}


def test_arguments_of_alternatives_and_conditions_are_parameters() -> None:
    for name, (schema, parameters) in UNIONS.items():
        with case(name):
            module = module_of({"name": "call", "inputSchema": {"type": "object", **schema}})
            assert signature(module, "call").startswith(f"(self, *, {parameters}) -> ")
    free: Json = {"anyOf": [{"additionalProperties": COUNT}, {"additionalProperties": TEXT}]}
    module = module_of({"name": "call", "inputSchema": free})
    assert signature(module, "call").startswith("(self, arguments: dict[str, typing.Any] | None")


def test_schema_that_is_too_large_is_a_dictionary_and_others_stay() -> None:
    for large in (
        {"properties": {f"m{number}": TEXT for number in range(20_000)}},
        {"properties": {"a": {"enum": [*map(str, range(20_000))]}}},
        {"properties": {"a": {"anyOf": [{"const": [number]} for number in range(501)]}}},
        {"$defs": {f"d{number}": {"properties": {"x": TEXT}} for number in range(2_000)}},
    ):
        with case([*large]):
            schema: Json = {"type": "object", **large}
            tools: list[Json] = [
                {"name": "large", "inputSchema": schema, "outputSchema": schema},
                tool("small", properties={"text": TEXT}),
            ]
            module = module_of(*tools)
            assert signature(module, "large") == (
                "(self, arguments: dict[str, typing.Any] | None = None) -> dict[str, typing.Any]"
            )
            assert "text: str | None = None" in signature(module, "small")
            (said,) = problems_of(*tools)
            assert said.endswith("has more than 5,000 values or 500 alternatives: large")


def test_references_by_address_and_anchor_lead_to_models() -> None:
    schema: Json = {
        "$id": "https://x.example/a/t.json",
        "type": "object",
        "properties": {
            "whole": {"$ref": "https://x.example/a/t.json#/$defs/Place"},
            "relative": {"$ref": "t.json#/$defs/Place"},
            "anchor": {"$ref": "#place"},
            "escaped": {"$ref": "#/%24defs/Place"},
            "other": {"$ref": "parts/n.json"},
        },
        "$defs": {
            "Place": {"$anchor": "place", "type": "object", "properties": {"x": COUNT}},
            "N": {
                "$id": "parts/n.json",
                "type": "object",
                "properties": {"m": {"$ref": "#/$defs/M"}},
                "$defs": {"M": COUNT},
            },
        },
    }
    tools = [{"name": "look", "inputSchema": schema}]
    assert problems_of(*tools) == []
    module = module_of(*tools)
    parameters = inspect.signature(module.WeatherClient.look).parameters
    for name in ("whole", "relative", "anchor", "escaped"):
        with case(name):
            assert parameters[name].annotation == module.Place | None
    assert module.N(m=1).to_wire() == {"m": 1}
    with pytest.raises(ValueError, match="m"):
        module.N(m="x")
    alone = {"name": "look", "inputSchema": {**schema, "$id": "a/t.json"}}
    assert problems_of(alone) == [
        "the reference 'https://x.example/a/t.json#/$defs/Place' is not followed"
    ]


def test_references_into_one_member_are_one_model() -> None:
    members = {f"m{number}": {"$ref": "#/properties/place"} for number in range(9)}
    place: Json = {"type": "object", "properties": {"x": TEXT}}
    module = module_of(tool(properties={"place": place, **members}))
    parameters = inspect.signature(module.WeatherClient.look).parameters
    assert len({str(parameters[name].annotation) for name in ("place", *members)}) == 1


def test_defaults_that_are_none_of_their_type_are_left_to_the_server() -> None:
    defaults: tuple[tuple[Any, str], ...] = (
        (1, "string"),
        ("x", "integer"),
        ([], "array"),
        ("x" * 100, "string"),
    )
    for default, kind in defaults:
        with case(default):
            looked = tool(properties={"x": {"type": kind, "default": default}})
            assert " = None" in signature(module_of(looked), "look")
    listed = tool(properties={"x": {"enum": [1, 2], "default": 1.0}})
    assert " = None" in signature(module_of(listed), "look")


def test_a_contract_that_nobody_would_write_is_refused() -> None:
    deep: Json = {}
    for _ in range(DEEPEST):
        deep = {"items": deep}
    cases: dict[str, list[Any]] = {
        "has no name": [{"inputSchema": OBJECT}],
        "two tools are called": [ECHO, ECHO],
        "not an object": [{"name": "x", "inputSchema": []}],
        "levels deep": [tool(properties={"x": deep})],
        "more than": [tool(str(number)) for number in range(MOST_ITEMS + 1)],
        "is not valid JSON": [tool(description="\ud800")],
    }
    for message, tools in cases.items():
        with case(message), pytest.raises(ProblemError) as caught:
            contract_of(*tools)
        (problem,) = caught.value.problems
        assert (problem.code, message in problem.message) == ("bad-contract", True)


def test_the_same_contract_makes_the_same_bytes_in_the_layout_of_black() -> None:
    source = text_of(*USUAL, prompts=[ASK], templates=[PLACE])
    assert source == text_of(*reversed(USUAL), prompts=[ASK], templates=[PLACE])
    laid_out = source.removeprefix(HEAD)
    assert source == HEAD + laid_out
    assert laid_out == black.format_str(laid_out, mode=black.Mode(line_length=100))


def test_prompts_and_resource_templates_are_methods_of_classes_beside() -> None:
    module = module_of(ECHO, prompts=[ASK], templates=[PLACE, {**PLACE, "uriTemplate": "x:{a}"}])
    sent: list[Any] = []

    class Recorded:
        def __getattr__(self, method: str) -> Any:
            async def request(*params: Any, **options: Any) -> None:
                sent.append((method, *params, options))

            return request

    client = module.WeatherClient(Recorded()).with_options(timeout=5)

    async def calls() -> None:
        await client.prompts.ask_about(city="Oslo")
        await client.prompts.ask_about(city="Oslo", style="brief")
        await client.resources.place(country="no", path="a/b c", tag=["x", "y"])
        await client.resources.x_a(a="1/2")

    with pytest.raises(StopIteration):
        calls().send(None)
    brief = {"timeout": 5}
    assert sent == [
        ("get_prompt", "ask-about", {"city": "Oslo"}, brief),
        ("get_prompt", "ask-about", {"city": "Oslo", "style": "brief"}, brief),
        ("read_resource", "places://no/a/b%20c?tag=x&tag=y", brief),
        ("read_resource", "x:1%2F2", brief),
    ]
    assert not hasattr(module_of(ECHO).WeatherClient, "prompts")


def test_a_lock_has_what_a_contract_has() -> None:
    found = contract_of(*USUAL, prompts=[ASK, {"name": "plain"}], templates=[PLACE])
    assert read_contract(found.as_json(), "a.lock") == found
    assert "prompts" not in contract_of(ECHO).as_json()
    assert found.only(["echo"]).counts() == "1 tool"


def test_null_can_be_sent_where_a_definition_accepts_it() -> None:
    maybe = {"Maybe": {"type": ["string", "null"]}}
    looked = tool(properties={"x": {"$ref": "#/$defs/Maybe"}}, **{"$defs": maybe})
    assert "x: Maybe | Omitted = OMITTED" in text_of(looked)
    needed = tool(properties={"x": {"type": ["string", "null"]}}, required=["x"])
    assert "OMITTED" not in text_of(needed)


def test_arguments_of_none_are_left_out_and_null_is_sent_where_it_is_a_value() -> None:
    sent: list[Any] = []

    class Recorded:
        TABLE = TABLE

        async def call_tool(self, name: str, arguments: Any, **options: Any) -> Any:
            returns = options.pop("as_", None)
            sent.append((name, arguments, {key: options[key] for key in options if key != "check"}))
            return None if returns is None else returns.from_wire({"high": 1})

    module = module_of(FORECAST, ADD, FREE)
    client = module.WeatherClient(Recorded())

    async def calls() -> None:
        assert isinstance(await client.get_forecast(city="Oslo"), module.Forecast)
        await client.get_forecast(city="Oslo", nick=None, near=module.GetForecastNear(lat=1, lon=2))
        await client.with_options(timeout=5).free({"a": [module.GetForecastNear(lat=1, lon=2)]})

    coroutine = calls()
    with pytest.raises(StopIteration):
        coroutine.send(None)
    assert sent == [
        ("get-forecast", {"city": "Oslo", "days": 3}, {}),
        (
            "get-forecast",
            {"city": "Oslo", "days": 3, "nick": None, "near": {"lat": 1, "lon": 2}},
            {},
        ),
        ("free", {"a": [{"lat": 1, "lon": 2}]}, {"timeout": 5}),
    ]
