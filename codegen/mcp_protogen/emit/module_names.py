"""Names in generated modules that do not come from the schema as they are."""

from mcp_protogen.ir import MethodIR
from mcp_protogen.names import StubName, stub

METHODS_MODULE = frozenset(
    {"ERRORS", "INPUT_REQUESTS", "NOTIFICATIONS", "REQUESTS", "REVISION", "TABLE", "parse"}
    | {"parse_request", "parse_notification", "parse_answer"}
    | {f"serialise_{part}" for part in ("request", "notification", "result", "error")}
)
"""What the module of methods has whatever the revision."""


def sender(method: MethodIR) -> StubName:
    """What the stub that sends a message is called."""
    return stub("notify_" if method.kind == "notification" else "", method.stem)


def handler(method: MethodIR) -> StubName:
    """What the stub that handles a message is called."""
    return stub("on_", method.stem)


def iterator(method: MethodIR) -> str:
    """What the stub that walks all pages of a list is called."""
    return f"iter_{method.stem.removeprefix('list_')}"
