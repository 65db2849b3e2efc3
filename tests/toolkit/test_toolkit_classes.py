"""Classes with a toolkit: their declarations, handwritten handlers, and refusals."""

from functools import partial, wraps
from itertools import product
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
)
from support.json_types import JsonObject
from support.revisions import OLD, REVISIONS
from support.tables import case
from support.toolkit.kits import (
    Toolkit,
    answers,
    asking,
    call,
    handles,
    kit,
    listed_tools,
    mcp,
    pkg,
    prompt,
    resource,
    text_of,
    tool,
)

m: Any = mcp.models


@tool
def shout(self: object, text: str) -> str:
    """Say it loudly."""
    return text.upper()


@resource("a:b")
def note(self: object) -> str:
    return ""


@resource("a:{x}")
def notes(self: object, x: str) -> str:
    return x


@prompt
def ask(self: object, text: str) -> str:
    return text


@prompt
def choose(self: object, sure: bool) -> str:
    return ""


CHANGED = {kind: f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources")}


CHANGES = {"listChanged": True}


def test_server_declares_exactly_its_items() -> None:
    rows: list[tuple[JsonObject, JsonObject]] = [
        ({}, {}),
        ({"shout": shout}, {"tools": CHANGES}),
        ({"note": note}, {"resources": {**CHANGES, "subscribe": True}}),
        ({"notes": notes}, {"resources": {**CHANGES, "subscribe": True}}),
        ({"ask": ask}, {"prompts": CHANGES}),
        ({"choose": choose}, {"prompts": CHANGES, "completions": {}}),
        ({"SENDS": frozenset({CHANGED["tools"]})}, {"tools": {"listChanged": True}}),
        (
            {"shout": shout, "SENDS": frozenset({CHANGED["prompts"]})},
            {"tools": CHANGES, "prompts": CHANGES},
        ),
    ]
    for (members, declared), revision in product(rows, REVISIONS):
        with case((members, declared, revision)):
            expected: JsonObject = {**declared, "logging": {}}
            if revision == "2024-11-05":
                # Completion needs no capability yet.
                expected.pop("completions", None)
            server = kit(revision, **members)()
            assert server.capabilities().to_wire() == expected
            assert server.capabilities().to_wire() == expected


class ByHand(Toolkit, mcp.Server):
    """A tool that is marked, and one that is answered for by hand."""

    shout = shout

    async def on_list_tools(
        self, session: Session, params: PaginatedRequestParams
    ) -> ListToolsResult:
        listed: ListToolsResult = await super().on_list_tools(session, params)
        whisper = m.Tool(name="whisper", input_schema={"type": "object"})
        return listed.model_copy(update={"tools": [*listed.tools, whisper]})

    async def on_call_tool(self, session: Session, params: CallToolRequestParams) -> CallToolResult:
        if params.name == "whisper":
            return CallToolResult(content=[m.TextContent(text="…")])
        result: CallToolResult = await super().on_call_tool(session, params)
        return result


def test_handlers_written_by_hand_go_first_and_may_leave_the_rest() -> None:
    assert list(listed_tools(ByHand())) == ["shout", "whisper"]
    assert text_of(call(ByHand(), "whisper")) == "…"
    assert text_of(call(ByHand(), "shout", text="a")) == "A"


async def test_a_handler_for_some_revisions_stands_beside_the_toolkit() -> None:
    class Server(Toolkit, mcp.Server):
        shout = shout

        @handles("tools/call", "2025-06-18")
        async def older(self, session: Session, params: CallToolRequestParams) -> object:
            return m.CallToolResult(content=[m.TextContent(text=session.revision)])

    for spoken, text in ((OLD, "A"), ("2025-06-18", "2025-06-18")):
        async with asking(Server(), spoken, bridged=True) as ask_it:
            called = await ask_it("tools/call", name="shout", arguments={"text": "a"})
            assert text_of(called) == text


def test_a_handler_for_a_revision_counts_though_nothing_is_marked() -> None:
    class Server(Toolkit, mcp.Server):
        @handles("prompts/list", OLD)
        async def listing(self, session: Session, params: CallToolRequestParams) -> object:
            return m.ListPromptsResult(prompts=[])

    assert Server().capabilities().to_wire() == {"logging": {}, "prompts": {}}
    assert answers(Server(), OLD, ("prompts/list", {})) == [{"prompts": []}]


def test_kits_can_be_put_together_and_changed_by_subclasses() -> None:
    class Loud(Toolkit):
        shout = shout

        @tool
        def hum(self) -> str:
            return "hm"

    class Questions(Toolkit):
        ask = ask

    class Both(Loud, Questions, mcp.Server):
        pass

    class Louder(Both):
        def shout(self, text: str, times: int = 2) -> str:
            """Say it loudly, and again."""
            return text.upper() * times

        hum = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]

    declared = {"logging": {}, "tools": CHANGES, "prompts": CHANGES}
    assert Both().capabilities().to_wire() == declared
    assert list(listed_tools(Both())) == ["shout", "hum"]
    (louder,) = listed_tools(Louder()).values()
    assert louder["description"] == "Say it loudly, and again."
    assert "times" in louder["inputSchema"]["properties"]
    assert text_of(call(Louder(), "shout", text="a")) == "AA"
    assert text_of(call(Both(), "shout", text="a")) == "A"
    with pytest.raises(TypeError, match=r"Loud is not a server: class …\(Loud, mcp.Server\)"):
        Loud()


