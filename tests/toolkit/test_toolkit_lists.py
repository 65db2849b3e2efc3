"""Lists: in pages, and while they change."""

from itertools import product
from typing import Any

import pytest
from support.json_types import JsonObject
from support.revisions import OLD, REVISIONS
from support.tables import case
from support.toolkit.kits import (
    Refused,
    answers,
    asking,
    call,
    kit,
    listed_tools,
    pkg,
    prompt,
    resource,
    shaken,
    text_of,
    tool,
)

CHANGED = {kind: f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources")}


def many(kind: str, number: int) -> JsonObject:
    """So many marked functions."""

    def make(at: int) -> Any:
        def function(self: object) -> str:
            return ""

        def with_x(self: object, x: str) -> str:
            return ""

        name = f"item_{at}"
        if kind == "templates":
            return resource(f"a:{at}/{{x}}", name=name)(with_x)
        if kind == "resources":
            return resource(f"a:{at}", name=name)(function)
        return getattr(pkg, kind)(name=name)(function)

    return {f"item_{at}": make(at) for at in range(number)}


async def test_long_lists_come_in_pages_and_in_order() -> None:
    for (kind, method, member), revision in product(
        [
            ("tool", "tools/list", "tools"),
            ("prompt", "prompts/list", "prompts"),
            ("resources", "resources/list", "resources"),
            ("templates", "resources/templates/list", "resourceTemplates"),
        ],
        REVISIONS,
    ):
        with case((kind, method, member, revision)):
            server = kit(revision, page_size=3, **many(kind, 7))()
            names: list[str] = []
            sizes: list[int] = []
            cursor: dict[str, str] = {}
            async with asking(server, revision) as ask:
                while True:
                    page = await ask(method, **cursor)
                    sizes.append(len(page[member]))
                    names += [item["name"] for item in page[member]]
                    if "nextCursor" not in page:
                        break
                    cursor = {"cursor": page["nextCursor"]}
                assert sizes == [3, 3, 1]
                assert names == [f"item_{at}" for at in range(7)]
                with pytest.raises(Refused) as raised:
                    await ask(method, cursor="nobody's")
                assert raised.value.code == -32602


def test_a_page_has_100_items_unless_the_class_says_otherwise() -> None:
    (answer,) = answers(kit(**many("tool", 101))(), OLD, ("tools/list", {}))
    assert len(answer["tools"]) == 100


@tool
def early(self: object) -> str:
    return "early"


@resource("note:")
def note(self: object) -> str:
    return ""


def late(text: str) -> str:
    """Come late."""
    return text


def unsaid(x):  # type: ignore[no-untyped-def]  # pyright: ignore
    return x  # pyright: ignore


class Elsewhere:
    """A class with its own functions."""

    @prompt
    def ask(self, text: str) -> str:
        return text

    def read(self, x: str) -> str:
        return x

    def plain(self, count: int) -> int:
        return count + 1


def test_things_are_added_and_removed_before_anybody_is_there() -> None:
    server = kit(early=early)()
    server.add_tool(late)
    server.add_tool(late, name="later", title="Later")
    server.add_tool(Elsewhere().plain)
    server.add_prompt(Elsewhere().ask)
    server.add_resource(Elsewhere().read, uri="a:{x}", name="x")
    server.remove_tool("early")
    declared = server.capabilities().to_wire()
    assert declared.keys() == {"logging", "tools", "prompts", "resources"}
    server.remove_resource("a:{x}")
    server.remove_prompt("ask")
    assert server.capabilities().to_wire() == {"logging": {}, "tools": {"listChanged": True}}
    assert list(listed_tools(server)) == ["late", "later", "plain"]
    assert text_of(call(server, "later", text="x")) == "x"
    assert text_of(call(server, "plain", count="1")) == '{"result":2}'
    # The items of one instance do not affect others.
    assert list(listed_tools(type(server)())) == ["early"]


def test_unknown_item_cannot_be_removed() -> None:
    for remove in ["remove_tool", "remove_prompt", "remove_resource"]:
        with case(remove), pytest.raises(LookupError, match=r"there is no .* nothing"):
            getattr(kit(early=early)(), remove)("nothing")


def test_invalid_item_changes_nothing() -> None:
    server = kit(early=early)()
    with pytest.raises(ValueError, match="there is already a tool early"):
        server.add_tool(late, name="early")
    with pytest.raises(ValueError, match="the tool name 'a b'"):
        server.add_tool(late, name="a b")
    with pytest.raises(TypeError, match="the parameter x has no annotation"):
        server.add_tool(unsaid, name="x")  # pyright: ignore
    with pytest.raises(TypeError, match="a resource needs a URI"):
        server.add_resource(late)
    with pytest.raises(TypeError, match="a resource needs a URI"):
        server.add_resource(late, name="late")
    misspelt: Any = {"nane": "x"}
    with pytest.raises(TypeError, match="@tool has no option nane"):
        server.add_tool(late, **misspelt)
    assert list(listed_tools(server)) == ["early"]


async def test_the_log_says_once_what_clients_are_not_told_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for kind in ["tool", "prompt", "resource"]:
        with case(kind):
            caplog.clear()
            server = kit()()
            async with shaken(server) as hand:
                await hand.ask("ping")
                for name in "ab":
                    uri = {"uri": f"a:{name}/{{text}}"} if kind == "resource" else {}
                    getattr(server, f"add_{kind}")(late, name=name, **uri)
                await getattr(server, f"{kind}s_list_changed")()
                # No notification comes before the answer.
                assert (await hand.ask("ping", 2))["result"] == {}
            (record,) = caplog.records
            assert f'write SENDS = frozenset({{"{CHANGED[kind + "s"]}"}})' in record.getMessage()
