"""Names in generated modules that are not taken from the schema unchanged."""

from mcp_protogen.base.names import StubName, stub
from mcp_protogen.ir import MethodIR

METHODS_MODULE = frozenset(
    {"ERRORS", "INPUT_REQUESTS", "NOTIFICATIONS", "REQUESTS", "REVISION", "TABLE", "parse"}
    | {"parse_request", "parse_notification", "parse_answer"}
    | {f"serialise_{part}" for part in ("request", "notification", "result", "error")}
)
"""The names that the methods module of every revision has."""


def sender(method: MethodIR) -> StubName:
    """Return the name of the stub that sends a message."""
    return stub("notify_" if method.kind == "notification" else "", method.stem)


def handler(method: MethodIR) -> StubName:
    """Return the name of the stub that handles a message."""
    return stub("on_", method.stem)


def iterator(method: MethodIR) -> str:
    """Return the name of the stub that walks all pages of a list."""
    return f"iter_{method.stem.removeprefix('list_')}"
