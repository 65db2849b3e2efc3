"""Equal names in a generated module of one revision, each with its meanings."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from mcp_protogen.base.problems import Problem
from mcp_protogen.derive.module_names import METHODS_MODULE, handler, iterator, sender
from mcp_protogen.ir import MethodIR, RevisionIR

_Named = tuple[str, str]


def problems(ir: RevisionIR, place: str) -> Iterator[Problem]:
    """Yield a problem for every two things with one name; `place` names the schema's file."""
    for named in (_stubs(ir), _in_methods_module(ir), _in_capabilities_module(ir)):
        meanings: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for name, meaning in named:
            meanings[name][meaning] = None
        for name, things in meanings.items():
            if len(things) > 1:
                message = f"{' and '.join(things)} would both be called {name}"
                hint = "rename one of them in the schema"
                yield Problem("name-collision", message, place, "/$defs", hint)


def _stubs(ir: RevisionIR) -> Iterator[_Named]:
    for method in ir.methods:
        yield sender(method), f"sending {method.method}"
        yield handler(method), f"handling {method.method}"
        if method.items:
            yield iterator(method), f"all pages of {method.method}"


def _in_methods_module(ir: RevisionIR) -> Iterator[_Named]:
    yield from ((name, "a table of the module") for name in sorted(METHODS_MODULE))
    yield from ((method.constant, _shown(method)) for method in ir.methods)
    yield from ((error.name, f"error {error.code}") for error in ir.errors)
    yield from ((key.constant, f"metadata {key.key}") for key in ir.meta_keys)


def _in_capabilities_module(ir: RevisionIR) -> Iterable[_Named]:
    for capability in ir.capabilities:
        path = "/".join(capability.path)
        yield capability.constant, f"capability {path} of the {capability.role}"


def _shown(method: MethodIR) -> str:
    return f"method {method.method}"