def test_the_toolkit_stands_before_the_server() -> None:
    with pytest.raises(TypeError, match="class Wrong: Toolkit must come before Server"):
        type("Wrong", (mcp.Server, Toolkit), {"shout": shout})


def test_marked_functions_without_a_toolkit_are_refused_when_the_class_is_made() -> None:
    class Aside:
        """No server, but to be one base of a server that has a toolkit."""

        shout = shout

    said = "is decorated, but the class has no toolkit"
    marked: JsonObject = {"shout": shout, "note": note, "ask": ask}
    for name, function in marked.items():
        advice = rf"write class Weather\(Toolkit, {mcp.Server.__name__}\)"
        for method in (function, staticmethod(function)):
            with pytest.raises(TypeError, match=rf"^Weather\.{name} {said}: {advice}"):
                type("Weather", (mcp.Server,), {name: method})
    with pytest.raises(
        TypeError, match=rf"^Both\.shout {said}: write class Both\(Toolkit, Aside, "
    ):
        type("Both", (Aside, mcp.Server), {})
    with pytest.raises(TypeError, match=rf"^Odd\.shout {said}: only servers have tools"):
        type("Odd", (mcp.Client,), {"shout": shout})
    server: Any = type("None", (Aside, mcp.Server), {"shout": None, "any": Anything()})()
    assert server.__mcp_runtime__.handlers_for(OLD) == {}
    made = type("Both", (Aside, Toolkit, mcp.Server), {})
    assert list(listed_tools(made())) == ["shout"]


def test_a_tool_hides_nothing_of_the_runtime() -> None:
    for attribute in [
        "resource_updated",
        "info",
        "instructions",
        "add_tool",
        "on_call_tool",
        "TABLE",
        "sessions",
    ]:
        with (
            case(attribute),
            pytest.raises(TypeError, match=f"Kit.{attribute} hides .* decorate it with name="),
        ):
            kit(**{attribute: shout})


def test_non_function_cannot_be_marked() -> None:
    mark: Any = tool
    with pytest.raises(TypeError, match="@tool takes one function; pass everything else by name"):
        mark("shout")
    with pytest.raises(TypeError, match="titel"):
        mark(titel="x")

    class Odd:
        def __call__(self) -> str:
            return ""

    with pytest.raises(TypeError, match="has a decorator, but is not a function"):
        kit(odd=tool(Odd()))


def test_partial_is_refused_with_advice_and_may_be_inside_a_decorator() -> None:
    def greet(name: str, times: int = 1) -> str:
        """Say hello."""
        return f"hello {name}" * times

    app = mcp.App("greeter")
    advice = "is not a function: write a function that calls it"
    for add in (
        lambda: app.add_tool(partial(greet, times=2), name="greet"),
        lambda: app.tool(name="greet")(partial(greet, times=2)),
        lambda: app.resource("x:1")(partial(greet, "Bo")),
        lambda: app.prompt(partial(greet, "Bo")),
    ):
        with pytest.raises(TypeError, match=rf"^functools.partial of .*greet {advice}$"):
            add()

    @wraps(partial(greet, times=2))
    def greet_twice(*args: Any, **options: Any) -> str:
        return greet(*args, **{"times": 2, **options})

    app.tool(name="greet")(greet_twice)
    listed = listed_tools(app)["greet"]
    assert listed["description"] == "Say hello."
    assert [*listed["inputSchema"]["properties"]] == ["name", "times"]


def test_tool_options_are_listed_as_far_as_revision_has_them() -> None:
    def mark_tool(revision: str) -> Any:
        models = pkg.load(revision).models
        options: JsonObject = {"title": "Shout!", "description": "Loud.", "meta": {"a/b": 1}}
        if revision >= "2025-03-26":
            options["annotations"] = models.ToolAnnotations(read_only_hint=True)
        if revision >= "2025-11-25":
            options["icons"] = [models.Icon(src="a:b")]

        @tool(name="shout", structured=False, **options)
        def function(self: object) -> str:
            return ""

        return listed_tools(kit(revision, function=function)(), revision)["shout"]

    first = {"name": "shout", "description": "Loud."}
    schema = {"inputSchema": {"type": "object", "additionalProperties": False}}
    second = {"annotations": {"readOnlyHint": True}}
    third = {"title": "Shout!", "_meta": {"a/b": 1}}
    fourth = {"icons": [{"src": "a:b"}]}
    assert mark_tool("2024-11-05") == first | schema
    assert mark_tool("2025-03-26") == first | schema | second
    assert mark_tool("2025-06-18") == first | schema | second | third
    assert mark_tool("2025-11-25") == first | schema | second | third | fourth
    assert mark_tool("2026-07-28") == first | schema | second | third | fourth


class Anything:
    """Says of any attribute that it has it, as clients of databases do."""

    def __getattr__(self, name: str) -> "Anything":
        return Anything()


def test_attributes_that_have_everything_are_marked_as_nothing() -> None:
    assert list(listed_tools(kit(database=Anything(), shout=shout)())) == ["shout"]


def test_unserialisable_option_is_refused_when_server_is_made() -> None:
    @tool(meta={"a/b": object()})
    def odd(self: object) -> str:
        return ""

    with pytest.raises(TypeError, match=r"odd: .*object"):
        kit(odd=odd)()


def test_a_subclass_that_puts_something_else_in_place_of_a_tool_is_told_where() -> None:
    with pytest.raises(TypeError, match=r"^shout: 3 has a decorator, but is not a function"):
        type("Sub", (kit(shout=shout),), {"shout": 3})
