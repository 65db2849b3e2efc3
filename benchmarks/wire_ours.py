"""Messages through the generated package, and through Pydantic alone as a lower bound.

Runs on the interpreter of the SDKs, with a generated package on its path.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, cast

from mcp_revisions import WireModel, load
from pydantic_core import from_json

from .messages import CALL, RESULT, TOOLS
from .places import REVISION
from .timing import Action

package: Any = load(REVISION)
_methods = package.methods
_models = package.models

Read = Callable[[bytes], Any]


def read_call(data: bytes) -> Any:
    """Read a request of a client, checked and typed."""
    return _methods.parse_request(data, sender="client")


def read_result(data: bytes) -> Any:
    """Read an answer to `tools/call`."""
    return _methods.parse_answer(data, spec=_methods.CALL_TOOL)


def read_tools(data: bytes) -> Any:
    """Read an answer to `tools/list`."""
    return _methods.parse_answer(data, spec=_methods.LIST_TOOLS)


def write_call(data: bytes) -> Action:
    """Write a request from `data`."""
    params = read_call(data).params
    return lambda: _methods.serialise_request(_methods.CALL_TOOL, 7, params)


def write_result(data: bytes) -> Action:
    """Write a result from `data`."""
    result = read_result(data).value
    return lambda: _methods.serialise_result(_methods.CALL_TOOL, 7, result)


def write_tools(data: bytes) -> Action:
    """Write a list from `data`."""
    result = read_tools(data).value
    return lambda: _methods.serialise_result(_methods.LIST_TOOLS, 7, result)


def pydantic_alone() -> dict[str, Action]:
    """Return the share of Pydantic: its parser with its validator, and its serializer."""
    params, result, tools = (
        _models.CallToolRequestParams,
        _models.CallToolResult,
        _models.ListToolsResult,
    )
    members = ((CALL, "params", params), (RESULT, "result", result), (TOOLS, "result", tools))
    alone: dict[str, Action] = {}
    for name, (data, member, model) in zip(("call", "result", "tools"), members, strict=True):
        value = model.from_wire(from_json(data)[member])
        alone[f"read {name}"] = partial(_parser, data, member, model)
        alone[f"write {name}"] = value.to_json
    return alone


def _parser(data: bytes, member: str, model: Any) -> Any:
    return model.__pydantic_validator__.validate_python(from_json(data)[member])


def exact_readers() -> dict[str, Read]:
    """Return Pydantic's `validate_json` on the one right class, with its envelope."""
    return {
        "call": _models.CallToolRequest.from_json,
        "result": _envelope(_models.CallToolResult),
        "tools": _envelope(_models.ListToolsResult),
    }


def _envelope(result: Any) -> Read:
    # Before 2026-07-28 the schema has no envelopes with typed results, so this is one.
    from pydantic import create_model

    fields: Any = {
        "jsonrpc": (Literal["2.0"], "2.0"),
        "id": (str | int, ...),
        "result": (result, ...),
    }
    model: Any = create_model(f"{result.__name__}Envelope", __base__=WireModel, **fields)
    return cast(Read, model.from_json)
