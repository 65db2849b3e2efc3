"""Calls whose params are given member by member, and results read as types of the caller."""

import inspect
import json
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from mcp_revisions import REVISIONS as PACKAGES
from mcp_revisions import (
    LocalError,
    Options,
    RemoteError,
    ToolError,
    ToolFailed,
    Toolkit,
    WrongCall,
    connect_in_memory,
    prompt,
    resource,
    tool,
)
from mcp_revisions import v2025_11_25 as handshake
from mcp_revisions import v2026_07_28 as stateless
from pydantic import BaseModel, TypeAdapter, ValidationError
from support.generated.golden_package import load
from support.revisions import ERAS, REVISIONS
from support.sessions.echoing import classes_of, flat_signatures, members_of, split
from support.tables import case
from support.vectors.made import vectors

m = handshake.models


class Sent(Exception):
    """A message that was about to be sent: its entry, its params, and the options of the call."""


def noting(base: type) -> Any:
    """A client or session that raises what it would send."""

    async def send(self: object, spec: Any, params: Any, **options: Any) -> Any:
        raise Sent(spec, params, options)

    class Behind:
        endpoint = SimpleNamespace(options=Options())

        async def complete(self, spec: Any, params: Any, options: Any) -> Any:
            raise Sent(spec, params, dict(options))

    def begin(self: object) -> None:
        pass

    sends = dict.fromkeys(("request", "request_once", "notify"), send)
    members = {**sends, "__mcp_runtime__": Behind()}
    return type("Noting", (base,), {**members, "__init__": begin})()


async def sent(call: Callable[..., Any], *given: Any, **members: Any) -> Any:
    """What a call would send."""
    with pytest.raises(Sent) as caught:
        called = call(*given, **members)
        await (anext(called) if hasattr(called, "__anext__") else called)
    return caught.value.args


def stubs(revision: str) -> Iterator[tuple[str, Callable[..., Any], list[inspect.Signature]]]:
    """The name of each stub with several signatures, and those with the members one by one."""
    module = load(revision)
    for base in (module.Client, module.Session):
        for name, function in inspect.getmembers_static(base, inspect.isfunction):
            flat = flat_signatures(function)
            if flat:
                yield name, getattr(noting(base), name), flat


@pytest.mark.parametrize("revision", REVISIONS)
async def test_members_one_by_one_are_the_params_as_a_whole(revision: str) -> None:
    valid = defaultdict[str, list[Any]](list)
    for vector in vectors(revision).vectors:
        subject, value = vector.subject, vector.value
        if vector.valid and (subject.type or subject.kind != "result"):
            valid[subject.type or subject.method].append(
                value if subject.type else value.get("params", {})
            )
    for name, stub, signatures in stubs(revision):
        spec, nothing, _ = await sent(stub, params=None)
        assert nothing is None
        tried = set[int]()
        for cls in classes_of(spec):
            values: list[Any] = [*valid[cls.__name__], *valid[spec.method], {}]
            for value in values:
                try:
                    model = cls.from_wire(value)
                except ValidationError:
                    continue  # It is for another arm of a union.
                members = members_of(model)
                for place, signature in enumerate(signatures):
                    ways = None if model.model_extra else split(signature, members)
                    if ways is not None:
                        with case(f"{name} {value}"):
                            tried.add(place)
                            assert (await sent(stub, model))[1] is model
                            made = (await sent(stub, *ways[0], **ways[1]))[1]
                            assert made == model if members else made in (model, None)
        with case(name):
            assert tried == set(range(len(signatures)))


async def test_options_are_no_members() -> None:
    for revision in ERAS:
        client = noting(load(revision).Client)
        _, params, options = await sent(
            client.call_tool, "greet", timeout=3, reset_on_progress=True
        )
        assert params.to_wire()["name"] == "greet"
        assert options == {"timeout": 3, "reset_on_progress": True}


