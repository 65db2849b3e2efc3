"""Messages through mcp 2.3.0, with the steps of its sessions for each, without their scheduling.

The steps are those of the stdio transports and of `ServerRunner` and `ClientSession`; queues,
spans, headers and middleware are left out. Names with an underscore are the SDK's own, at a pinned
version.
"""

from importlib import import_module
from typing import Any

from .places import REVISION
from .timing import Action

_types: Any = import_module("mcp.types")
_methods: Any = import_module("mcp_types.methods")
_runner: Any = import_module("mcp.server.runner")
_session: Any = import_module("mcp.client.session")


def read_call(data: bytes) -> Any:
    """`stdio_server.stdin_reader`, then `ServerRunner._on_request` up to the handler."""
    message = _types.jsonrpc_message_adapter.validate_json(data, by_name=False)
    _runner._extract_meta(message.params)
    _methods.validate_client_request(message.method, REVISION, message.params)
    return _types.CallToolRequestParams.model_validate(message.params, by_name=False)


def read_result(data: bytes) -> Any:
    """`stdio_client._parse_line`, then the end of `ClientSession.send_request`."""
    return _read_answer(data, "tools/call", _types.CallToolResult)


def read_tools(data: bytes) -> Any:
    """The same for `tools/list`."""
    return _read_answer(data, "tools/list", _types.ListToolsResult)


def _read_answer(data: bytes, method: str, result_type: Any) -> Any:
    raw = _types.jsonrpc_message_adapter.validate_json(data, by_name=False).result
    _session._clamp_inbound_ttl(raw)
    _methods.validate_server_result(method, REVISION, raw)
    foreign = _session._later_revision_fields(method, REVISION)
    if not foreign.isdisjoint(raw):
        raw = {key: value for key, value in raw.items() if key not in foreign}
    return result_type.model_validate(raw, by_name=False)


def write_call(data: bytes) -> Action:
    """`ClientSession.send_request`, `JSONRPCDispatcher.send_raw_request`, then the writer."""
    request = _types.CallToolRequest(params=read_call(data))

    def write() -> bytes:
        body = request.model_dump(by_alias=True, mode="json", exclude_none=True)
        return _write(_types.JSONRPCRequest(jsonrpc="2.0", id=7, **body))

    return write


def write_result(data: bytes) -> Action:
    """`ServerRunner._serialize`, `JSONRPCDispatcher._write_result`, `stdio_server`'s writer."""
    return _write_answer("tools/call", read_result(data))


def write_tools(data: bytes) -> Action:
    """The same for `tools/list`."""
    return _write_answer("tools/list", read_tools(data))


def _write_answer(method: str, result: Any) -> Action:
    def write() -> bytes:
        dumped = _runner._dump_result(result)
        body = _methods.serialize_server_result(method, REVISION, dumped)
        return _write(_types.JSONRPCResponse(jsonrpc="2.0", id=7, result=body))

    return write


def _write(message: Any) -> bytes:
    text: str = message.model_dump_json(by_alias=True, exclude_unset=True)
    return text.encode()
