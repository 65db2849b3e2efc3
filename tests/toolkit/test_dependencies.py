"""Parameters that functions fill: their types, their lifetime, and refusals."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from support.revisions import ERAS, REVISIONS
from support.tables import case
from support.toolkit.kits import (
    Refused,
    ToolError,
    Toolkit,
    answers,
    asking,
    call,
    listed_tools,
    mcp,
    pkg,
    text_of,
    tool,
)

Depends = pkg.Depends
noted: list[str] = []
"""What has happened, in order."""


@pytest.fixture(autouse=True)
def _clear_noted() -> None:
    noted.clear()


def plain() -> str:
    noted.append("plain")
    return "p"


async def waiting() -> str:
    await asyncio.sleep(0)
    return "w"


def open_under(under: Annotated[str, Depends(plain)]) -> Iterator[str]:
    noted.append("open")
    try:
        yield f"{under}o"
    except BaseException as error:
        noted.append(f"failed: {type(error).__name__}")
        raise
    finally:
        noted.append("close")


async def later(
    below: Annotated[str, Depends(open_under)], again: Annotated[str, Depends(plain)]
) -> AsyncIterator[str]:
    noted.append("begin")
    try:
        yield f"{below}{again}l"
    finally:
        await asyncio.sleep(0)
        noted.append("end")


def of_session(session: mcp.Session, size: int = 2) -> str:
    return f"{session.revision}/{size}"


@dataclass
class Settings:
    name: str = "settings"


class Made:
    def __init__(self, settings: Annotated[Settings, Depends(Settings)]) -> None:
        self.name = f"made of {settings.name}"


def swallowing() -> Iterator[str]:
    try:
        yield "s"
    except BaseException as error:
        noted.append(f"caught: {type(error).__name__}")


def refusing() -> str:
    raise ToolError("not today")


def app_of_all() -> Any:
    app = mcp.App("any")

    @app.tool
    async def everything(
        text: str,
        p: Annotated[str, Depends(plain)],
        w: Annotated[str, Depends(waiting)],
        made: Annotated[Made, Depends(Made)],
        l: Annotated[str, Depends(later)],  # noqa: E741
        of: Annotated[str, "more", Depends(of_session)],
        session: mcp.Session,
        upper: bool = False,
    ) -> list[str]:
        noted.append("call")
        assert session.revision in of
        return [text.upper() if upper else text, p, w, made.name, l, of]

    return app


async def test_each_function_runs_once_and_ends_in_the_opposite_order() -> None:
    for spoken in ERAS:
        with case(spoken):
            noted.clear()
            async with asking(app_of_all(), spoken, bridged=True) as ask:
                arguments = {"text": "a", "upper": True}
                answer = await ask("tools/call", name="everything", arguments=arguments)
            found = answer["structuredContent"]
            expected = ["A", "p", "w", "made of settings", "popl", f"{spoken}/2"]
            assert found == {"result": expected}
            assert noted == ["plain", "open", "begin", "call", "end", "close"]


def test_clients_do_not_see_them_and_cannot_set_them() -> None:
    for own in REVISIONS:
        with case(own):
            app = pkg.load(own).App("any")

            def add(text: str, db: Annotated[str, Depends(plain)]) -> str:
                return text + db

            app.tool(add)
            schema = listed_tools(app, own)["add"]["inputSchema"]
            assert [*schema["properties"]] == ["text"] and schema["required"] == ["text"]
            assert text_of(call(app, "add", own, text="a")) == "ap"
            refused = call(app, "add", own, text="a", db="b")
            wrong = refused.message if isinstance(refused, Refused) else text_of(refused)
            assert "/db: Extra inputs are not permitted" in wrong
            # Without a client, it is an argument as any other.
            assert add("a", "test") == "atest"


def test_resources_prompts_and_methods_have_them_too() -> None:
    class Kit(Toolkit, mcp.Server):
        @tool
        def method(self, db: Annotated[str, Depends(open_under)]) -> str:
            return db

        @tool(input_schema={"type": "object"})
        def raw(self, given: dict[str, Any], db: Annotated[str, Depends(plain)]) -> str:
            return f"{given}{db}"

        @tool(thread=True)
        def threaded(self, db: Annotated[str, Depends(later)]) -> str:
            return db

    server = Kit()

    def item(name: str, db: Annotated[str, Depends(plain)]) -> str:
        return name + db

    server.add_resource(item, uri="a:{name}")
    server.add_prompt(item)
    method, raw, threaded, read, got = answers(
        server,
        "2025-11-25",
        *(("tools/call", {"name": name}) for name in ("method", "raw", "threaded")),
        ("resources/read", {"uri": "a:x"}),
        ("prompts/get", {"name": "item", "arguments": {"name": "y"}}),
    )
    assert [text_of(answer) for answer in (method, raw, threaded)] == ["po", "{}p", "popl"]
    assert read["contents"][0]["text"] == "xp"
    assert got["messages"][0]["content"]["text"] == "yp"


def test_arguments_of_tool_in_thread_may_have_any_name() -> None:
    def spread(
        *, steps: str, names: str, function: str, work: str, db: Annotated[str, Depends(open_under)]
    ) -> str:
        return f"{steps}{names}{function}{work}{db}"

    app = mcp.App("any")
    app.tool(spread)
    given = dict(zip(("steps", "names", "function", "work"), "1234", strict=True))
    assert text_of(call(app, "spread", **given)) == "1234po"


def test_dependencies_end_after_failure_that_stays_answer() -> None:
    app = mcp.App("any")

    @app.tool
    async def fails(
        how: str,
        a: Annotated[str, Depends(open_under)],
        b: Annotated[str, Depends(later)],
        c: Annotated[str, Depends(swallowing)],
    ) -> str:
        raise ToolError(how) if how else ValueError("secret")

    @app.tool
    async def never(
        a: Annotated[str, Depends(open_under)], b: Annotated[str, Depends(refusing)]
    ) -> str:
        raise AssertionError

    said = call(app, "fails", how="told")
    assert said["isError"] and text_of(said) == "told"
    ending = ["caught: {0}", "end", "failed: {0}", "close"]
    assert noted[3:] == [line.format("ToolError") for line in ending]
    noted.clear()
    assert text_of(call(app, "fails", how="")) == "fails failed."
    assert noted[3:] == [line.format("ValueError") for line in ending]
    noted.clear()
    assert text_of(call(app, "never")) == "not today"
    assert noted == ["plain", "open", "failed: ToolError", "close"]


def function_of(dependency: Any) -> Any:
    """Return a function with a parameter that another one fills."""

    def function(a: str) -> str:
        return a

    function.__annotations__["a"] = Annotated[str, Depends(dependency)]
    return function


def in_a_cycle(name: str) -> Any:
    function = function_of(None)
    function.__qualname__ = name
    return function


ONE, TWO, ITSELF = (in_a_cycle(name) for name in ("one", "two", "itself"))
for function, dependency in ((ONE, TWO), (TWO, ONE), (ITSELF, ITSELF)):
    function.__annotations__["a"] = Annotated[str, Depends(dependency)]


def lacking(url: str) -> str:
    return url


IN_DEFAULT: Any = Depends(plain)


def default(a: str = IN_DEFAULT) -> str:
    return a


def untyped(a: str) -> str:
    return a


untyped.__annotations__.clear()

REFUSED = {
    function_of(ONE): "Depends forms a cycle: one → two → one",
    function_of(ITSELF): "Depends forms a cycle: itself → itself",
    function_of(lacking): "lacking: no value for the parameter url: annotate it with Depends(…) or "
    "the session, or give it a default",
    default: "default: Depends must be in the annotation: a: Annotated[…, Depends(plain)]",
    function_of("db"): "Depends needs a function, got 'db'",
    function_of(untyped): "untyped: no value for the parameter a",
}


def test_unfillable_dependency_is_refused_when_server_is_made() -> None:
    for function, why in REFUSED.items():
        with case(why):
            with pytest.raises(TypeError) as raised:
                mcp.App("any").tool(function)
            assert why in str(raised.value)

            class Kit(Toolkit, mcp.Server):
                wrong = staticmethod(tool(function))

            with pytest.raises(TypeError) as raised:
                Kit()
            assert why in str(raised.value)