ARMS = "give ElicitRequestFormParams or ElicitRequestURLParams, or its members: "
WHOLE = m.CallToolRequestParams(name="greet")
MISTAKES: tuple[tuple[str, tuple[Any, ...], dict[str, Any], str], ...] = (
    ("call_tool", (), {}, "tools/call needs the member name; "),
    ("call_tool", ("a",), {"nam": 1}, "tools/call has no member nam; "),
    ("call_tool", ("a", {}, 1), {}, "tools/call takes only name, arguments by position; "),
    ("call_tool", ("a",), {"name": "b"}, "tools/call got name twice; "),
    ("call_tool", (WHOLE, {}), {}, "tools/call got params as a whole, and besides {}; "),
    (
        "call_tool",
        (),
        {"params": WHOLE, "arguments": {}},
        "tools/call got params as a whole, and besides arguments; ",
    ),
    ("call_tool", ({"name": "a"},), {}, "wrong member /name: Input should be a valid string; "),
    ("call_tool", ("a",), {"_meta": {}}, "tools/call has no member _meta; "),
    ("ping", (1,), {}, "ping takes nothing by position; "),
    ("notify_progress", ("t", 1), {"timeout": 1}, "notifications/progress has no member timeout; "),
    ("notify_progress", ("t",), {}, "notifications/progress needs the member progress; "),
    ("elicit", ("?",), {"url": "u"}, f"needs the member elicitation_id; {ARMS}"),
    ("elicit", ("?",), {}, f"needs the member requested_schema; {ARMS}"),
)


async def test_a_wrong_call_says_which_spelling_was_meant() -> None:
    for name, given, members, text in MISTAKES:
        base = handshake.Session if name == "elicit" else handshake.Client
        with case((name, given, members)), pytest.raises(WrongCall) as caught:
            await getattr(noting(base), name)(*given, **members)
        assert text in str(caught.value)
        assert "or its members: " in str(caught.value)
        assert isinstance(caught.value, LocalError) and isinstance(caught.value, TypeError)


class Point(BaseModel):
    """A type of a user."""

    x: int
    name: str = "origin"


class Shapes(Toolkit, stateless.Server):
    """Tools with every form of result."""

    @tool
    def greet(self, name: str) -> str:
        """Say hello."""
        return f"Hello, {name}"

    @tool
    def point(self) -> Point:
        """Return an object."""
        return Point(x=3)

    @tool
    def numbers(self) -> list[int]:
        """Return what is no object, which most revisions wrap."""
        return [1, 2]

    @tool
    def broken(self) -> Point:
        """Fail."""
        raise ToolError("no")

    @tool
    def texts(self) -> stateless.models.CallToolResult:
        """Return several blocks."""
        models = stateless.models
        image = models.ImageContent(data="", mime_type="image/png")
        texts = [models.TextContent(text=text) for text in ("3", "4")]
        return models.CallToolResult(content=[texts[0], image, texts[1]])

    @prompt
    def hello(self, name: str) -> str:
        """Greet."""
        return name

    @resource("memo://{name}")
    def memo(self, name: str) -> str:
        """Return a memo."""
        return name


@asynccontextmanager
async def shapes(revision: str) -> AsyncGenerator[Any, None]:
    """A client of a revision, connected to a server of the newest."""
    client = load(revision).Client()
    options = Options(on_loss=lambda _: None)
    async with connect_in_memory(
        client, Shapes(), revisions=PACKAGES, options=options
    ) as connected:
        yield connected


@pytest.mark.parametrize("revision", REVISIONS)
async def test_results_are_read_as_types_of_the_caller(revision: str) -> None:
    async with shapes(revision) as client:
        assert (await client.call_tool("greet", {"name": "Ada"})).text == "Hello, Ada"
        assert (await client.call_tool("texts")).text == "3\n4"
        for name, as_, value in (
            ("point", Point, Point(x=3)),
            ("point", dict[str, Any], {"x": 3, "name": "origin"}),
            ("point", TypeAdapter(Point | None), Point(x=3)),
            ("numbers", list[int], [1, 2]),
            ("numbers", Point | list[int], [1, 2]),
            ("texts", str, "3\n4"),
        ):
            with case((name, as_)):
                assert await client.call_tool(name, as_=as_) == value
        params = load(revision).models.CallToolRequestParams(name="point")
        assert await client.call_tool(params, as_=Point) == Point(x=3)
        assert (await client.get_prompt("hello", {"name": "Ada"})).messages[0].content.text == "Ada"
        assert (await client.read_resource("memo://a")).contents[0].text == "a"


