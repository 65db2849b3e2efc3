"""Calls whose params are given member by member, and results read as types of the caller."""

import inspect
import json
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, ClassVar, get_args, get_overloads

import pytest
from mcp_protogen.runtime.core.models.base import WireModel
from mcp_protogen.runtime.core.spec import CallSpec
from mcp_revisions import REVISIONS as PACKAGES
from mcp_revisions import (
    Options,
    RemoteError,
    ToolError,
    ToolFailed,
    Toolkit,
    connect_in_memory,
    prompt,
    resource,
    tool,
)
from mcp_revisions import v2025_11_25 as handshake
from mcp_revisions import v2026_07_28 as stateless
from mcp_revisions.v2025_11_25 import models as old
from mcp_revisions.v2026_07_28.models import ElicitRequestParams
from pydantic import BaseModel, TypeAdapter, ValidationError
from support.generated.golden_package import load
from support.revisions import ERAS, REVISIONS, STATELESS
from support.sessions.talking import client, content_of, models, pkg, stub, tools
from support.tables import case
from support.vectors.vector_sets import vectors

m = handshake.models


class Sent(Exception):
    """A message that was about to be sent: its entry, its params, and the options of the call."""


def noting(base: type) -> Any:
    """Return a client or session that raises the message it would send."""

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


async def arguments_sent(call: Callable[..., Any], *given: Any, **members: Any) -> Any:
    """What a call would send."""
    with pytest.raises(Sent) as caught:
        called = call(*given, **members)
        await (anext(called) if hasattr(called, "__anext__") else called)
    return caught.value.args


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """Return the members and options that a stub takes; None if it takes whole params."""
    if "methods" not in function.__code__.co_names:
        return None  # without a stub
    signature = inspect.signature(function)
    if signature.parameters.keys() & {"params", "form"}:
        return None
    own = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.name not in ("as_", "check")
    ]
    return signature.replace(parameters=own)


def method_of(function: Callable[..., Any]) -> str:
    """Return the method of a stub: the first name in its docstring."""
    return (function.__doc__ or "").partition("`")[2].partition("`")[0]


def classes_of(spec: CallSpec[Any]) -> list[type[WireModel]]:
    """Return the possible params classes of a message."""
    params = getattr(spec.params, "__value__", spec.params)
    return [kind for kind in get_args(params) or [params] if isinstance(kind, type)]


def members_of(params: Any) -> dict[str, Any]:
    """Return the members of params except those that a signature leaves out."""
    fields = params.__class__.model_fields
    return {
        name: getattr(params, name)
        for name in params.model_fields_set & fields.keys()
        if getattr(params, name) != fields[name].default or name != "mode"
    }


def split(signature: inspect.Signature, members: dict[str, Any]) -> tuple[list[Any], Any] | None:
    """Return the members by position and by keyword; None if the signature does not fit."""
    parameters = {**signature.parameters}
    needed = {
        name
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty and name not in ("self", "options")
    }
    if members.keys() - parameters.keys() or needed - members.keys():
        return None
    given, leading = dict(members), list[Any]()
    for name, parameter in parameters.items():
        if name == "self":
            continue
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or name not in given:
            break
        leading.append(given.pop(name))
    return leading, given


def stubs(revision: str) -> Iterator[tuple[str, Callable[..., Any], inspect.Signature]]:
    """The name of each stub that takes members one by one, bound, and which it takes."""
    module = load(revision)
    for base in (module.Client, module.Session):
        for name, function in inspect.getmembers_static(base, inspect.isfunction):
            signature = signature_of(function)
            if signature is not None:
                yield name, getattr(noting(base), name), signature


@pytest.mark.parametrize("revision", REVISIONS)
async def test_members_one_by_one_are_the_params_as_a_whole(revision: str) -> None:
    valid = defaultdict[str, list[Any]](list)
    for vector in vectors(revision).vectors:
        subject, value = vector.subject, vector.value
        if vector.valid and (subject.type or subject.kind != "result"):
            valid[subject.type or subject.method].append(
                value if subject.type else value.get("params", {})
            )
    table = load(revision).methods.TABLE
    specs = {**table.requests, **table.input_requests, **table.notifications}
    for name, function, signature in stubs(revision):
        spec, tried = specs[method_of(function)], False
        for cls in classes_of(spec):
            values: list[Any] = [*valid[cls.__name__], *valid[spec.method], {}]
            for value in values:
                try:
                    model = cls.from_wire(value)
                except ValidationError:
                    continue  # It is for another arm of a union.
                members = members_of(model)
                ways = None if model.model_extra else split(signature, members)
                if ways is not None:
                    with case(f"{name} {value}"):
                        tried = True
                        as_sent, made, _ = await arguments_sent(function, *ways[0], **ways[1])
                        assert as_sent is spec
                        assert made == model if members else made in (model, None)
        with case(name):
            assert tried


