"""Messages through the generated package, and through Pydantic alone as the bound to reach.

Runs on the interpreter of the peers, with a generated package on its path.
"""

from asyncio import Runner, new_event_loop
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from importlib import import_module
from typing import Any, Literal, cast

from pydantic_core import from_json

from .messages import CALL, RESULT, TOOLS
from .places import REVISION
from .timing import Action

# The generated package is not there for type checkers: it is on the path of one process only.
_revisions: Any = import_module("mcp_revisions")
_package: Any = _revisions.load(REVISION)
_methods = _package.methods
_models = _package.models

Read = Callable[[bytes], Any]


def read_call(data: bytes) -> Any:
    """A request from a client, checked and typed."""
    return _methods.parse_request(data, sender="client")


def read_result(data: bytes) -> Any:
    """An answer to `tools/call`."""
    return _methods.parse_answer(data, spec=_methods.CALL_TOOL)


def read_tools(data: bytes) -> Any:
    """An answer to `tools/list`."""
    return _methods.parse_answer(data, spec=_methods.LIST_TOOLS)


def write_call(data: bytes) -> Action:
    """Writes the request that `data` holds."""
    params = read_call(data).params
    return lambda: _methods.serialise_request(_methods.CALL_TOOL, 7, params)


def write_result(data: bytes) -> Action:
    """Writes the result that `data` holds."""
    result = read_result(data).value
    return lambda: _methods.serialise_result(_methods.CALL_TOOL, 7, result)


def write_tools(data: bytes) -> Action:
    """Writes the list that `data` holds."""
    result = read_tools(data).value
    return lambda: _methods.serialise_result(_methods.LIST_TOOLS, 7, result)


def handlers() -> tuple[Action, Action, Action]:
    """A call, answered by two tools of the toolkit and by a handler that does the same.

    The first tool runs on the event loop, the second in a thread.
    """

    class WithToolkit(_revisions.Toolkit, _package.Server):  # type: ignore[misc]
        def echo(self, text: str) -> str:
            """Return the text."""
            return text

        _revisions.tool(structured=False, thread=False)(echo)
        _revisions.tool(name="threaded", structured=False)(echo)

    class ByHand(_package.Server):  # type: ignore[misc]
        async def on_call_tool(self, session: Any, params: Any) -> Any:
            text = _models.TextContent(text=params.arguments["text"])
            return _models.CallToolResult(content=[text])

    echo, threaded = (
        _models.CallToolRequestParams(name=name, arguments={"text": "hello"})
        for name in ("echo", "threaded")
    )
    tool, handler = (partial(_answered, made(), echo) for made in (WithToolkit, ByHand))
    return tool, partial(_awaited, WithToolkit(), threaded), handler


def _answered(server: Any, params: Any) -> Any:
    call = server.on_call_tool(None, params)
    try:
        call.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("an echo has nothing to wait for")


_loop = new_event_loop()


def _awaited(server: Any, params: Any) -> Any:
    return _loop.run_until_complete(server.on_call_tool(None, params))


@contextmanager
def calls_in_memory() -> Generator[dict[str, Action], None, None]:
    """A whole call in one process, by how much middleware the server has."""

    async def pass_on(call: Any, next: Any) -> Any:
        return await next(call)

    class Echo(_package.Server):  # type: ignore[misc]
        async def on_call_tool(self, session: Any, params: Any) -> Any:
            return _models.CallToolResult(content=[])

    params = _models.CallToolRequestParams(name="echo", arguments={"text": "hello"})
    with Runner() as runner:
        found, opened = dict[str, Action](), AsyncExitStack()
        for name, middleware in (("no middleware", ()), ("three middleware", (pass_on,) * 3)):
            server = Echo()
            server.middleware = middleware
            connecting = _revisions.connect_in_memory(_package.Client(), server)
            client = runner.run(opened.enter_async_context(connecting))
            found[f"call {name}"] = partial(_completed, runner, client, params)
        yield found
        runner.run(opened.aclose())


def _completed(runner: Runner, client: Any, params: Any) -> Any:
    return runner.get_loop().run_until_complete(client.call_tool(params))


def pydantic_alone() -> dict[str, Action]:
    """What Pydantic does of the work: its parser with its validator, and its serializer."""
    params, result, tools = (
        _models.CallToolRequestParams,
        _models.CallToolResult,
        _models.ListToolsResult,
    )
    members = ((CALL, "params", params), (RESULT, "result", result), (TOOLS, "result", tools))
    alone: dict[str, Action] = {}
    for name, (data, member, model) in zip(("call", "result", "tools"), members, strict=True):
        value = model.from_wire(from_json(data)[member])
        alone[f"read {name}"] = partial(_parsed, data, member, model)
        alone[f"write {name}"] = value.to_json
    return alone


def _parsed(data: bytes, member: str, model: Any) -> Any:
    return model.__pydantic_validator__.validate_python(from_json(data)[member])


def exact_readers() -> dict[str, Read]:
    """Pydantic's `validate_json` on the one class that is known to fit, envelope included."""
    return {
        "call": _models.CallToolRequest.from_json,
        "result": _envelope(_models.CallToolResult),
        "tools": _envelope(_models.ListToolsResult),
    }


def _envelope(result: Any) -> Read:
    # Before 2026-07-28 the schema has no envelopes with typed results; this is what one would be.
    from pydantic import create_model

    fields: Any = {
        "jsonrpc": (Literal["2.0"], "2.0"),
        "id": (str | int, ...),
        "result": (result, ...),
    }
    base: Any = import_module("mcp_revisions._runtime.core.models").WireModel
    model: Any = create_model(f"{result.__name__}Envelope", __base__=base, **fields)
    return cast(Read, model.from_json)
