"""Messages through the Structs of the target `msgspec`.

Runs on the interpreter of the SDKs, with the generated module on its path.
"""

from importlib import import_module
from typing import Any

from .timing import Action

# Type checkers of other environments have neither the generated module nor msgspec.
_structs: Any = import_module("mcp_structs.v2025_11_25")
_json: Any = import_module("msgspec.json")


def read_call(data: bytes) -> Any:
    """Read a request, checked and typed."""
    return _structs.decode(data)


def read_result(data: bytes) -> Any:
    """Read an answer to `tools/call`: the envelope, then the result of its request."""
    return _structs.decode_result("tools/call", _structs.decode(data).result)


def read_answer(data: bytes) -> Any:
    """Read the same in one pass, for a request that is known before its answer."""
    return _structs.decode_answer("tools/call", data).result


def read_tools(data: bytes) -> Any:
    """The same for `tools/list`."""
    return _structs.decode_result("tools/list", _structs.decode(data).result)


def writer(read: Action) -> bytes:
    """Return a request as JSON, or the result of an answer."""
    text: bytes = _json.encode(read())
    return text