@pytest.mark.parametrize("revision", REVISIONS)
async def test_what_failed_or_does_not_fit_is_raised(revision: str) -> None:
    async with shapes(revision) as client:
        reading: tuple[dict[str, Any], ...] = ({"as_": Point}, {"check": True})
        for options in reading:
            with pytest.raises(ToolFailed, match="tools/call: no") as failed:
                await client.call_tool("broken", **options)
            assert failed.value.result.is_error and failed.value.result.text == "no"
        unchecked: tuple[dict[str, Any], ...] = ({"as_": Point, "check": False}, {})
        for options in unchecked:
            assert (await client.call_tool("broken", **options)).is_error
        with pytest.raises(RemoteError) as unfit:
            await client.call_tool("point", as_=dict[str, int])
        structured = "structured_content" in load(revision).models.CallToolResult.model_fields
        at = "/result/structuredContent/name" if structured else "/result/content/name"
        assert [problem["pointer"] for problem in unfit.value.data["problems"]] == [at]


async def test_data_is_structured_content_as_it_came() -> None:
    for revision in REVISIONS:
        result = load(revision).models.CallToolResult
        with case(revision):
            has = "structured_content" in result.model_fields
            value: dict[str, Any] = {
                "content": [],
                "structuredContent": {"result": 3},
                "text": "own",
                "data": 1,
            }
            read = result.from_json(json.dumps({**value, "resultType": "complete"}))
            assert (read.text, read.data) == ("", {"result": 3} if has else None)
            assert read.to_wire() == {**value, "resultType": "complete"}


async def test_a_task_has_no_result_to_read() -> None:
    client = noting(handshake.Client)
    with pytest.raises(LocalError, match="returns a task, which `as_` cannot read"):
        await client.call_tool("greet", task=m.TaskMetadata(), as_=Point)


class Asking(handshake.Server):
    """Asks its client, and says things, member by member."""

    SENDS = frozenset({"notifications/message"})

    async def on_call_tool(
        self, session: handshake.Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        """Ask the client."""
        form = m.ElicitRequestFormParamsRequestedSchema(
            properties={"age": m.NumberSchema(type="integer")}
        )
        answer = await session.elicit("How old?", form)
        question = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
        said = await session.create_message([question], max_tokens=100)
        await session.notify_logging_message("info", answer.content, logger="asking")
        roots = (await session.list_roots()).roots
        texts = (str(answer.content), said.model, *(root.uri for root in roots))
        return m.CallToolResult(content=[m.TextContent(text=text) for text in texts])


@pytest.mark.parametrize("revision", ERAS)
async def test_a_session_asks_member_by_member(revision: str) -> None:
    module, heard = load(revision), list[Any]()
    models = module.models

    class Answering(module.Client):  # type: ignore[misc, name-defined]
        """Answers whatever is asked."""

        async def on_elicit(self, params: Any) -> Any:
            """Answer a form."""
            return models.ElicitResult(action="accept", content={"age": 3})

        async def on_create_message(self, params: Any) -> Any:
            """Answer for a model."""
            content = models.TextContent(text=str(params.max_tokens))
            return models.CreateMessageResult(role="assistant", model="m", content=content)

        async def on_list_roots(self, params: Any) -> Any:
            """Name a root."""
            return models.ListRootsResult(roots=[models.Root(uri="file:///a")])

        async def on_logging_message(self, params: Any) -> None:
            """Take note."""
            heard.append((params.level, params.data, params.logger))

    async with connect_in_memory(Answering(), Asking(), revisions=PACKAGES) as client:
        if revision == ERAS[0]:
            await client.set_level("info")
            await client.notify_progress("token", 0.5, total=1)
        assert (await client.call_tool("ask")).text == "{'age': 3}\nm\nfile:///a"
    if revision == ERAS[0]:
        assert heard == [("info", {"age": 3}, "asking")]
