"""Messages through the Structs that the target `msgspec` makes.

Runs on the interpreter of the peers, with the generated module on its path.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

# The generated module and msgspec are not there for type checkers of other environments.
_structs: Any = import_module("mcp_structs.v2025_11_25")
_json: Any = import_module("msgspec.json")

Read = Callable[[bytes], Any]


def read_call(data: bytes) -> Any:
    """A request, checked and typed."""
    return _structs.decode(data)


def read_result(data: bytes) -> Any:
    """An answer to `tools/call`: its envelope says which request it answers, then its result."""
    return _structs.decode_result("tools/call", _structs.decode(data).result)


def read_tools(data: bytes) -> Any:
    """The same for `tools/list`."""
    return _structs.decode_result("tools/list", _structs.decode(data).result)


def written(read: Read, data: bytes) -> bytes:
    """What was read, as JSON: a request as a whole, of an answer its result."""
    text: bytes = _json.encode(read(data))
    return text
