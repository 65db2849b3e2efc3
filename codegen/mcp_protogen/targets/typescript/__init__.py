"""TypeScript: types, tables, and a validator that reads them, without any dependency."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment

from mcp_protogen.base.problems import Problem, raise_errors
from mcp_protogen.base.resources import templates_folder
from mcp_protogen.ir import RevisionIR
from mcp_protogen.target import CONTRACT, Layer, Setting, TargetFile, TargetOptions
from mcp_protogen.targets.results import with_result_unions
from mcp_protogen.targets.typescript import tables
from mcp_protogen.targets.typescript.text import comment, data, literal, property_name
from mcp_protogen.targets.typescript.types import definition

_OWN_NAMES = frozenset(
    {"EmbeddedRequests", "Methods", "ParamsOf", "ResultOf", "Types"}
    | {f"{role}{kind}" for role in ("Client", "Server") for kind in ("Requests", "Notifications")}
    | {"CAPABILITIES", "ERA", "ERRORS", "META_KEYS", "METHODS", "REQUIREMENTS", "REVISION", "TYPES"}
)
"""What modules define beside the types of the schema; one index may export all of them."""


class TypeScriptTarget:
    """The target `typescript`."""

    contract = CONTRACT
    settings: frozenset[Setting] = frozenset()

    def files(
        self, revisions: Sequence[RevisionIR], options: TargetOptions
    ) -> Iterator[TargetFile]:
        """Yield the modules of all revisions, and the validator that they share."""
        revisions = [with_result_unions(ir) for ir in revisions]
        raise_errors(tuple(problem for ir in revisions for problem in _collisions(ir, options)))
        yield TargetFile("wire.ts", _render("wire.ts", {}))
        for ir in revisions:
            yield from _revision_files(ir, options)
        if options.layout == "package":
            exports = [
                f"as {ir.module} from {literal(f'./{ir.module}/index.ts')}" for ir in revisions
            ]
            title = "Types of the Model Context Protocol, by revision"
            yield TargetFile("index.ts", _index(title, exports))


TARGET = TypeScriptTarget()


def _collisions(ir: RevisionIR, options: TargetOptions) -> Iterator[Problem]:
    if options.layout == "single" and ir.module == "wire":
        message = f"the module {ir.module} of {ir.id} has the name of the one with the validator"
        yield Problem("name-collision", message, hint="name it differently, with --names")
    for name in sorted({str(one.name) for one in ir.types} & _OWN_NAMES):
        message = f"the type {name} of {ir.id} has the name of one that its module defines"
        yield Problem("name-collision", message, hint="name it differently, with --names")


def _revision_files(ir: RevisionIR, options: TargetOptions) -> Iterator[TargetFile]:
    if options.layout == "single":
        text = _module(ir, options.layers, "./wire.ts")
        yield TargetFile(f"{ir.module}.ts", text)
        return
    for layer in options.layers:
        imports_types = layer == "methods" and "models" in options.layers
        text = _module(ir, (layer,), "../wire.ts", imports_types=imports_types)
        yield TargetFile(f"{ir.module}/{layer}.ts", text)
    exports = [f"from {literal(f'./{layer}.ts')}" for layer in options.layers]
    yield TargetFile(f"{ir.module}/index.ts", _index(f"MCP {ir.id}", exports))


def _module(
    ir: RevisionIR, layers: Collection[Layer], wire: str, *, imports_types: bool = False
) -> str:
    """Return a module with some layers, which may import the types from that of another."""
    context = {
        "ir": ir,
        "layers": layers,
        "wire": wire,
        "imports_types": imports_types,
        "typed": imports_types or "models" in layers,
    }
    return _render("module.ts.jinja", context)


def _index(title: str, exports: Sequence[str]) -> str:
    return _render("index.ts.jinja", {"title": title, "exports": exports})


def _render(template: str, context: Mapping[str, object]) -> str:
    return _environment().get_template(template).render(context)


def _entry(entry: tables.Entry) -> str:
    name = property_name(entry.name)
    return f"{name}: {data(entry.value, 2, len(name) + 2)}"


_FILTERS: Mapping[str, Callable[..., Any]] = {
    "capabilities": tables.capabilities,
    "comment": comment,
    "definition": definition,
    "entry": _entry,
    "errors": tables.errors,
    "literal": literal,
    "meta_keys": tables.meta_keys,
    "methods": tables.methods,
    "requirements": tables.requirements,
    "types": tables.types,
}


@cache
def _environment() -> Environment:
    from mcp_protogen.emit.sandbox import sandbox

    environment = sandbox(templates_folder() / "targets" / "typescript", None)
    environment.filters.update(_FILTERS)
    return environment
