"""Names in generated modules that the generator forms, and their collisions."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from mcp_protogen.base.names import StubName, stub
from mcp_protogen.base.problems import Problem, raising
from mcp_protogen.pipeline.ir import MethodIR, RevisionIR

METHODS_MODULE = frozenset(
    {"ERRORS", "INPUT_REQUESTS", "NOTIFICATIONS", "REQUESTS", "REVISION", "TABLE", "parse"}
    | {"parse_request", "parse_notification", "parse_answer"}
    | {f"serialise_{part}" for part in ("request", "notification", "result", "error")}
)
"""The names that the methods module of every revision has."""

CAPABILITIES_MODULE = frozenset(
    {"CAPABILITIES", "REQUIREMENTS", "check", "client_capabilities", "server_capabilities"}
)
"""The names that the capabilities module of every revision has."""


def sender(method: MethodIR) -> StubName:
    """Return the name of the stub that sends a message."""
    return stub("notify_" if method.kind == "notification" else "", method.stem)


def handler(method: MethodIR) -> StubName:
    """Return the name of the stub that handles a message."""
    return stub("on_", method.stem)


def iterator(method: MethodIR) -> str:
    """Return the name of the stub that walks all pages of a list."""
    return f"iter_{method.stem.removeprefix('list_')}"


def is_list_change(method: MethodIR) -> bool:
    """Return whether a notification says that a list has changed."""
    return method.kind == "notification" and method.method.endswith("/list_changed")


def publisher(method: MethodIR) -> str:
    """Return the name of the stub that tells all who follow a list of its change."""
    return method.method.removeprefix("notifications/").replace("/", "_")


_Named = tuple[str, str]


@raising
def refuse_collisions(ir: RevisionIR, place: str) -> Iterator[Problem]:
    """Raise `ProblemError` for each name with two meanings; `place` names the schema's file."""
    for names in (_stubs(ir), _in_methods_module(ir), _in_capabilities_module(ir)):
        uses: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for name, use in names:
            uses[name][use] = None
        for name, things in uses.items():
            if len(things) > 1:
                message = f"{' and '.join(things)} would both be called {name}"
                hint = "rename one of them in the schema"
                yield Problem("name-collision", message, place, "/$defs", hint)


def _stubs(ir: RevisionIR) -> Iterator[_Named]:
    for method in ir.methods:
        yield sender(method), f"sending {method.method}"
        yield from ((name, f"sending {method.method} with {of}") for name, of in method.variants)
        yield handler(method), f"handling {method.method}"
        if is_list_change(method) and "server" in method.senders:
            yield publisher(method), f"publishing {method.method}"
        if "long_lived" in method.traits:
            yield f"open_{method.stem}", f"opening the stream of {method.method}"
        if method.items:
            yield iterator(method), f"all pages of {method.method}"


def _in_methods_module(ir: RevisionIR) -> Iterator[_Named]:
    yield from ((name, "a table of the module") for name in sorted(METHODS_MODULE))
    yield from ((method.constant, f"method {method.method}") for method in ir.methods)
    yield from ((error.name, f"error {error.code}") for error in ir.errors)
    yield from ((key.constant, f"metadata {key.key}") for key in ir.meta_keys)


def _in_capabilities_module(ir: RevisionIR) -> Iterable[_Named]:
    for capability in ir.capabilities:
        path = "/".join(capability.path)
        yield capability.constant, f"capability {path} of the {capability.role}"
