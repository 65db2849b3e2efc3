"""Names in generated modules that do not come from the schema as they are."""

from mcp_protogen.ir import MethodIR

METHODS_MODULE = frozenset(
    {"ERRORS", "INPUT_REQUESTS", "NOTIFICATIONS", "REQUESTS", "REVISION", "TABLE", "parse"}
    | {"parse_request", "parse_notification", "parse_answer"}
    | {f"serialise_{part}" for part in ("request", "notification", "result", "error")}
)
"""What the module of methods has whatever the revision."""


def iterator(method: MethodIR) -> str:
    """What the stub that walks all pages of a list is called."""
    return f"iter_{method.stem.removeprefix('list_')}"