def test_signatures_are_those_of_the_members() -> None:
    shown = inspect.signature(handshake.Client.call_tool)
    assert list(shown.parameters) == [
        "self",
        "name",
        "arguments",
        "meta",
        "as_",
        "check",
        "options",
    ]
    assert shown.parameters["arguments"].annotation == "dict[str, Any] | None"
    assert shown.parameters["arguments"].default is None
    assert shown.return_annotation == "T | m.CallToolResult"
    for revision in REVISIONS:
        module = load(revision)
        for base in (module.Client, module.Session):
            for name, function in inspect.getmembers_static(base, inspect.isfunction):
                if "methods" in function.__code__.co_names:
                    with case((revision, name)):
                        kinds = {
                            parameter.kind
                            for parameter in inspect.signature(function).parameters.values()
                        }
                        assert inspect.Parameter.VAR_POSITIONAL not in kinds
                        assert len(get_overloads(function)) == (3 if name == "call_tool" else 0)


async def test_a_wrong_call_is_refused_before_anything_is_sent() -> None:
    client: Any = noting(handshake.Client)
    mistakes: tuple[tuple[tuple[Any, ...], dict[str, Any], str], ...] = (
        ((), {}, "'name'"),
        (("a", {}, 1), {}, "positional"),
        (("a",), {"name": "b"}, "multiple values for argument 'name'"),
    )
    for given, members, text in mistakes:
        with case((given, members)), pytest.raises(TypeError, match=text):
            await client.call_tool(*given, **members)
    with pytest.raises(ValidationError, match="name"):
        await client.call_tool(3)


async def test_params_as_a_whole_are_sent_to_request_by_one_error() -> None:
    client: Any = noting(handshake.Client)
    for call, params in (
        (client.call_tool, m.CallToolRequestParams(name="greet")),
        (client.list_tools, m.PaginatedRequestParams(cursor="x")),
        (client.iter_tools, m.PaginatedRequestParams(cursor="x")),
    ):
        wrong = rf"pass {type(params).__name__} to request\(methods\.NAME, …\)"
        with case(call), pytest.raises(TypeError, match=wrong):
            await call(params)


class Point(BaseModel):
    """A type of a user."""

    x: int
    name: str = "origin"


class Shapes(Toolkit, stateless.Server):
    """Tools with every kind of result."""

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
        """Return an array, which most revisions wrap."""
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
        assert (await client.get_prompt("hello", {"name": "Ada"})).messages[0].content.text == "Ada"
        assert (await client.read_resource("memo://a")).contents[0].text == "a"


@pytest.mark.parametrize("revision", REVISIONS)
async def test_failed_or_unfitting_result_raises(revision: str) -> None:
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


async def accept(self: object, params: ElicitRequestParams) -> Any:
    """Accept the question."""
    return stateless.models.ElicitResult(action="accept", content={})


async def asks(session: Any, params: Any) -> object:
    """Ask the client, and return its answer."""
    m = models(session.TABLE.revision)
    form = m.ElicitRequestFormParamsRequestedSchema(properties={})
    answer = await session.elicit("Really?", form)
    return str(answer.action)


async def test_a_request_is_completed_and_one_that_is_sent_once_has_what_comes() -> None:
    spec, m = stateless.methods.CALL_TOOL, stateless.models
    ours: Any = client(STATELESS, on_elicit=accept)
    async with pkg.connect_in_memory(ours, tools(STATELESS, asks)) as one:
        params = m.CallToolRequestParams(name="x")
        assert content_of(await one.request(spec, params))[0].text == "accept"
        assert isinstance(await one.request_once(spec, params), m.InputRequiredResult)


class Working(handshake.Server):
    """Answers each call with a task, whether or not one was asked for."""

    DECLARES: ClassVar[Any] = {"tasks": {"requests": {"tools": {"call": {}}}}}

    async def on_call_tool(
        self, session: handshake.Session, params: old.CallToolRequestParams
    ) -> old.CreateTaskResult:
        """Begin a task."""
        at = "2025-11-25T10:30:00Z"
        task = old.Task(task_id="t", status="working", created_at=at, last_updated_at=at, ttl=None)
        return old.CreateTaskResult(task=task)


async def test_a_request_for_a_task_is_refused_unless_it_is_sent_once() -> None:
    spec = handshake.methods.CALL_TOOL
    params = old.CallToolRequestParams(name="x", task=old.TaskMetadata(ttl=5))
    async with pkg.connect_in_memory(stub(handshake.Client), Working()) as one:
        with pytest.raises(pkg.LocalError, match="returns a task: use request_once"):
            await one.request(spec, params)
        answer = await one.request_once(spec, params)
    assert isinstance(answer, old.CreateTaskResult) and answer.task.task_id == "t"


async def test_a_task_that_nobody_asked_for_is_no_result() -> None:
    spec = handshake.methods.CALL_TOOL
    async with pkg.connect_in_memory(stub(handshake.Client), Working()) as one:
        with pytest.raises(pkg.RemoteError, match="tools/call returned CreateTaskResult"):
            await one.request(spec, old.CallToolRequestParams(name="x"))
