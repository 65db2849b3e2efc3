"""Messages through the Structs that the target `msgspec` makes.

Runs on the interpreter of the peers, with the generated module on its path.
"""

from importlib import import_module
from typing import Any

from .timing import Action

# The generated module and msgspec are not there for type checkers of other environments.
_structs: Any = import_module("mcp_structs.v2025_11_25")
_json: Any = import_module("msgspec.json")


def read_call(data: bytes) -> Any:
    """A request, checked and typed."""
    return _structs.decode(data)


def read_result(data: bytes) -> Any:
    """An answer to `tools/call`: its envelope says which request it answers, then its result."""
    return _structs.decode_result("tools/call", _structs.decode(data).result)


def read_answer(data: bytes) -> Any:
    """The same in one pass, which is possible where the request is known before its answer."""
    return _structs.decode_answer("tools/call", data).result


def read_tools(data: bytes) -> Any:
    """The same for `tools/list`."""
    return _structs.decode_result("tools/list", _structs.decode(data).result)


def writer(read: Action) -> bytes:
    """What was read, as JSON: a request as a whole, of an answer its result."""
    text: bytes = _json.encode(read())
    return text
