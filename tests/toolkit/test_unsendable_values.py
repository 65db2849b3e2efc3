"""Values of Python that JSON cannot express: lone surrogates, NaN and infinities."""

import os
from math import inf, nan
from typing import Annotated, Any

import pytest
from mcp_revisions import ToolError, Toolkit, tool
from mcp_revisions.v2025_11_25 import Server
from mcp_revisions.v2025_11_25 import models as m
from pydantic import BaseModel, Field
from support.json_types import Json, JsonObject
from support.revisions import OLD, REVISIONS, STATELESS
from support.sessions.talking import client, content_of, models, pkg, server
from support.tables import case

pytestmark = pytest.mark.skips_time

NAME = os.fsdecode(b"caf\xe9.txt")
SENT = "caf\ufffd.txt"

ODD_RESULTS: tuple[tuple[JsonObject, str], ...] = (
    ({"content": [{"type": "text", "text": "x", "_meta": {"a": inf}}]}, "/content/0/_meta/a"),
    ({"content": [], "_meta": {"a/b": [inf]}}, "/_meta/a~1b/0"),
    ({"content": [], "unknown": inf}, "/unknown"),
)
"""Results with a number that JSON does not have, and its place."""


class Measure(BaseModel):
    """A model that is not of the protocol."""

    value: float | None = None


class Files(Toolkit, Server):
    """Files with names that are not UTF-8, and measures that are not finite."""

    @tool
    async def text(self) -> str:
        return NAME

    @tool
    async def texts(self) -> dict[str, list[str]]:
        return {NAME: [NAME]}

    @tool
    async def anything(self) -> Any:
        return {"name": NAME}

    @tool
    async def whole(self) -> m.CallToolResult:
        return m.CallToolResult(content=[m.TextContent(text=NAME)])

    @tool
    async def refused(self) -> str:
        raise ToolError(NAME)

    @tool
    async def failed(self) -> str:
        raise pkg.McpError(-5, NAME, {"name": NAME})

    @tool
    async def open_number(self) -> dict[str, Any]:
        return {"x": [1, inf]}

    @tool
    async def modelled_number(self) -> Measure:
        return Measure(value=inf)

    @tool
    async def some_number(self) -> Any:
        return {"x": nan}

    @tool(output_schema={"type": "object"})
    async def described_number(self) -> Any:
        return {"x": -inf}

    @tool
    async def whole_number(self) -> m.CallToolResult:
        return m.CallToolResult(content=[], structured_content={"x": inf})

    @tool
    async def failed_number(self) -> str:
        raise pkg.McpError(-5, "no", {"x": inf})


async def call(name: str, revision: str) -> tuple[str, bool]:
    """Return the text of a tool's result, or of its error, and whether it is one."""
    ours: Any = client(revision)
    async with pkg.connect_in_memory(Files(), ours, revisions=pkg.REVISIONS):
        try:
            result: Json = await ours.call_tool(name=name)
        except pkg.McpError as error:
            assert error.data in (None, {"name": SENT})
            return error.message, True
        return content_of(result)[0].text, bool(result.is_error)


async def test_server_sends_replacement_for_lone_surrogates(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for revision in REVISIONS:
        for name, text, is_error in [
            ("text", SENT, False),
            ("texts", f'{{"{SENT}":["{SENT}"]}}', False),
            ("anything", f'{{"name":"{SENT}"}}', False),
            ("whole", SENT, False),
            ("refused", SENT, True),
            ("failed", SENT, True),
        ]:
            with case((revision, name)):
                caplog.clear()
                assert await call(name, revision) == (text, is_error)
                assert not [entry for entry in caplog.records if entry.levelname == "ERROR"]


async def test_number_that_is_not_finite_is_an_error_with_its_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for revision in REVISIONS:
        for name, place in [
            ("open_number", "/x/1: inf"),
            ("modelled_number", "/value: inf"),
            ("some_number", "/x: nan"),
            ("described_number", "/x: -inf"),
        ]:
            with case((revision, name)):
                caplog.clear()
                text = f"{name} returned a value that is not JSON: {place} is not valid in JSON."
                assert await call(name, revision) == (text, True)
                assert text in caplog.text
    caplog.clear()
    text, is_error = await call("whole_number", OLD)
    assert is_error
    assert text.endswith("cannot be JSON: /structuredContent/x: inf is not valid in JSON")
    assert text in caplog.text


@pytest.mark.parametrize("own", [OLD, STATELESS])
@pytest.mark.parametrize("spoken", [OLD, STATELESS])
@pytest.mark.parametrize(("result", "place"), ODD_RESULTS)
async def test_number_that_is_not_finite_is_found_anywhere_in_a_result(
    own: str, spoken: str, result: JsonObject, place: str
) -> None:
    async def on_call_tool(self: object, session: Any, params: Any) -> Json:
        return models(own).CallToolResult.from_wire({"resultType": "complete", **result})

    answering: Any = server(own, on_call_tool=on_call_tool)
    caller: Any = client(spoken)
    async with pkg.connect_in_memory(answering, caller, revisions=pkg.REVISIONS):
        with pytest.raises(pkg.McpError, match=f"{place}: inf is not valid"):
            await caller.call_tool("x")


async def test_default_that_is_not_finite_is_left_out_of_the_schema() -> None:
    class Waiting(Toolkit, Server):
        @tool
        async def wait(self, seconds: float = inf) -> str:
            return str(seconds)

    async with pkg.connect(Waiting(), client(OLD)) as ours:
        (found,) = (await ours.list_tools()).tools
        assert found.input_schema["properties"] == {"seconds": {"type": "number"}}
        assert content_of(await ours.call_tool(name="wait"))[0].text == "inf"


def test_schema_with_such_a_number_is_refused_at_its_declaration() -> None:
    with pytest.raises(TypeError, match="/properties/seconds/examples/0: inf is not valid"):

        class _Waiting(Toolkit, Server):
            @tool
            async def wait(self, seconds: Annotated[float, Field(examples=[inf])]) -> str:
                return str(seconds)

        _Waiting()


async def test_error_with_such_data_is_sent_without_it(caplog: pytest.LogCaptureFixture) -> None:
    assert await call("failed_number", OLD) == ("no", True)
    assert "/data/x: inf is not valid in JSON" in caplog.text


async def test_client_refuses_to_send_what_it_would_have_to_change() -> None:
    async with pkg.connect(Files(), client(OLD)) as ours:
        for arguments in ({"name": NAME}, {"x": inf}):
            with case(arguments), pytest.raises(pkg.LocalError, match="tools/call cannot be JSON"):
                await ours.call_tool(name="text", arguments=arguments)
